package retrieve

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// fake is an embedder that gives the vectors it was given.
type fake struct {
	vectors [][]float32
	err     error
	calls   int
}

func (f *fake) Model(context.Context) (Model, error) { return Model{"fake", 2}, nil }
func (f *fake) Embed(_ context.Context, side Side, texts []string) ([][]float32, error) {
	f.calls++
	return f.vectors, f.err
}

func TestEmbedChecks(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, tt := range map[string]struct {
		vectors [][]float32
		err     error
		want    error
	}{
		"right":     {[][]float32{{1, 2}, {0, 0}}, nil, nil},
		"too few":   {[][]float32{{1, 2}}, nil, ErrVectors},
		"too many":  {[][]float32{{1, 2}, {1, 2}, {1, 2}}, nil, ErrVectors},
		"dimension": {[][]float32{{1, 2}, {1, 2, 3}}, nil, ErrVectors},
		"nil":       {[][]float32{{1, 2}, nil}, nil, ErrVectors},
		"NaN":       {[][]float32{{1, 2}, {1, float32(math.NaN())}}, nil, ErrVectors},
		"infinite":  {[][]float32{{1, -inf}, {1, 2}}, nil, ErrVectors},
		"refused":   {nil, &EmbedError{Model: "fake", Place: "http://x", Err: ErrUnavailable}, ErrUnavailable},
	} {
		_, err := Embed(t.Context(), &fake{vectors: tt.vectors, err: tt.err}, SideDocument, []string{"a", "b"})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		var e *EmbedError
		if tt.want != nil && (!errors.As(err, &e) || e.Model != "fake") {
			t.Errorf("%s: the model is not named: %v", name, err)
		}
	}
	f := &fake{}
	if v, err := Embed(t.Context(), f, SideQuery, nil); v != nil || err != nil || f.calls != 0 {
		t.Errorf("without texts: %v, %v, %d calls", v, err, f.calls)
	}
}

func TestFuse(t *testing.T) {
	words := []Ranked[string]{{"a", 9}, {"b", 6}, {"c", 3}}
	vectors := []Ranked[string]{{"b", 0.9}, {"d", 0.1}}
	third := 1.0 / 3
	for _, tt := range []struct {
		name string
		o    FuseOptions
		want []Ranked[string]
	}{
		{"weighted", FuseOptions{}, []Ranked[string]{{"b", 0.75}, {"a", 0.5}, {"c", 0}, {"d", 0}}},
		{"weights", FuseOptions{Weights: []float64{3, 1}}, []Ranked[string]{{"a", 0.75}, {"b", 0.625}, {"c", 0}, {"d", 0}}},
		{"rrf", FuseOptions{Fusion: FusionRRF, K: 1}, []Ranked[string]{{"b", third + 0.5}, {"a", 0.5}, {"d", 1.0 / 3}, {"c", 0.25}}},
		{"rrf weights", FuseOptions{Fusion: FusionRRF, K: 1, Weights: []float64{1, 0}}, []Ranked[string]{{"a", 0.5}, {"b", 1.0 / 3}, {"c", 0.25}, {"d", 0}}},
	} {
		have, err := Fuse([][]Ranked[string]{words, vectors}, tt.o)
		if err != nil || !reflect.DeepEqual(have, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, have, err, tt.want)
		}
	}
	for _, o := range []FuseOptions{{Fusion: "sum"}, {K: -1}, {Weights: []float64{1}}, {Weights: []float64{1, math.NaN()}}, {Weights: []float64{-1, 1}}, {Weights: []float64{math.MaxFloat64, math.MaxFloat64}}} {
		if _, err := Fuse([][]Ranked[string]{words, vectors}, o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// found is an index that answers every search with the same hits.
type found struct {
	Index
	hits []Hit
	got  Query
	info CollectionInfo
}

func (f *found) Collection(context.Context, Collection) (CollectionInfo, error) { return f.info, nil }

func (f *found) Settings(context.Context, Collection) (Settings, error) { return f.info.Settings, nil }

func (f *found) Search(_ context.Context, _ Collection, q Query) ([]Hit, error) {
	f.got = q
	return f.hits, nil
}

func TestRetriever(t *testing.T) {
	x := &found{info: CollectionInfo{Documents: 2, Vectors: 2, Settings: Settings{Model: Model{"fake", 2}}}, hits: []Hit{
		{ID: "d#1", Document: "d", Path: "p.md", Title: "T", Headings: []string{"T", "H"}, Page: 2, PageEnd: 3, Lines: Lines{3, 4}, Text: "text", Score: 8, Meta: map[string]string{"lang": "en"}},
		{ID: "e#1", Document: "e", Path: "e", Text: "plain", Score: 2},
	}}
	r := &Retriever{Index: x, Collection: Collection{"t", "docs"}}
	items, err := r.Retrieve(t.Context(), &core.Query{Text: "q"}, 5)
	if err != nil || core.ValidateItems(items) != nil || len(items) != 2 || x.got.By != ByWords || x.got.K != 5 || x.got.Text != "q" {
		t.Fatalf("%+v, %v, query %+v", items, err, x.got)
	}
	wantMeta := map[string]any{"doc_id": "d", "path": "p.md", "title": "T", "heading": "T > H", "page": int64(2), "page_end": int64(3), "line": int64(3), "line_end": int64(4), "lang": "en", "retrieval_method": "words", "collection": "docs"}
	if items[0].Content != "T > H\n\ntext" || items[0].Score != 1 || !reflect.DeepEqual(items[0].Metadata, wantMeta) || items[1].Content != "plain" || items[1].Score != 0.25 {
		t.Errorf("%+v", items)
	}
	f := &fake{vectors: [][]float32{{3, 4}}}
	r.Embedder, x.hits = f, []Hit{{ID: "d#1", Score: 1.0000001}, {ID: "e#1", Score: -0.5}}
	items, err = r.Retrieve(t.Context(), &core.Query{Text: "q"}, 0)
	if err != nil || core.ValidateItems(items) != nil || x.got.By != ByHybrid || x.got.Model != "fake" || x.got.Vector[1] != 4 || f.calls != 1 {
		t.Errorf("%+v, %v, query %+v", items, err, x.got)
	}
	if _, err = r.Retrieve(t.Context(), &core.Query{Text: "q", Embedding: []float32{1, 0}}, 0); err != nil || f.calls != 1 || x.got.Vector[0] != 1 {
		t.Errorf("a question with a vector: %v, %d calls", err, f.calls)
	}
	f.vectors = nil
	if _, err = r.Retrieve(t.Context(), &core.Query{Text: "q"}, 0); !errors.Is(err, ErrVectors) {
		t.Errorf("an embedder that fails: %v", err)
	}
}

// A search that finds nothing says what the collection lacks, if it lacks something.
func TestRetrieverSaysWhatIsMissing(t *testing.T) {
	none, some := []Hit(nil), []Hit{{ID: "d#1", Score: 1, Words: 1}}
	model := Settings{Model: Model{"fake", 1}}
	for _, c := range []struct {
		name string
		by   By
		hits []Hit
		info CollectionInfo
		want error
	}{
		{"empty", ByWords, none, CollectionInfo{}, ErrEmpty},
		{"empty, by vectors", ByVectors, none, CollectionInfo{}, ErrEmpty},
		{"empty, hybrid", ByHybrid, none, CollectionInfo{Settings: model}, ErrEmpty},
		{"empty, by default", "", none, CollectionInfo{Settings: model}, ErrEmpty},
		{"no match", ByWords, none, CollectionInfo{Documents: 1}, nil},
		{"no model", ByVectors, none, CollectionInfo{Documents: 1}, ErrModel},
		{"vectors without any", ByVectors, none, CollectionInfo{Documents: 1, Settings: model}, ErrModel},
		{"hybrid without vectors", ByHybrid, some, CollectionInfo{Documents: 1, Settings: model}, ErrModel},
		{"hybrid by default, without vectors", "", some, CollectionInfo{Documents: 1, Settings: model}, nil},
		{"hybrid, none near", ByHybrid, some, CollectionInfo{Documents: 1, Vectors: 1, Settings: model}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Retriever{Index: &found{hits: c.hits, info: c.info}, Collection: Collection{"t", "docs"}, Query: Query{By: c.by}}
			_, err := r.Retrieve(t.Context(), &core.Query{Text: "q", Embedding: []float32{1}}, 0)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if c.want != nil && !strings.Contains(err.Error(), "anchor-host ingest PATH --collection docs") && !strings.Contains(err.Error(), "anchor-host collections reembed docs") {
				t.Errorf("%v names no remedy", err)
			}
		})
	}
}

func TestSearched(t *testing.T) {
	d := Document{Title: "T", Chunks: []Chunk{{Text: "text", Context: "ctx", Headings: []string{"T", "H"}}, {Text: "only"}}}
	if have := d.Searched(0); have != "T\nH\nctx\ntext" {
		t.Errorf("%q", have)
	}
	d.Title = ""
	if have := d.Searched(1); have != "only" {
		t.Errorf("%q", have)
	}
}

// All searches of a collection follow one rule: what the query says, else vectors beside words if the
// collection has those of the embedder or of the query.
func TestPrepare(t *testing.T) {
	mine, other := Settings{Model: Model{"fake", 2}}, Settings{Model: Model{"other", 2}}
	given := []float32{1, 0}
	for _, c := range []struct {
		name string
		has  Settings
		e    bool
		q    Query
		by   By
		err  error
		says string
	}{
		{"no embedder", mine, false, Query{Text: "q"}, ByWords, nil, ""},
		{"embedder", mine, true, Query{Text: "q"}, ByHybrid, nil, ""},
		{"embedder, no vectors", Settings{}, true, Query{Text: "q"}, ByWords, nil, ""},
		{"embedder of another model", other, true, Query{Text: "q"}, ByWords, nil, ""},
		{"vector", mine, false, Query{Text: "q", Vector: given}, ByHybrid, nil, ""},
		{"vector, no vectors", Settings{}, true, Query{Text: "q", Vector: given}, ByWords, nil, ""},
		{"vector alone", mine, false, Query{Vector: given}, ByVectors, nil, ""},
		{"words", mine, true, Query{Text: "q", By: ByWords, Vector: given}, ByWords, nil, ""},
		{"hybrid", mine, true, Query{Text: "q", By: ByHybrid}, ByHybrid, nil, ""},
		{"hybrid, no embedder", mine, false, Query{Text: "q", By: ByHybrid}, "", ErrInvalid, "collections: {docs: {embedder: NAME}}"},
		{"hybrid, another model", other, true, Query{Text: "q", By: ByHybrid}, "", ErrModel, "its vectors are of other (2 dimensions), the embedder makes those of fake (2 dimensions) ("},
		{"hybrid, no vectors", Settings{}, true, Query{Text: "q", By: ByHybrid}, "", ErrModel, "reembed docs"},
		{"vector of other dimension", mine, true, Query{Text: "q", Vector: []float32{1}}, "", ErrModel, "a model that the query does not name (1 dimensions), the collection's are of fake (2 dimensions) ("},
		{"vector of other model", mine, true, Query{Text: "q", Vector: given, Model: "else"}, "", ErrModel, "a vector of else (2 dimensions), the collection's are of fake"},
		{"vector of no number", mine, true, Query{Text: "q", Vector: []float32{1, float32(math.NaN())}}, "", ErrVectors, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Embedder
			if c.e {
				e = &fake{vectors: [][]float32{{3, 4}}}
			}
			x := &found{info: CollectionInfo{Documents: 1, Vectors: 1, Settings: c.has}}
			q, err := Prepare(t.Context(), x, Collection{"t", "docs"}, e, c.q)
			if !errors.Is(err, c.err) || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "collection t/docs: ")) {
				t.Fatalf("error %v, want %v with %s", err, c.err, c.says)
			}
			if err == nil && (q.By != c.by || (q.Vector != nil) != (c.by != ByWords)) {
				t.Errorf("%+v, want by %s", q, c.by)
			}
			if by, err := DefaultBy(t.Context(), x, Collection{"t", "docs"}, e, c.q.Vector != nil); c.q.By == "" && c.q.Text != "" && c.err == nil && (err != nil || by != c.by) {
				t.Errorf("by default %s, error %v, want %s", by, err, c.by)
			}
		})
	}
}

func TestConditionValidate(t *testing.T) {
	for _, c := range []struct {
		field, value string
		op           Op
		says         string // "" means valid
	}{
		{"time", "2026-01-31", OpAtLeast, ""},
		{"time", "2026-01-31T15:04:05Z", OpAtMost, ""},
		{"time", "2026-01", OpPrefix, ""},
		{"time", "yesterday", OpAtLeast, "want a date or a time"},
		{"page", "12", OpAtMost, ""},
		{"page", "xii", OpAtMost, "want a number"},
		{"line", "NaN", OpAtLeast, "want a number"},
		{"version", "b", OpAtLeast, ""},
	} {
		err := (&Condition{Field: c.field, Op: c.op, Values: []string{c.value}}).Validate()
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s %s: %v, want %q", c.field, c.op, c.value, err, c.says)
		}
	}
}
