package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

var directions = embeddings{"north": {0, 1}, "northward": {0.1, 1}, "to the north": {-0.1, 1}, "east": {1, 0}, "zero": {0, 0}}

func decided(t *testing.T, c *SimilarityConsolidator, fresh, existing []*Entry) (out []string, entries []*Entry) {
	t.Helper()
	decisions, err := c.Consolidate(t.Context(), fresh, existing)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range decisions {
		row := string(d.Action)
		if d.Entry != nil {
			row += " " + d.Entry.ID + "=" + d.Entry.Content
		}
		out, entries = append(out, row), append(entries, d.Entry)
	}
	return out, entries
}

func TestSeveralNewFactsUpdateOne(t *testing.T) {
	known := entry("k", "north")
	known.Tags, known.Metadata = []string{"a"}, map[string]any{"x": int64(1), "y": int64(1)}
	b, c := entry("b", "northward"), entry("c", "to the north")
	b.Tags, b.Links, b.Metadata = []string{"b"}, []string{"l"}, map[string]any{"y": int64(2)}
	c.Tags, c.SourceTurns = []string{"c", "a"}, []string{"turn-1"}
	got, entries := decided(t, &SimilarityConsolidator{Embedder: directions}, []*Entry{b, c}, []*Entry{known})
	if !slices.Equal(got, []string{"update k=northward", "update k=to the north"}) {
		t.Errorf("decided %q", got)
	}
	last := entries[1]
	if last.AccessCount != 2 || !slices.Equal(last.Tags, []string{"a", "b", "c"}) || !slices.Equal(last.Links, []string{"l"}) ||
		!slices.Equal(last.SourceTurns, []string{"turn-1"}) || !reflect.DeepEqual(last.Metadata, map[string]any{"x": int64(1), "y": int64(2)}) {
		t.Errorf("merged to %+v", last)
	}
	if known.AccessCount != 0 || len(known.Tags) != 1 || len(known.Metadata) != 2 {
		t.Errorf("the existing entry changed: %+v", known)
	}
}

func TestOwnersAreKeptApart(t *testing.T) {
	anns, bobs, similar := entry("a", "north"), entry("b", "north"), entry("c", "northward")
	anns.UserID, bobs.UserID, similar.UserID = "ann", "bob", "bob"
	got, _ := decided(t, &SimilarityConsolidator{Embedder: directions}, []*Entry{bobs, similar}, []*Entry{anns})
	if !slices.Equal(got, []string{"add b=north", "add c=northward"}) {
		t.Errorf("decided %q", got)
	}
}

func TestConsolidatorOptions(t *testing.T) {
	fresh := func() []*Entry {
		return []*Entry{entry("1", "east"), entry("2", "east"), entry("3", "northward"), entry("4", "zero")}
	}
	known := []*Entry{entry("k", "north")}
	for _, tc := range []struct {
		c    *SimilarityConsolidator
		want []string
	}{
		{&SimilarityConsolidator{}, []string{"add 1=east", "add 2=east", "update k=northward", "add 4=zero"}},
		{&SimilarityConsolidator{CompareNew: true}, []string{"add 1=east", "none", "update k=northward", "add 4=zero"}},
		{&SimilarityConsolidator{Threshold: 1}, []string{"add 1=east", "add 2=east", "add 3=northward", "add 4=zero"}},
		{&SimilarityConsolidator{Threshold: 1e-9}, []string{"add 1=east", "add 2=east", "update k=northward", "add 4=zero"}},
	} {
		tc.c.Embedder = directions
		if got, _ := decided(t, tc.c, fresh(), known); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc.c, got, tc.want)
		}
	}
	_, entries := decided(t, &SimilarityConsolidator{Embedder: directions, Rehash: true}, []*Entry{entry("1", "northward")}, known)
	if entries[0].ContentHash != ContentHash("northward") {
		t.Errorf("rehashed to %+v", entries[0])
	}
}

func TestRewrittenFactsAreEmbeddedAgain(t *testing.T) {
	var asked []string
	c := &SimilarityConsolidator{Embedder: embedFunc(func(ctx context.Context, texts []string) ([][]float32, error) {
		asked = append(asked, texts...)
		return directions.Embed(ctx, retrieve.SideDocument, texts)
	})}
	known := entry("k", "north")
	decided(t, c, []*Entry{entry("1", "east"), entry("2", "east")}, []*Entry{known})
	rewritten := *known
	rewritten.Content = "zero"
	decided(t, c, []*Entry{entry("3", "east")}, []*Entry{&rewritten})
	if !slices.Equal(asked, []string{"north", "east", "zero"}) {
		t.Errorf("embedded %q", asked)
	}
}

func TestEmbeddersAreChecked(t *testing.T) {
	for name, out := range map[string][][]float32{
		"1 vectors for 2 texts":      {{1}},
		"text 0: empty vector":       {{}, {1}},
		"text 1: NaN":                {{1}, {float32(math.NaN())}},
		"text 0: -Inf":               {{float32(math.Inf(-1))}, {1}},
		"vectors of 1 and 2 numbers": {{1}, {1, 2}},
	} {
		c := &SimilarityConsolidator{Embedder: embedFunc(func(context.Context, []string) ([][]float32, error) { return out, nil })}
		_, err := c.Consolidate(t.Context(), []*Entry{entry("1", "a")}, []*Entry{entry("2", "b")})
		if !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []*SimilarityConsolidator{{}, {Embedder: directions, Threshold: -1}, {Embedder: directions, Threshold: math.NaN()}} {
		if _, err := c.Consolidate(t.Context(), nil, nil); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestScorerByVectors(t *testing.T) {
	m := newManager(t, Config{Scorer: &Scorer{Relevance: 1, Embedder: directions}})
	for _, content := range []string{"east", "northward", "zero"} {
		mustAdd(t, m, Entry{Content: content})
	}
	for _, q := range []*pipeline.Query{{Text: "north"}, {Embedding: []float32{0, 3}}} {
		found, err := m.Relevant(t.Context(), q, 2, Filter{})
		if err != nil || len(found) != 2 || found[0].Entry.Content != "northward" || fmt.Sprintf("%.3f", found[0].Score) != "0.995" || found[1].Score != 0 {
			t.Errorf("%+v: %+v, %v", q, found, err)
		}
	}
	if _, err := m.Relevant(t.Context(), &pipeline.Query{Embedding: []float32{1}}, 0, Filter{}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("another model: %v", err)
	}
	if _, err := m.Relevant(t.Context(), &pipeline.Query{}, -1, Filter{}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("top_k -1: %v", err)
	}
}
