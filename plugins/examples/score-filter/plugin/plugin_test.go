package plugin

import (
	"fmt"
	"slices"
	"testing"
)

func ExampleKeep() {
	fmt.Println(Keep([]float64{0.9, 0.2, 0.6}, &Settings{MinScore: 0.5, TopFraction: 1}))
	// Output: [0 2]
}

func TestKeep(t *testing.T) {
	thirty := make([]float64, 30)
	for i := range thirty {
		thirty[i] = float64(i) / 30
	}
	for _, c := range []struct {
		name   string
		scores []float64
		s      Settings
		want   []uint32
	}{
		{"nothing", nil, Settings{MinScore: 0.5, TopFraction: 1}, nil},
		{"the threshold itself stays", []float64{0.5, 0.4999}, Settings{MinScore: 0.5, TopFraction: 1}, []uint32{0}},
		{"none passes", []float64{0.1, 0.2}, Settings{MinScore: 0.5, TopFraction: 1}, nil},
		{"all pass", []float64{0, 1}, Settings{TopFraction: 1}, []uint32{0, 1}},
		{"best half, rounded up", []float64{0.1, 0.9, 0.5}, Settings{TopFraction: 0.5}, []uint32{1, 2}},
		{"equal scores: earlier rows", []float64{0.5, 0.5, 0.5, 0.5}, Settings{TopFraction: 0.5}, []uint32{0, 1}},
		{"a tenth of thirty is three", thirty, Settings{TopFraction: 0.1}, []uint32{27, 28, 29}},
		{"fraction and threshold", []float64{0.9, 0.8, 0.1, 0.1}, Settings{MinScore: 0.85, TopFraction: 0.5}, []uint32{0}},
		{"the best stay below the threshold", []float64{0.1, 0.3, 0.2}, Settings{MinScore: 0.5, TopFraction: 1, KeepAtLeast: 2}, []uint32{1, 2}},
		{"at least more than there are", []float64{0.1}, Settings{MinScore: 0.5, TopFraction: 1, KeepAtLeast: 9}, []uint32{0}},
		{"at least wins over the fraction", []float64{0.9, 0.8, 0.7, 0.6}, Settings{TopFraction: 0.25, KeepAtLeast: 3}, []uint32{0, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Keep(c.scores, &c.s); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	var s Settings
	s.Defaults()
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	for want, s := range map[string]Settings{
		"min_score 1.5: not within 0..1":          {MinScore: 1.5, TopFraction: 1},
		"top_fraction 0: not above 0 and up to 1": {},
		"top_fraction 2: not above 0 and up to 1": {TopFraction: 2},
		"keep_at_least -1: negative":              {TopFraction: 1, KeepAtLeast: -1},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
