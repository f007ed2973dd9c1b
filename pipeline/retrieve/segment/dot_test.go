package segment

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What the processor adds in one instruction has the bits of what Go adds.
func TestDotIsTheSameOnEveryProcessor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		for range 50 {
			a, b := make([]float32, n+1)[1:], make([]float32, n) // one is not aligned
			for i := range a {
				a[i], b[i] = float32(r.NormFloat64()*math.Pow(10, float64(r.IntN(9)-4))), float32(r.NormFloat64())
			}
			if n > 3 && r.IntN(10) == 0 {
				a[r.IntN(n)] = float32(math.Inf(1))
			}
			if have, want := lanes8(a, b), lanesGo(a, b); n > 0 {
				for i := range want {
					if math.Float32bits(have[i]) != math.Float32bits(want[i]) && !(have[i] != have[i] && want[i] != want[i]) {
						t.Fatalf("%d numbers: lane %d is %v, want %v", n, i, have[i], want[i])
					}
				}
			}
		}
	}
}

func BenchmarkDot(b *testing.B) {
	x, y := make([]float32, 256), make([]float32, 256)
	for name, f := range map[string]func(a, b []float32) [8]float32{"processor": lanes8, "Go": lanesGo} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(x, y)
			}
		})
	}
}
