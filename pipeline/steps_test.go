package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/tokens"
)

func TestRetrieverStepAppendsWithoutDeduplication(t *testing.T) {
	r := mustBuild(t, Config{Steps: []StepConfig{
		{Name: "give", Step: appendStep(docs("a", "b")...)},
		{Name: "search", Step: RetrieverStep(listRetriever{"b", "c", "d"}, 2)},
	}})
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"a", "b", "b", "c"}) {
		t.Errorf("window %v", got)
	}
}

type rerankFunc func(items []Item) []Item

func (f rerankFunc) Rerank(_ context.Context, _ *Query, items []Item, _ int) ([]Item, error) {
	return f(items), nil
}

func (f rerankFunc) Process(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return f(items), nil
}

func reversed(items []Item) []Item {
	out := slices.Clone(items)
	slices.Reverse(out)
	return out
}

func TestRerankerAndPostProcessorReplaceTheWholeList(t *testing.T) {
	for name, step := range map[string]Step{"rerank": RerankerStep(rerankFunc(reversed), 2), "process": PostProcessorStep(rerankFunc(func(items []Item) []Item { return reversed(items)[:2] }))} {
		r := mustBuild(t, Config{SystemPrompts: []SystemPrompt{{Content: "S"}}, Steps: []StepConfig{
			{Name: "give", Step: appendStep(docs("a", "b", "c")...)}, {Name: name, Step: step},
		}})
		if got := ids(r.Window.Items); !slices.Equal(got, []string{"c", "b"}) {
			t.Errorf("%s: window %v", name, got)
		}
	}
}

func TestScope(t *testing.T) {
	items := []Item{system("S"), doc("a"), turn("t", "user", 1), doc("b"), doc("c")}
	for i := range items {
		items[i].ID = items[i].Content
	}
	for name, tc := range map[string]struct {
		step Step
		want []string
	}{
		"reorder": {RerankerStep(rerankFunc(reversed), 0), []string{"S", "c", "t", "b", "a"}},
		"cut":     {RerankerStep(rerankFunc(reversed), 1), []string{"S", "c", "t"}},
		"add":     {appendStep(doc("x")), []string{"S", "a", "t", "b", "c", "x"}},
		"drop":    {FilterFunc(func(it *Item) bool { return it.ID != "a" }), []string{"S", "b", "t", "c"}},
		"all":     {FilterFunc(func(*Item) bool { return false }), []string{"S", "t"}},
	} {
		out, err := Scope(tc.step, ContextSources...).Run(t.Context(), &Query{}, items)
		if got := ids(out); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
	if _, err := Scope(StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return nil, errBoom })).Run(t.Context(), &Query{}, items); !errors.Is(err, errBoom) {
		t.Errorf("error of the inner step: %v", err)
	}
}

type failingQuery struct{}

func (failingQuery) TransformQuery(context.Context, *Query) ([]Query, error) { return nil, errBoom }
func (failingQuery) Classify(context.Context, *Query) (string, error)        { return "", errBoom }

func TestStepsPassErrorsOn(t *testing.T) {
	bad := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return nil, errBoom })
	for want, step := range map[string]Step{
		"transform query: boom":                    QueryTransformStep(failingQuery{}, listRetriever{}, 0),
		"variant \"a\": boom\nvariant \"b\": boom": QueryTransformStep(variants{"a", "b"}, bad, 0),
		"classify query: boom":                     ClassifiedStep(failingQuery{}, nil, "", 0),
		"boom":                                     RetrieverStep(bad, 0),
	} {
		if _, err := step.Run(t.Context(), &Query{}, nil); err == nil || err.Error() != want || !errors.Is(err, errBoom) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := ClassifiedStep(KeywordClassifier{Default: "x"}, map[string]Retriever{"y": bad}, "z", 0).Run(t.Context(), &Query{}, nil)
	if err == nil || err.Error() != `label "x": no retriever (route it, or give a default)` {
		t.Errorf("%v", err)
	}
}

func TestQueryTransformStepInABuild(t *testing.T) {
	step := QueryTransformStep(variants{"v1"}, variantRetriever{"v1": {"a", "b"}}, 0)
	r := mustBuild(t, Config{Steps: []StepConfig{
		{Name: "give", Step: appendStep(doc("a"))}, {Name: "t", OnError: Skip, Step: step},
	}})
	if got := contents(r.Window.Items); !slices.Equal(got, []string{"a", "B"}) {
		t.Errorf("window %v, %+v", got, r.Diagnostics)
	}
}

func TestTokenizersByName(t *testing.T) {
	if len(TokenizerNames()) == 0 {
		t.Error("no tokenizer has a name")
	}
	for _, name := range TokenizerNames() {
		if tokenizer, err := EncodingTokenizer(name); err != nil || tokenizer.Name() != name {
			t.Errorf("%s: %v, %v", name, tokenizer, err)
		}
	}
	if tokenizer, err := EncodingTokenizer("gpt"); tokenizer != nil || !errors.Is(err, tokens.ErrUnknownEncoding) {
		t.Errorf("unknown name: %v, %v", tokenizer, err)
	}
}

func TestQueryTransformStepCutsToTopK(t *testing.T) {
	step := QueryTransformStep(variants{"v1", "v2"}, variantRetriever{"v1": {"a", "b", "c"}, "v2": {"d", "e", "c"}}, 2)
	out, err := step.Run(t.Context(), &Query{}, docs("z"))
	if got := ids(out); err != nil || !slices.Equal(got, []string{"z", "a", "d"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFuse(t *testing.T) {
	one, err := Fuse([][]Item{{{ID: "a", Score: 0.2, Content: "low"}}, {{ID: "a", Score: 0.9, Content: "high", Metadata: map[string]any{"k": 1}}}}, FuseOptions{})
	if err != nil || len(one) != 1 || one[0].Score != 1 || one[0].Content != "high" || one[0].Metadata["k"] != 1 || one[0].Metadata["retrieval_method"] != "rrf" {
		t.Errorf("a single result: %+v, %v", one, err)
	}
	twice, err := Fuse([][]Item{{{ID: "a"}, {ID: "b"}, {ID: "a"}}}, FuseOptions{})
	if err != nil || twice[0].Metadata["rrf_raw_score"] != 1.0/61 {
		t.Errorf("an id twice in one list: %+v, %v", twice, err)
	}
	if none, err := Fuse(nil, FuseOptions{}); err != nil || len(none) != 0 {
		t.Errorf("no lists: %v, %v", none, err)
	}
	given := []Item{{ID: "a", Metadata: map[string]any{}}}
	if _, err := Fuse([][]Item{given}, FuseOptions{}); err != nil || len(given[0].Metadata) != 0 {
		t.Errorf("input changed: %+v, %v", given, err)
	}
	for _, opts := range []FuseOptions{{K: -1}, {TopK: -1}, {Weights: []float64{1, 2}}, {Weights: []float64{math.NaN()}}, {Weights: []float64{-1}}, {Weights: []float64{math.Inf(1)}}} {
		if _, err := Fuse([][]Item{{}}, opts); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestHybridToleratesFailures(t *testing.T) {
	var log bytes.Buffer
	bad := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return nil, errBoom })
	h := &Hybrid{Parts: []HybridPart{{Name: "bad", Retriever: bad, Weight: 5}, {Name: "good", Retriever: listRetriever{"a", "b"}}, {Name: "broken", Retriever: broken{}}}}
	r := mustBuild(t, Config{Logger: textLogger(&log), Steps: []StepConfig{{Name: "find", Step: RetrieverStep(h, 10)}}})
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"a", "b"}) || r.Window.Items[0].Score != 1 {
		t.Errorf("items %+v", r.Window.Items)
	}
	for _, name := range []string{"bad", "broken"} {
		if !strings.Contains(log.String(), `msg="retriever left out" retriever=`+name+" ") {
			t.Errorf("%s is not named: %s", name, log.String())
		}
	}
	h.Parts = []HybridPart{{Name: "bad", Retriever: bad}, {Name: "broken", Retriever: broken{}}}
	if _, err := h.Retrieve(t.Context(), &Query{}, 10); !errors.Is(err, errBoom) || !errors.Is(err, ErrPanic) {
		t.Errorf("all fail: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Retrieve(ctx, &Query{}, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFuseWeightsHaveAFiniteSum(t *testing.T) {
	if _, err := Fuse([][]Item{{}, {}}, FuseOptions{Weights: []float64{1e308, 1e308}}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "sum") {
		t.Error(err)
	}
}

// A retriever that returns what no item may have, or that does not answer, costs its own
// items only.
func TestHybridLeavesOutOnlyTheBadRetriever(t *testing.T) {
	returns := func(it Item) Retriever {
		it.ID = "x"
		return retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { return []Item{it, {ID: "y", Score: 0.5}}, nil })
	}
	release := make(chan struct{})
	defer close(release)
	for name, bad := range map[string]Retriever{
		"NaN": returns(Item{Score: math.NaN()}), "infinite": returns(Item{Score: math.Inf(1)}), "score": returns(Item{Score: 5}),
		"priority": returns(Item{Priority: 99}), "tokens": returns(Item{TokenCount: -1}), "source": returns(Item{Source: "nowhere"}),
		"hangs": retrieverFunc(func(ctx context.Context, _ *Query, _ int) ([]Item, error) { <-ctx.Done(); return nil, ctx.Err() }),
		"deaf":  retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { <-release; return nil, nil }),
		"exits": retrieverFunc(func(context.Context, *Query, int) ([]Item, error) { runtime.Goexit(); return nil, nil }),
	} {
		for _, fusion := range []Fusion{FusionWeighted, FusionRRF, FusionRoundRobin} {
			var log bytes.Buffer
			h := &Hybrid{Fusion: fusion, Parts: []HybridPart{{Name: "good", Retriever: listRetriever{"a", "b"}}, {Name: "bad", Retriever: bad, Timeout: 50 * time.Millisecond}}}
			r := mustBuild(t, Config{Logger: textLogger(&log), Steps: []StepConfig{{Name: "find", Step: RetrieverStep(h, 10)}}})
			if got := ids(r.Window.Items); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("%s, %s: items %v", name, fusion, got)
			}
			if !strings.Contains(log.String(), `msg="retriever left out" retriever=bad `) {
				t.Errorf("%s, %s: log %s", name, fusion, log.String())
			}
		}
	}
}

// Once the context has ended, no variant starts that has not started yet.
func TestNoVariantStartsAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int32
	r := retrieverFunc(func(context.Context, *Query, int) ([]Item, error) {
		calls.Add(1)
		cancel()
		return nil, nil
	})
	if _, err := QueryTransformStep(make(variants, 64), r, 0).Run(ctx, &Query{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := calls.Load(); n > maxRetrievals {
		t.Errorf("%d of 64 variants were started", n)
	}
}

// An id that one list has several times counts once, at its first place.
func TestFuseCountsAnIDOncePerList(t *testing.T) {
	lists := [][]Item{{{ID: "a"}, {ID: "b"}}, {{ID: "a"}, {ID: "z"}, {ID: "z"}, {ID: "z"}, {ID: "z"}}}
	got, err := Fuse(lists, FuseOptions{Fusion: FusionRRF})
	if err != nil || !slices.Equal(ids(got), []string{"a", "b", "z"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A variant that fails takes away nothing of the others, and all run at the same time.
func TestVariantsRunTogetherAndFailAlone(t *testing.T) {
	var log bytes.Buffer
	var together sync.WaitGroup
	together.Add(3)
	r := retrieverFunc(func(ctx context.Context, q *Query, topK int) ([]Item, error) {
		together.Done()
		together.Wait() // for ever if they run one after the other
		if q.Text == "v2" {
			return nil, errBoom
		}
		return listRetriever{q.Text}.Retrieve(ctx, q, topK)
	})
	built := mustBuild(t, Config{Logger: textLogger(&log), Steps: []StepConfig{{Name: "t", Step: QueryTransformStep(variants{"v1", "v2", "v3"}, r, 0)}}})
	if got := ids(built.Window.Items); !slices.Equal(got, []string{"v1", "v3"}) {
		t.Errorf("items %v", got)
	}
	if !strings.Contains(log.String(), `msg="variant left out" variant=v2 error=boom`) {
		t.Errorf("log %s", log.String())
	}
}

func TestFuseWeighted(t *testing.T) {
	words := []Item{{ID: "a", Score: 0.75}, {ID: "b", Score: 0.5}, {ID: "c", Score: 0.25}}
	vectors := []Item{{ID: "b", Score: 0.75}, {ID: "d", Score: 0.25}}
	scores := func(weights []float64, lists ...[]Item) map[string]float64 {
		t.Helper()
		fused, err := Fuse(lists, FuseOptions{Fusion: FusionWeighted, Weights: weights})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(fused, func(a, b Item) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Errorf("not sorted: %+v", fused)
		}
		by := map[string]float64{}
		for _, it := range fused {
			by[it.ID] = it.Score
			if it.Metadata["retrieval_method"] != "weighted" {
				t.Errorf("metadata %v", it.Metadata)
			}
		}
		return by
	}
	for _, tt := range []struct {
		name    string
		weights []float64
		lists   [][]Item
		want    map[string]float64
	}{
		{"equal", nil, [][]Item{words, vectors}, map[string]float64{"a": 0.5, "b": 0.75, "c": 0, "d": 0}},
		{"weights", []float64{3, 1}, [][]Item{words, vectors}, map[string]float64{"a": 0.75, "b": 0.625, "c": 0, "d": 0}},
		{"one list", nil, [][]Item{vectors}, map[string]float64{"b": 1, "d": 0}},
		{"a single item", nil, [][]Item{{{ID: "x", Score: 0.3}}}, map[string]float64{"x": 1}},
		{"twice in a list", nil, [][]Item{{{ID: "x", Score: 0.3}, {ID: "x", Score: 0.3}}}, map[string]float64{"x": 1}},
		{"no weight", []float64{0}, [][]Item{vectors}, map[string]float64{"b": 0, "d": 0}},
		{"nothing found", nil, [][]Item{nil, vectors}, map[string]float64{"b": 0.5, "d": 0}},
	} {
		if got := scores(tt.weights, tt.lists...); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if _, err := Fuse(nil, FuseOptions{Fusion: "sum"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("unknown fusion: %v", err)
	}
}

func TestFuseRoundRobin(t *testing.T) {
	fused, err := Fuse([][]Item{docs("a", "b"), docs("c", "a", "d")}, FuseOptions{Fusion: FusionRoundRobin})
	if got := ids(fused); err != nil || !slices.Equal(got, []string{"a", "c", "b", "d"}) || fused[0].Score != 1 || fused[3].Score != 0.25 {
		t.Errorf("%+v, %v", fused, err)
	}
}

func TestEnricherTemplates(t *testing.T) {
	item := []Item{{Content: "{query} {x}"}}
	for template, want := range map[string]string{
		"{{{query}}} {context}": "{q} {query} {x}",
		"{context}{query}":      "{query} {x}q",
		"none":                  "none",
	} {
		if got, err := (TemplateEnricher{Template: template}).Enrich(t.Context(), "q", item); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", template, got, err, want)
		}
	}
	for _, template := range []string{"{", "}", "{query", "{ query }", "{Query}", "{}", "a } b"} {
		if _, err := (TemplateEnricher{Template: template}).Enrich(t.Context(), "q", item); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", template, err)
		}
	}
}

func TestEnricherNeedsMemories(t *testing.T) {
	r := mustBuild(t, Config{SystemPrompts: []SystemPrompt{{Content: "S"}}, Enricher: broken{}})
	if r.Diagnostics.QueryEnriched || r.Diagnostics.MemoryItems != nil {
		t.Errorf("diagnostics %+v", r.Diagnostics)
	}
	r = mustBuild(t, Config{Memory: memories{}, Enricher: broken{}})
	if r.Diagnostics.QueryEnriched || *r.Diagnostics.MemoryItems != 0 {
		t.Errorf("diagnostics %+v", r.Diagnostics)
	}
}
