package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
)

func testCollection(t *testing.T) *collection {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"corpus.jsonl":  `{"_id": "a", "title": "Wings", "text": "Wings lift of wings"}` + "\n" + `{"_id": "b", "text": "lift and drag"}` + "\n" + `{"_id": "c", "text": "heat"}` + "\n",
		"queries.jsonl": `{"_id": "1", "text": "lift"}` + "\n" + `{"_id": "2", "text": "heat"}` + "\n",
		"qrels.tsv":     "q\td\ts\n1\ta\t1\n1\tb\t2\n1\tc\t0\n2\tc\t1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoad(t *testing.T) {
	c := testCollection(t)
	if c.docs[0].Text != "lift of wings" {
		t.Errorf("the text is %q, want it without the title", c.docs[0].Text)
	}
	if len(c.all) != 2 || len(c.one) != 3 {
		t.Fatalf("%d and %d questions, want 2 and 3", len(c.all), len(c.one))
	}
	if q := c.one[1]; q.grades[1] != 1 || !q.gone[0] || q.gone[1] || q.weight != 0.5 {
		t.Errorf("the second question is %+v", q)
	}
}

func TestFigures(t *testing.T) {
	c := testCollection(t)
	rankings := [][]int{{0, 1}, {2}}
	want := (1 + 2/math.Log2(3)) / (2 + 1/math.Log2(3))
	f := newFigures(c.all, func(i int) []int { return rankings[i] })
	if math.Abs(f[0]-want) > 1e-12 || f[1] != 1 || math.Abs(f.mean()-(want+1)/2) > 1e-12 {
		t.Errorf("got %v, want %v and 1", f, want)
	}
	rankings = [][]int{{2, 0}, {1}, {2}}
	if f = newFigures(c.one, func(i int) []int { return rankings[i] }); math.Abs(f[0]-(0.5/math.Log2(3)+0.5)) > 1e-12 || f[1] != 1 {
		t.Errorf("got %v", f)
	}
}

func TestNear(t *testing.T) {
	best := figures{1, 1, 1, 1}
	for _, c := range []struct {
		f    figures
		want bool
	}{
		{figures{1, 1, 1, 1}, true},
		{figures{0.9, 0.9, 0.9, 0.9}, false},
		{figures{1, 1.1, 1, 0.85}, true},
		{figures{0.4, 0.5, 0.6, 0.5}, false},
	} {
		if got := c.f.near(best); got != c.want {
			t.Errorf("%v: %v", c.f, got)
		}
	}
}

func TestTop(t *testing.T) {
	docs := make([]int, 15)
	scores := make([]float64, 15)
	for i := range docs {
		docs[i], scores[i] = i, float64(i/2)
	}
	if got, want := top(docs, scores), []int{14, 12, 13, 10, 11, 8, 9, 6, 7, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := top(docs[:1], scores[:1]); !slices.Equal(got, []int{0}) {
		t.Errorf("got %v", got)
	}
}

func TestSearchLeavesOut(t *testing.T) {
	c := testCollection(t)
	x := c.index(bm25.Options{K1: 1.2, B: 0.75})
	if hits := search(x, c.one[1], 10); len(hits) != 1 || hits[0].Doc != 1 {
		t.Errorf("found %v, want only the second document", hits)
	}
}

func TestRunNeedsData(t *testing.T) {
	for _, root := range []string{"", t.TempDir()} {
		if err := run(io.Discard, root); err == nil {
			t.Errorf("%q passes", root)
		}
	}
}
