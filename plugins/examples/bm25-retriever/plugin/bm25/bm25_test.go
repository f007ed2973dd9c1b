package bm25

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

func ExampleIndex_Search() {
	b := NewBuilder(Options{K1: DefaultK1, B: DefaultB, Analyzer: analysis.New(analysis.Options{Stem: true})})
	titles := []string{"flag", "sort"}
	b.Add(titles[0], "Package flag implements command-line flag parsing.")
	b.Add(titles[1], "Package sort sorts slices.")
	for _, hit := range b.Build().Search("How are flags parsed?", 10) {
		fmt.Println(titles[hit.Doc])
	}
	// Output: flag
}

func TestLuceneStopWordsAre33(t *testing.T) {
	n := 0
	for _, word := range strings.Fields("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with how we i") {
		if analysis.LuceneStopWord(word) {
			n++
		}
	}
	if n != 33 {
		t.Errorf("%d words", n)
	}
}

// TestScore compares with the formula, computed by hand.
func TestScore(t *testing.T) {
	b := NewBuilder(Options{K1: 1.2, B: 0.75})
	b.Add("", "a a b")
	b.Add("", "a c c c c")
	b.Add("", "d")
	got := b.Build().Search("a b", 10)
	idf := func(n float64) float64 { return math.Log(1 + (3-n+0.5)/(n+0.5)) }
	part := func(tf, length float64) float64 { return tf / (tf + 1.2*(1-0.75+0.75*length/3)) }
	want := []Hit{
		{0, idf(2)*part(2, 3) + idf(1)*part(1, 3)},
		{1, idf(2) * part(1, 5)},
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i].Doc != want[i].Doc || math.Abs(got[i].Score-want[i].Score) > 1e-6 {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

func TestRepeatedQueryTermsCountAsOften(t *testing.T) {
	b := NewBuilder(Options{K1: 0.9, B: 0.4})
	b.Add("", "a")
	b.Add("", "b")
	x := b.Build()
	once, twice := x.Search("a", 1)[0].Score, x.Search("a a", 1)[0].Score
	if math.Abs(twice-2*once) > 1e-12 {
		t.Errorf("%v and %v", once, twice)
	}
}

func TestTitleWeight(t *testing.T) {
	b := NewBuilder(Options{K1: 0.9, B: 0, TitleWeight: 3})
	b.Add("", "apple apple")
	b.Add("apple", "pear")
	if got := b.Build().Search("apple", 2); got[0].Doc != 1 {
		t.Errorf("got %v, want the title first", got)
	}
}

func TestEqualScoresKeepTheOrder(t *testing.T) {
	b := NewBuilder(Options{K1: 0.9, B: 0.4})
	for range 100 {
		b.Add("", "same words")
	}
	x := b.Build()
	for _, k := range []int{1, 7, 100, 1000} {
		for i, hit := range x.Search("words", k) {
			if hit.Doc != i {
				t.Fatalf("k %d: place %d has document %d", k, i, hit.Doc)
			}
		}
	}
}

// TestTopK compares the heap with a full sort.
func TestTopK(t *testing.T) {
	b := NewBuilder(Options{K1: 0.9, B: 0.4})
	for i := range 500 {
		b.Add("", strings.Repeat("x ", i*7%13)+strings.Repeat("y ", i*5%11))
	}
	x := b.Build()
	all := x.Search("x y", 500)
	if !slices.IsSortedFunc(all, func(a, b Hit) int {
		if a.Score != b.Score {
			return int(math.Copysign(1, b.Score-a.Score))
		}
		return a.Doc - b.Doc
	}) {
		t.Fatal("not sorted")
	}
	for _, k := range []int{1, 2, 10, len(all) - 1} {
		if got := x.Search("x y", k); !slices.Equal(got, all[:k]) {
			t.Errorf("k %d differs", k)
		}
	}
}

func TestNothing(t *testing.T) {
	empty := NewBuilder(Options{K1: 0.9, B: 0.4}).Build()
	if got := empty.Search("a", 5); got != nil || empty.Len() != 0 || empty.Terms() != 0 {
		t.Errorf("an empty index finds %v", got)
	}
	b := NewBuilder(Options{K1: 0.9, B: 0.4})
	b.Add("", "")
	b.Add("", "a")
	x := b.Build()
	for _, c := range []struct {
		query string
		k     int
	}{{"", 5}, {"…", 5}, {"zzz", 5}, {"a", 0}, {"a", -1}} {
		if got := x.Search(c.query, c.k); len(got) != 0 {
			t.Errorf("%q %d: found %v", c.query, c.k, got)
		}
	}
}

func TestVeryOftenRepeatedTerm(t *testing.T) {
	b := NewBuilder(Options{K1: 0.9, B: 0.4})
	b.Add("", strings.Repeat("a ", maxTF+10))
	if got := b.Build().Search("a", 1); len(got) != 1 || !(got[0].Score > 0) {
		t.Errorf("got %v", got)
	}
}
