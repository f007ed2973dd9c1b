package pipeline

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/tokens"
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
		"transform query: boom":         QueryTransformStep(failingQuery{}, listRetriever{}, 0),
		"retrieve variant 1 of 2: boom": QueryTransformStep(variants{"a", "b"}, bad, 0),
		"classify query: boom":          ClassifiedStep(failingQuery{}, nil, "", 0),
		"boom":                          RetrieverStep(bad, 0),
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
	if err != nil || twice[0].Metadata["rrf_raw_score"] != 1.0/61+1.0/63 {
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
	h := Hybrid{Retrievers: []Retriever{bad, listRetriever{"a", "b"}, broken{}}, Logger: textLogger(&log)}
	out, err := h.Retrieve(t.Context(), &Query{}, 10)
	if got := ids(out); err != nil || !slices.Equal(got, []string{"a", "b"}) || bytes.Count(log.Bytes(), []byte("retriever left out")) != 2 {
		t.Errorf("%v, %v, log %s", got, err, log.String())
	}
	h.Retrievers = []Retriever{bad, broken{}}
	if _, err := h.Retrieve(t.Context(), &Query{}, 10); !errors.Is(err, errBoom) || !errors.Is(err, ErrPanic) {
		t.Errorf("all fail: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Retrieve(ctx, &Query{}, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
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
