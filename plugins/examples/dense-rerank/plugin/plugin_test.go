package plugin

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func rowsOf() abi.ItemRows {
	return abi.ItemRows{
		{Content: "a tree", Score: 0.9, Embedding: []float32{0, 3}},
		{Content: "a car", Score: 0.5, Embedding: []float32{4, 0}},
		{Content: "no vector", Score: 0.1},
		{Content: "another model", Score: 0.7, Embedding: []float32{1}},
	}
}

func ExampleRate() {
	rows, scores := rowsOf()[:2], make([]float64, 2)
	err := Rate(rows, []float32{1, 0}, &Settings{Weight: 0.75}, scores)
	fmt.Println(scores, err)
	// Output: [0.25 0.75] <nil>
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		weight float64
		query  []float32
		want   []float64
	}{
		{0, []float32{5, 0}, []float64{1, 0.5, 0, 0.75}},
		{1, []float32{5, 0}, []float64{0, 1, 0, 0}},
		{1, []float32{0, -1}, []float64{0, 1, 0, 0}},
		{0.5, []float32{1, 1}, []float64{0.5, 0.25, 0, 0.375}}, // both cosines are equal
	} {
		scores := make([]float64, 4)
		if err := Rate(rowsOf(), c.query, &Settings{c.weight}, scores); err != nil {
			t.Fatal(err)
		}
		for i := range scores {
			if math.Abs(scores[i]-c.want[i]) > 1e-6 || scores[i] < 0 || scores[i] > 1 {
				t.Errorf("weight %v, query %v: %v, want %v", c.weight, c.query, scores, c.want)
				break
			}
		}
	}
}

// Without vectors there is nothing to rate by, and a silent step would look like one that works.
func TestNoVectors(t *testing.T) {
	s := &Settings{Weight: 1}
	for _, c := range []struct {
		rows  abi.ItemRows
		query []float32
		want  error
	}{
		{nil, nil, nil},
		{rowsOf(), nil, ErrNoVectors},
		{rowsOf(), []float32{0, 0}, ErrNoVectors},
		{rowsOf(), []float32{1, 2, 3}, ErrNoVectors},
		{rowsOf()[2:3], []float32{1, 0}, ErrNoVectors},
	} {
		if err := Rate(c.rows, c.query, s, make([]float64, len(c.rows))); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.query, err, c.want)
		}
	}
}

func TestSettings(t *testing.T) {
	var s Settings
	s.Defaults()
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	for _, w := range []float64{-0.1, 1.1, math.NaN()} {
		if err := (&Settings{w}).Validate(); err == nil {
			t.Errorf("weight %v is accepted", w)
		}
	}
}
