package dense

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// Dot is the sum of products, for every length.
func TestDot(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		a, b, want := make([]float32, n), make([]float32, n), 0.0
		for i := range a {
			a[i], b[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
			want += float64(a[i]) * float64(b[i])
		}
		if got := Dot(a, b); math.Abs(got-want) > 1e-5 {
			t.Errorf("%d dimensions: %v, want %v", n, got, want)
		}
	}
	if got := Dot([]float32{1, 2}, []float32{3}); got != 0 {
		t.Errorf("vectors of different dimensions: %v", got)
	}
}

func TestUnit(t *testing.T) {
	rows := abi.ItemRows{{Embedding: []float32{3, 4}}, {}, {Embedding: []float32{0, -2}}, {Embedding: []float32{math.MaxFloat32, math.MaxFloat32}}}
	got := Unit(rows, []int{2, 0})
	if len(got) != 2 || got[0][1] != -1 || got[1][0] != 0.6 {
		t.Errorf("%v", got)
	}
	for _, at := range [][]int{nil, {1}, {0, 1}} {
		if got := Unit(rows, at); got != nil {
			t.Errorf("rows %v: %v", at, got)
		}
	}
	if got := Unit(rows, []int{3}); got != nil {
		t.Errorf("a vector without a finite length: %v", got)
	}
}
