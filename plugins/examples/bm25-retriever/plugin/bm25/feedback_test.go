package bm25

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

func ExampleFeedback() {
	b := NewBuilder(Options{K1: DefaultK1, B: DefaultB, Feedback: Feedback{Model: RM3, Docs: 1, Terms: 3, Weight: 0.3}})
	names := []string{"aphids", "greenfly", "mildew"}
	b.Add("", "aphids greenfly soap")
	b.Add("", "greenfly soap spray")
	b.Add("", "mildew sulphur")
	for _, hit := range b.Build().Search("aphids", 10) {
		fmt.Println(names[hit.Doc])
	}
	// Output:
	// aphids
	// greenfly
}

func feedbackIndex(f Feedback) *Index {
	b := NewBuilder(Options{K1: 1.2, B: 0.75, Feedback: f})
	b.Add("", "a a b")
	b.Add("", "a c c c c")
	b.Add("", "b d")
	b.Add("", "e")
	return b.Build()
}

// TestExpand compares the weights with the formulas, computed by hand.
func TestExpand(t *testing.T) {
	hits := []Hit{{0, 3}, {1, 1}}
	bo1 := func(tf, mean float64) float64 { return tf*math.Log2((1+mean)/mean) + math.Log2(1+mean) }
	for _, c := range []struct {
		name  string
		model Model
		want  map[string]float64 // before they are made to add up to one
	}{
		{"rm3", RM3, map[string]float64{"a": 2.0/3 + math.Exp(-2)/5, "b": 1.0 / 3, "c": math.Exp(-2) * 4 / 5}},
		{"bo1", Bo1, map[string]float64{"a": bo1(3, 3.0/4), "b": bo1(1, 2.0/4), "c": bo1(4, 4.0/4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := feedbackIndex(Feedback{Model: c.model, Docs: 2, Terms: 10, Weight: 0.25})
			sum := 0.0
			for _, w := range c.want {
				sum += w
			}
			got := map[uint32]float64{}
			for _, w := range x.expand([]weighted{{x.terms["a"], 2}}, hits) {
				got[w.term] += w.weight
			}
			for term, w := range c.want {
				want := w / sum * 2 * 0.25
				if term == "a" {
					want += 2 * 0.75
				}
				if math.Abs(got[x.terms[term]]-want) > 1e-12 {
					t.Errorf("%s has the weight %v, want %v", term, got[x.terms[term]], want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%d terms, want %d", len(got), len(c.want))
			}
		})
	}
}

func TestFeedbackOfNoWeightIsTheFirstPass(t *testing.T) {
	once := feedbackIndex(Feedback{})
	for _, model := range []Model{RM3, Bo1} {
		x := feedbackIndex(Feedback{Model: model, Docs: 2, Terms: 10})
		for _, query := range []string{"a", "a b", "b b d", "e", ""} {
			if got, want := x.Search(query, 10), once.Search(query, 10); !slices.Equal(got, want) {
				t.Errorf("%s %q: got %v, want %v", model, query, got, want)
			}
		}
	}
}

func TestFeedbackFinds(t *testing.T) {
	for _, model := range []Model{RM3, Bo1} {
		x := feedbackIndex(Feedback{Model: model, Docs: 1, Terms: 10, Weight: 0.5})
		if got := x.Search("d", 10); len(got) != 2 || got[0].Doc != 2 || got[1].Doc != 0 {
			t.Errorf("%s: found %v, want the document with d, then the one that shares b with it", model, got)
		}
		for _, query := range []string{"", "zzz", "…"} {
			if got := x.Search(query, 10); len(got) != 0 {
				t.Errorf("%s %q: found %v", model, query, got)
			}
		}
		if got := x.Search("d", 1); len(got) != 1 {
			t.Errorf("%s: found %d, want 1", model, len(got))
		}
	}
}

func TestFeedbackValidate(t *testing.T) {
	for _, c := range []struct {
		f    Feedback
		want string
	}{
		{Feedback{Model: "rocchio"}, `model "rocchio": unknown`},
		{Feedback{Model: RM3, Terms: 1}, "docs 0: not within 1..100"},
		{Feedback{Model: RM3, Docs: 1}, "terms 0: not within 1..1000"},
		{Feedback{Model: Bo1, Docs: 1, Terms: 1, Weight: 1.1}, "weight 1.1: not within 0..1"},
		{Feedback{Model: Bo1, Docs: 1, Terms: 1, Weight: math.NaN()}, "weight NaN: not within 0..1"},
	} {
		if err := c.f.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.f, err, c.want)
		}
	}
	for _, f := range []Feedback{{}, {Model: NoFeedback}, {Model: RM3, Docs: 1, Terms: 1, Weight: 1}} {
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// FuzzSearch holds what a caller relies on against any text and query: at most
// k hits, in order, each a document, with a score above 0.
func FuzzSearch(f *testing.F) {
	f.Add("a b c", "b c d\x00\xff", "b", 0.5, 3, true)
	f.Fuzz(func(t *testing.T, one, two, query string, weight float64, k int, rm3 bool) {
		fb := Feedback{Model: Bo1, Docs: 2, Terms: 5, Weight: weight}
		if rm3 {
			fb.Model = RM3
		}
		if fb.Validate() != nil {
			return
		}
		b := NewBuilder(Options{K1: 1.2, B: 0.75, Feedback: fb, Analyzer: analysis.New(analysis.Options{Stop: analysis.EnglishStopWord, Stem: true})})
		b.Add(one, two)
		b.Add("", one)
		b.Add("", "")
		hits := b.Build().Search(query, k)
		if len(hits) > max(k, 0) {
			t.Fatalf("%d hits, wanted %d", len(hits), k)
		}
		last := math.Inf(1)
		for _, h := range hits {
			if h.Doc < 0 || h.Doc > 1 || !(h.Score > 0) || h.Score > last {
				t.Fatalf("hits %v", hits)
			}
			last = h.Score
		}
	})
}
