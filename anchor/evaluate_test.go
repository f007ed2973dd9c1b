package anchor

import (
	"errors"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	app := load(t, "tokenizer: words\nsteps: [{name: best, builtin: top_k, top_k: 2}]\n")
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
