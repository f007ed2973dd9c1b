package segment

import "golang.org/x/sys/cpu"

// hasLanes says that the processor adds eight products at a time.
var hasLanes = cpu.X86.HasAVX

// lanesAVX adds the products of n numbers, a multiple of 8 above 0, in eight sums.
//
//go:noescape
func lanesAVX(a, b *float32, n int, out *[8]float32)

// lanes8 returns the eight sums of lanesGo.
func lanes8(a, b []float32) (s [8]float32) {
	if n := len(a) &^ 7; hasLanes && n > 0 {
		lanesAVX(&a[0], &b[:n][0], n, &s)
		return s
	}
	return lanesGo(a, b)
}
