// Package dense compares the vectors that a host sends with items.
package dense

import "math"

// Rows are items with vectors; a batch is one.
type Rows interface {
	Len() int
	// Embedding is the vector of a row, nil when it has none.
	Embedding(i int) []float32
}

// Unit returns the vectors of the given rows, scaled to length 1. It returns nil unless each row
// has a vector: what some rows lack cannot compare them all.
func Unit(rows Rows, at []int) [][]float32 {
	if len(at) == 0 {
		return nil
	}
	units := make([][]float32, len(at))
	for i, row := range at {
		if units[i] = Scaled(rows.Embedding(row)); units[i] == nil {
			return nil
		}
	}
	return units
}

// Scaled returns v with the length 1, or nil if v has no length.
func Scaled(v []float32) []float32 {
	n := math.Sqrt(Dot(v, v))
	if n == 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / n)
	}
	return out
}

// Dot returns the scalar product of two vectors, which is the cosine of two of length 1. It is 0
// if they differ in dimension, for they cannot be compared.
func Dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	// Four sums, because each addition waits for the one before it.
	var s0, s1, s2, s3 float32
	for ; len(a) >= 4 && len(b) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return float64(s0+s1) + float64(s2+s3)
}
