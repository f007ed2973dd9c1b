package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// found makes items of one word each, in order, the first with the best score.
func found(ids ...string) []pipeline.Item {
	var items []pipeline.Item
	for i, id := range ids {
		items = append(items, pipeline.Item{
			ID: "docs:" + id, Content: id, Source: pipeline.SourceRetrieval,
			Score: 1 - float64(i)/100, Priority: 5, TokenCount: 10,
		})
	}
	return items
}

// newPipeline finds a to e for every query, drops b, fails in a step that may be
// skipped, and has room for two items.
func newPipeline(t *testing.T, steps ...pipeline.StepConfig) *pipeline.Pipeline {
	t.Helper()
	if steps == nil {
		steps = []pipeline.StepConfig{
			{Name: "find", Step: pipeline.StepFunc(func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
				return append(items, found("a", "b", "c", "d", "e")...), nil
			})},
			{Name: "drop", Step: pipeline.FilterFunc(func(it *pipeline.Item) bool { return it.ID != "docs:b" })},
			{Name: "lame", OnError: pipeline.Skip, Step: pipeline.StepFunc(func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
				return nil, errors.New("lame leg")
			})},
		}
	}
	p, err := pipeline.New(pipeline.Config{
		MaxTokens: 25, Tokenizer: pipeline.WordTokenizer(), Steps: steps, Callbacks: []pipeline.Callback{Callback()},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newSet(t *testing.T, grades ...Grades) *Set {
	t.Helper()
	corpus := &Corpus{lines: map[string]int{}}
	for _, id := range strings.Split("abcdexyz", "") {
		corpus.lines[id] = 1
	}
	qrels := &Qrels{Name: "q"}
	var queries []Query
	for i, g := range grades {
		id := fmt.Sprint(i + 1)
		queries = append(queries, Query{id, "query " + id})
		for doc, grade := range g {
			qrels.List = append(qrels.List, Judgement{id, doc, grade, 1})
		}
	}
	s, err := Select(corpus, queries, qrels, SelectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func evaluate(t *testing.T, p *pipeline.Pipeline, s *Set) *Run {
	t.Helper()
	var last atomic.Int64
	r, err := Evaluate(t.Context(), p, s, Options{
		Ranker:   Ranker{Metadata: "doc_id", Prefixes: []string{"docs"}},
		Progress: func(done, total int) { last.Store(int64(100*total + done)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Queries); last.Load() != int64(100*n+n) {
		t.Errorf("progress ended at %d", last.Load())
	}
	return r
}

// a stays, b is dropped by a step, c stays, d does not fit, x is never found.
func TestWaterfall(t *testing.T) {
	report := NewReport(evaluate(t, newPipeline(t), newSet(t, Grades{"a": 1, "b": 1, "d": 2, "x": 1}, Grades{"c": 1})), "test.yaml")
	var names []string
	var recalls, items []float64
	for _, s := range report.Stages {
		names = append(names, s.Name+" "+s.Kind)
		recalls = append(recalls, s.Metrics["recall"])
		items = append(items, s.Items)
	}
	if want := []string{"find step", "drop step", "lame step", "window window"}; !reflect.DeepEqual(names, want) {
		t.Errorf("stages %v", names)
	}
	if want := []float64{(3.0/4 + 1) / 2, (2.0/4 + 1) / 2, (2.0/4 + 1) / 2, (1.0/4 + 1) / 2}; !reflect.DeepEqual(recalls, want) {
		t.Errorf("recall %v, want %v", recalls, want)
	}
	if want := []float64{5, 4, 4, 2}; !reflect.DeepEqual(items, want) {
		t.Errorf("items %v, want %v", items, want)
	}
	if got := report.Stages[3].Changes["recall"]; got != -0.125 {
		t.Errorf("the budget cut changed recall by %v", got)
	}
	if got, want := report.Stages[0].Metrics["mrr"], (1+1.0/3)/2; !near(got, want) {
		t.Errorf("mrr %v, want %v", got, want)
	}
	wantFates := []FateCount{
		{InWindow, "", "", 2, 0.4}, {NeverFound, "", "", 1, 0.2},
		{Dropped, "drop", "", 1, 0.2}, {Cut, "", "window_full", 1, 0.2},
	}
	if !reflect.DeepEqual(report.Fates, wantFates) {
		t.Errorf("fates %+v", report.Fates)
	}
	wantRelevant := []Relevant{
		{Document: "d", Grade: 2, Fate: Cut, Reason: "window_full", Tokens: 10, Available: 5, Ranks: []int{4, 3, 3, 0}},
		{Document: "a", Grade: 1, Fate: InWindow, Ranks: []int{1, 1, 1, 1}},
		{Document: "b", Grade: 1, Fate: Dropped, Step: "drop", Ranks: []int{2, 0, 0, 0}},
		{Document: "x", Grade: 1, Fate: NeverFound, Ranks: []int{0, 0, 0, 0}},
	}
	if got := report.Queries[0].Relevant; !reflect.DeepEqual(got, wantRelevant) {
		t.Errorf("relevant %+v", got)
	}
	if want := []string{`step "lame" was skipped for 2 of 2 queries: step "lame": lame leg`}; !reflect.DeepEqual(report.Warnings, want) {
		t.Errorf("warnings %q, want %q", report.Warnings, want)
	}
	if worst := report.Worst(5); len(worst) != 2 || worst[0].ID != "1" || len(report.Worst(1)) != 1 {
		t.Errorf("worst %+v", worst)
	}
}

func TestEvaluateErrors(t *testing.T) {
	broken := errors.New("broken")
	step := func(f func(q *pipeline.Query) ([]pipeline.Item, error)) pipeline.StepConfig {
		return pipeline.StepConfig{Name: "s", Step: pipeline.StepFunc(func(_ context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
			return f(q)
		})}
	}
	set := newSet(t, Grades{"a": 1}, Grades{"b": 1})
	for _, c := range []struct {
		name string
		step pipeline.StepConfig
		is   error
		want string
	}{
		{"a build fails", step(func(q *pipeline.Query) ([]pipeline.Item, error) {
			if q.Text == "query 2" {
				return nil, broken
			}
			return found("a"), nil
		}), broken, `query "2": step "s": broken`},
		{"ids of another corpus", step(func(*pipeline.Query) ([]pipeline.Item, error) { return found("none"), nil }), ErrMapping,
			`no retrieved item names a document of the corpus, for instance "docs:none" (say where the id is, by id metadata or id cut, and see that the configuration indexes this corpus)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Evaluate(t.Context(), newPipeline(t, c.step), set, Options{})
			if !errors.Is(err, c.is) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	t.Run("nothing was observed", func(t *testing.T) {
		p, err := pipeline.New(pipeline.Config{Tokenizer: pipeline.WordTokenizer()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Evaluate(t.Context(), p, set, Options{}); !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPipeline(t, step(func(*pipeline.Query) ([]pipeline.Item, error) { cancel(); return found("a"), nil }))
		if _, err := Evaluate(ctx, p, set, Options{Concurrency: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// What the callback sees outside an evaluation is none of its business.
func TestCallbackLeavesOtherBuildsAlone(t *testing.T) {
	result, err := newPipeline(t).Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil || len(result.Window.Items) != 2 {
		t.Errorf("got %v, %v", result, err)
	}
}

func TestWarnings(t *testing.T) {
	nothing := pipeline.StepConfig{Name: "none", Step: pipeline.StepFunc(func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
		return items, nil
	})}
	set := newSet(t, Grades{"a": 1})
	if got := NewReport(evaluate(t, newPipeline(t, nothing), set), "c").Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "no item of source retrieval was seen") {
		t.Errorf("warnings %q", got)
	}
	more := pipeline.StepConfig{Name: "more", Step: pipeline.StepFunc(func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
		return found("a", "other"), nil
	})}
	set.MissingDocuments = 3
	got := NewReport(evaluate(t, newPipeline(t, more), set), "c").Warnings
	want := []string{
		`1 retrieved documents are not in the corpus, for instance "other" (does the configuration index more than the corpus?)`,
		"3 judgements name documents or queries that do not exist",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("warnings %q", got)
	}
}
