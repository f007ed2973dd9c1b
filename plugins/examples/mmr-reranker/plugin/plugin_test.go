package plugin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func ExampleOrder() {
	rows := abi.ItemRows{
		{Content: "parse command line flags", Score: 0.9},
		{Content: "parsing of command line flags", Score: 0.88},
		{Content: "environment variables", Score: 0.7},
	}
	fmt.Println(Order(rows, 0, &Settings{Lambda: 0.5, Candidates: 200}))
	// Output: [0 2 1]
}

func TestOrder(t *testing.T) {
	rows := abi.ItemRows{
		{Content: "red apples", Score: 0.5},
		{Content: "red apples", Score: 0.9},
		{Content: "red apples", Score: 0.8},
		{Content: "blue sky", Score: 0.3},
		{Content: "", Score: 0.1},
	}
	for _, c := range []struct {
		name string
		rows abi.ItemRows
		topK int
		s    Settings
		want []int
	}{
		{"nothing", nil, 5, Settings{0.5, 200}, []int{}},
		{"one", rows[:1], 5, Settings{0.5, 200}, []int{0}},
		{"only relevance", rows, 0, Settings{1, 200}, []int{1, 2, 0, 3, 4}},
		{"novelty first", rows, 0, Settings{0.2, 200}, []int{1, 3, 4, 2, 0}},
		{"one chosen, the rest by score", rows, 1, Settings{0.2, 200}, []int{1, 2, 0, 3, 4}},
		{"two chosen", rows, 2, Settings{0.2, 200}, []int{1, 3, 2, 0, 4}},
		{"outside of the candidates nothing moves up", rows, 0, Settings{0.2, 3}, []int{1, 2, 0, 3, 4}},
		{"more wanted than there are", rows, 99, Settings{1, 200}, []int{1, 2, 0, 3, 4}},
		{"equal rows keep their order", abi.ItemRows{{Content: "a"}, {Content: "b"}, {Content: "c"}}, 0, Settings{0.5, 200}, []int{0, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Order(c.rows, c.topK, &c.s); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestOrderByDefinition compares the choice with the formula, computed plainly.
func TestOrderByDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var rows abi.ItemRows
		for range 12 {
			var b strings.Builder
			for range random.IntN(10) {
				fmt.Fprintf(&b, "w%d ", random.IntN(9))
			}
			rows = append(rows, abi.Item{Content: b.String(), Score: random.Float64()})
		}
		s := Settings{Lambda: random.Float64(), Candidates: 200}
		if got, want := Order(rows, 0, &s), plainOrder(rows, s.Lambda); !slices.Equal(got, want) {
			t.Fatalf("lambda %v: got %v, want %v", s.Lambda, got, want)
		}
	}
}

// Without a vector for each candidate, the words decide.
func TestOrderWithSomeVectors(t *testing.T) {
	rows := abi.ItemRows{
		{Content: "red apples", Score: 0.9, Embedding: []float32{1, 0}},
		{Content: "red apples", Score: 0.8, Embedding: []float32{0, 1}},
		{Content: "blue sky", Score: 0.7, Embedding: []float32{1, 0}},
		{Content: "none", Score: 0.1},
	}
	s := Settings{0.5, 3}
	if got := Order(rows, 0, &s); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("three candidates with vectors: %v", got)
	}
	s.Candidates = 4
	if got := Order(rows, 0, &s); !slices.Equal(got, []int{0, 2, 3, 1}) {
		t.Errorf("one without: %v", got)
	}
}

func plainOrder(rows abi.ItemRows, lambda float64) (order []int) {
	var texts []string
	for _, row := range rows {
		texts = append(texts, row.Content)
	}
	vectors, _ := vectorize(texts)
	for len(order) < len(rows) {
		best, bestValue := -1, math.Inf(-1)
		for i := range rows {
			near := 0.0
			for _, j := range order {
				near = max(near, cosine(vectors[i], vectors[j]))
			}
			if value := lambda*rows[i].Score - (1-lambda)*near; !slices.Contains(order, i) && value > bestValue {
				best, bestValue = i, value
			}
		}
		order = append(order, best)
	}
	return order
}

func cosine(a, b vector) (sum float64) {
	for _, x := range a {
		for _, y := range b {
			if x.word == y.word {
				sum += x.weight * y.weight
			}
		}
	}
	return sum
}

func TestVectorize(t *testing.T) {
	vectors, words := vectorize([]string{"a a b", "a", "", "東 ärger Ärger \xff"})
	if words != 4 {
		t.Errorf("%d words, want 4", words)
	}
	for i, v := range vectors {
		sum := 0.0
		for _, e := range v {
			sum += e.weight * e.weight
		}
		if want := 1.0; len(v) > 0 && math.Abs(sum-want) > 1e-12 {
			t.Errorf("vector %d has the squared length %v", i, sum)
		}
	}
	if len(vectors[2]) != 0 {
		t.Errorf("the empty text has the vector %v", vectors[2])
	}
	if a, b := vectors[0][0].weight, vectors[0][1].weight; a <= b/2 {
		t.Errorf("weights %v and %v: repetition counts for nothing", a, b)
	}
}

func TestSettings(t *testing.T) {
	var s Settings
	s.Defaults()
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	for want, s := range map[string]Settings{
		"lambda -0.1: not within 0..1":       {-0.1, 200},
		"candidates 0: not within 1..500":    {0.7, 0},
		"candidates 1000: not within 1..500": {0.7, 1000},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// How long does it take to order 200 of 1,000 items of 150 words?
func BenchmarkOrder(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows abi.ItemRows
	for range 1000 {
		var text strings.Builder
		for range 150 {
			fmt.Fprintf(&text, "word%d ", int(1000*random.ExpFloat64()))
		}
		rows = append(rows, abi.Item{Content: text.String(), Score: random.Float64()})
	}
	s := Settings{Lambda: 0.7, Candidates: 200}
	for b.Loop() {
		Order(rows, 0, &s)
	}
}
