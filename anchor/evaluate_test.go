package anchor

import (
	"errors"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	app := load(t, "counting: {tokenizer: words}\nsteps: [{name: best, use: top_k, top_k: 2}]\n")
	collection := func() EvaluateOptions {
		return EvaluateOptions{
			Corpus:  strings.NewReader(`{"_id": "0", "text": "a"}` + "\n" + `{"_id": "1", "text": "b"}` + "\n" + `{"_id": "2", "text": "c"}` + "\n"),
			Queries: strings.NewReader(`{"_id": "q", "text": "what"}` + "\n"),
			Qrels:   strings.NewReader("q\t1\t1\nq\t2\t1\n"),
			Metrics: []string{"recall"}, Depths: []int{10}, Build: BuildOptions{Items: items("a", "b", "c")},
		}
	}
	report, err := app.Evaluate(t.Context(), collection())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var recall []float64
	for _, s := range report.Stages {
		got = append(got, s.Name)
		recall = append(recall, s.Metrics["recall@10"])
	}
	if strings.Join(got, " ") != "items best window" || recall[0] != 1 || recall[1] != 0.5 || recall[2] != 0.5 {
		t.Errorf("stages %v, recall %v", got, recall)
	}
	without := collection()
	without.Corpus = nil
	if _, err := app.Evaluate(t.Context(), without); !errors.Is(err, ErrInvalid) {
		t.Errorf("no corpus: %v", err)
	}
	unknown := collection()
	unknown.Metrics = []string{"no"}
	if _, err := app.Evaluate(t.Context(), unknown); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown metric: %v", err)
	}
	for _, o := range []EvaluateOptions{{Limit: -1}, {Concurrency: -1}} {
		wrong := collection()
		wrong.Limit, wrong.Concurrency = o.Limit, o.Concurrency
		if _, err := app.Evaluate(t.Context(), wrong); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "want 0 or more") {
			t.Errorf("limit %d, concurrency %d: %v", o.Limit, o.Concurrency, err)
		}
	}
	// The waterfall has the nDCG that was asked for, not one at a depth that was not.
	few := collection()
	few.Depths = []int{2, 3}
	if report, err := app.Evaluate(t.Context(), few); err != nil || report.Waterfall[1] != "ndcg@3" {
		t.Errorf("waterfall %v, %v", report, err)
	}
	// Errors of the package do not name flags of the command.
	unmapped := collection()
	unmapped.Corpus = strings.NewReader(`{"_id": "x", "text": "a"}` + "\n")
	unmapped.Qrels, unmapped.AllowMissing = strings.NewReader("q\tx\t1\n"), true
	if _, err := app.Evaluate(t.Context(), unmapped); err == nil || strings.Contains(err.Error(), "--") {
		t.Errorf("no document is known: %v", err)
	}
	missing := collection()
	missing.Qrels = strings.NewReader("q\tx\t1\n")
	if _, err := app.Evaluate(t.Context(), missing); err == nil || strings.Contains(err.Error(), "--") {
		t.Errorf("a judgement of nothing: %v", err)
	}
}

// Two configurations are compared on the same queries, each with the whole corpus, and the
// report is written as a page.
func TestEvaluateAnother(t *testing.T) {
	first := load(t, "counting: {tokenizer: words}\nsteps: [{name: best, use: top_k, top_k: 1}]\n")
	second := load(t, "counting: {tokenizer: words}\nsteps: [{name: more, use: top_k, top_k: 2}]\n")
	seen := map[string]int{}
	o := EvaluateOptions{
		Corpus:  strings.NewReader(`{"_id": "0", "text": "a"}` + "\n" + `{"_id": "1", "text": "b"}` + "\n"),
		Queries: strings.NewReader(`{"_id": "q", "text": "what"}` + "\n" + `{"_id": "r", "text": "which"}` + "\n"),
		Qrels:   strings.NewReader("q\t1\t1\nr\t0\t1\n"), CorpusItems: true, Other: second,
		Progress: func(config string, done, total int) { seen[config]++ },
	}
	report, err := first.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if c := report.Compare; c == nil || report.Stages[1].Metrics["recall"] != 0.5 || c.Report.Stages[1].Metrics["recall"] != 1 {
		t.Errorf("%+v", report)
	}
	if len(seen) != 2 || seen[report.Config] != 2 || seen[report.Compare.Report.Config] != 2 {
		t.Errorf("progress %v", seen)
	}
	var page strings.Builder
	if err := WriteReport(&page, report, 3); err != nil || !strings.HasPrefix(page.String(), "<!DOCTYPE html>") {
		t.Errorf("page %.40q, %v", page.String(), err)
	}
	o.Build.Items = items("a")
	if _, err := first.Evaluate(t.Context(), o); !errors.Is(err, ErrInvalid) {
		t.Errorf("corpus items and items: %v", err)
	}
}

type namedText struct{ *strings.Reader }

func (namedText) Name() string { return "docs.jsonl" }

// Errors of a collection name its file.
func TestEvaluateNamesItsFiles(t *testing.T) {
	app := load(t, basic)
	_, err := app.Evaluate(t.Context(), EvaluateOptions{
		Corpus: namedText{strings.NewReader("{")}, Queries: strings.NewReader(""), Qrels: strings.NewReader(""),
	})
	if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "docs.jsonl:1: ") {
		t.Errorf("%v", err)
	}
}
