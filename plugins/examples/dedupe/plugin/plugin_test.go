package plugin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

func ExampleKeep() {
	rows := abi.ItemRows{
		{Content: "The quick brown fox jumps over the lazy dog.", Score: 0.6},
		{Content: "the quick, brown fox jumps over the lazy dog", Score: 0.9},
		{Content: "Something else entirely.", Score: 0.1},
	}
	fmt.Println(Keep(rows, &Settings{Threshold: 0.8, Shingle: 3}))
	// Output: [1 2]
}

func rowsOf(texts ...string) abi.ItemRows {
	var rows abi.ItemRows
	for _, text := range texts {
		rows = append(rows, abi.Item{Content: text, Score: 0.5})
	}
	return rows
}

func TestKeep(t *testing.T) {
	long := strings.Repeat("one two three four five six seven eight nine ten ", 100_000)
	for _, c := range []struct {
		name string
		rows abi.ItemRows
		s    Settings
		want []uint32
	}{
		{"nothing", nil, Settings{0.8, 3, 0.95}, nil},
		{"one", rowsOf("a b c"), Settings{0.8, 3, 0.95}, []uint32{0}},
		{"equal scores: the first stays", rowsOf("a b c", "A, b; c!", "x"), Settings{0.8, 3, 0.95}, []uint32{0, 2}},
		{"texts without words stay", rowsOf("", "", "…"), Settings{0.8, 3, 0.95}, []uint32{0, 1, 2}},
		{"shorter than a shingle", rowsOf("yes", "Yes!", "no"), Settings{0.8, 3, 0.95}, []uint32{0, 2}},
		{"the order of words counts", rowsOf("a b c d", "d c b a"), Settings{0.8, 2, 0.95}, []uint32{0, 1}},
		{"single words: it does not", rowsOf("a b c d", "d c b a"), Settings{1, 1, 0.95}, []uint32{0}},
		{"exactly at the threshold", rowsOf("a b c d", "a b c d e"), Settings{0.8, 1, 0.95}, []uint32{0}},
		{"just below it", rowsOf("a b c d", "a b c d e"), Settings{0.81, 1, 0.95}, []uint32{0, 1}},
		{"a low threshold", rowsOf("a b c d e f g h i x", "x"), Settings{0.1, 1, 0.95}, []uint32{0}},
		{"scripts and accents", rowsOf("東京都庁", "東京都庁。", "Ärger", "ärger"), Settings{1, 2, 0.95}, []uint32{0, 2}},
		{"huge texts", rowsOf(long, long+" and more"), Settings{0.9, 3, 0.95}, []uint32{0}},
		{"invalid UTF-8", rowsOf("a\xff b", "a\xfe b"), Settings{1, 2, 0.95}, []uint32{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Keep(c.rows, &c.s); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Vectors find duplicates without a common word, among the best rows. Rows without a vector, or of
// another dimension, are compared by words only.
func TestKeepByVectors(t *testing.T) {
	rows := abi.ItemRows{
		{Content: "a car", Score: 0.5, Embedding: []float32{2, 0.1}},
		{Content: "an automobile", Score: 0.9, Embedding: []float32{1, 0}},
		{Content: "a tree", Score: 0.8, Embedding: []float32{0, 1}},
		{Content: "a vehicle", Score: 0.4},
		{Content: "a van", Score: 0.3, Embedding: []float32{1}},
	}
	if got := Keep(rows, &Settings{0.8, 3, 0.95}); !slices.Equal(got, []uint32{1, 2, 3, 4}) {
		t.Errorf("keeps %v", got)
	}
	if got := Keep(rows, &Settings{0.8, 3, 1}); !slices.Equal(got, []uint32{0, 1, 2, 3, 4}) {
		t.Errorf("keeps %v of different vectors", got)
	}
	var many abi.ItemRows
	for i := range maxVectors + 2 {
		v := make([]float32, 4)
		v[i%4] = 1
		many = append(many, abi.Item{Content: fmt.Sprint("text ", i), Score: 1 - float64(i)/1e4, Embedding: v})
	}
	if got := Keep(many, &Settings{0.8, 3, 0.95}); len(got) != 4+2 {
		t.Errorf("keeps %d rows", len(got))
	}
}

// TestKeepMissesNothing compares the filtered search with all pairs.
func TestKeepMissesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s := Settings{Threshold: 0.1 + 0.9*random.Float64(), Shingle: 1 + random.IntN(3)}
		var rows abi.ItemRows
		for range 30 {
			var b strings.Builder
			for range 1 + random.IntN(12) {
				fmt.Fprintf(&b, "w%d ", random.IntN(8))
			}
			rows = append(rows, abi.Item{Content: b.String(), Score: float64(random.IntN(4)) / 4})
		}
		if got, want := Keep(rows, &s), keepByPairs(rows, &s); !slices.Equal(got, want) {
			t.Fatalf("%+v: got %v, want %v", s, got, want)
		}
	}
}

func keepByPairs(rows abi.ItemRows, s *Settings) (keep []uint32) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(4*rows[b].Score) - int(4*rows[a].Score)
	})
	for _, row := range order {
		set := shingles(rows[row].Content, s.Shingle)
		if !slices.ContainsFunc(keep, func(other uint32) bool {
			return jaccard(set, shingles(rows[other].Content, s.Shingle)) >= s.Threshold
		}) {
			keep = append(keep, uint32(row))
		}
	}
	slices.Sort(keep)
	return keep
}

func jaccard(a, b []uint64) float64 {
	common := 0
	for _, h := range a {
		if slices.Contains(b, h) {
			common++
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

func TestSettings(t *testing.T) {
	var s Settings
	s.Defaults()
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	for want, s := range map[string]Settings{
		"threshold 0: not within 0.1..1":   {0, 3, 0.95},
		"threshold 1.1: not within 0.1..1": {1.1, 3, 0.95},
		"shingle 0: not within 1..10":      {0.8, 0, 0.95},
		"cosine 0.4: not within 0.5..1":    {0.8, 3, 0.4},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// How long does it take to compare 1,000 items of 150 words?
func BenchmarkKeep(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows abi.ItemRows
	for range 1000 {
		var text strings.Builder
		for range 150 {
			fmt.Fprintf(&text, "word%d ", int(1000*random.ExpFloat64()))
		}
		rows = append(rows, abi.Item{Content: text.String(), Score: random.Float64()})
	}
	s := Settings{Threshold: 0.8, Shingle: 3}
	for b.Loop() {
		Keep(rows, &s)
	}
}
