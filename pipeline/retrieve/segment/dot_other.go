//go:build !amd64

package segment

func lanes8(a, b []float32) [8]float32 { return lanesGo(a, b) }
