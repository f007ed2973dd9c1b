package shadow

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// judging returns how the questions of a file are judged, as configurations do.
func judging(t *testing.T, text string) Judge {
	t.Helper()
	l, err := config.Parse("anchor.yaml", []byte("window: {max_tokens: 100}\nsteps: [{name: s, use: finder}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	l.Dir = t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(l.Dir, questionsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return JudgeOf(l, &l.Config)
}

// found are items that a plugin finds: the first is the best.
func found(ids string) (list []pipeline.Item) {
	for i, id := range strings.Fields(ids) {
		list = append(list, pipeline.Item{ID: "finder:" + id, Content: id, Source: pipeline.SourceRetrieval, Priority: 5, Score: 1 / float64(i+1)})
	}
	return list
}

// judged is a step whose versions find what by says, by the text of the query.
type judged struct {
	*Set
	t    *testing.T
	step pipeline.Step
	n    int64
}

// finding is a plugin that finds items by the text of the query.
type finding func(query string) []pipeline.Item

func (finding) Isolated() {}

func (f finding) Append(_ context.Context, q *pipeline.Query, _ []pipeline.Item) ([]pipeline.Item, error) {
	return f(q.Text), nil
}

func (f finding) Run(_ context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return append(items, f(q.Text)...), nil
}

func judge(t *testing.T, by Judge, first, second finding) *judged {
	t.Helper()
	j := &judged{Set: &Set{}, t: t}
	var err error
	j.step, err = j.Wrap(first, second, &config.Step{Name: "s", Shadow: &config.Shadow{Use: "second", Share: 100}}, by, func() func() { return func() {} })
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// ask asks for a tenant, and waits until the second version has answered.
func (j *judged) ask(tenant, text string) {
	j.t.Helper()
	if _, err := j.step.Run(host.WithTenant(j.t.Context(), tenant), &pipeline.Query{Text: text}, nil); err != nil {
		j.t.Fatal(err)
	}
	j.n++
	if !await.True(func() bool { return j.Reports()[0].Calls == j.n }) {
		j.t.Fatalf("%+v", j.Reports()[0])
	}
}

func always(ids string) finding { return func(string) []pipeline.Item { return found(ids) } }

// Judged questions say which version finds more. A better second version is told from an equal one, and the report says that a
// file cannot be read.
func TestQuality(t *testing.T) {
	var file strings.Builder
	for i := range 60 {
		fmt.Fprintf(&file, "{\"question\": \" question %d\\n\", \"documents\": [\"right\"]}\n", i)
	}
	for _, c := range []struct {
		second      string
		first, then float64
		low, high   func(float64) bool
	}{
		{"right wrong", 1 / math.Log2(3), 1, func(x float64) bool { return x > 0 }, func(x float64) bool { return x <= 1 }},
		{"other", 1 / math.Log2(3), 0, func(x float64) bool { return x >= -1 }, func(x float64) bool { return x < 0 }},
		{"wrong right", 1 / math.Log2(3), 1 / math.Log2(3), func(x float64) bool { return x < 0 }, func(x float64) bool { return x > 0 }},
	} {
		j := judge(t, judging(t, file.String()), always("wrong right"), always(c.second))
		for i := range 60 {
			j.ask("", fmt.Sprintf("question %d ", i))
			j.ask("", fmt.Sprintf("no question %d ", i))
		}
		q := j.Reports()[0].Quality
		if q == nil || q.Questions != 60 || q.Judged != 60 || math.Abs(q.First-c.first) > 1e-9 || math.Abs(q.Second-c.then) > 1e-9 || math.Abs(q.Difference.Mean-(c.then-c.first)) > 1e-9 ||
			!c.low(q.Difference.Low) || !c.high(q.Difference.High) || q.Problem != "" {
			t.Errorf("%s: %+v", c.second, q)
		}
	}
	j := judge(t, judging(t, ""), always("a"), always("b"))
	if j.ask("", "question 1"); j.Reports()[0].Quality != nil {
		t.Errorf("without questions: %+v", j.Reports()[0].Quality)
	}
}

// A second version that is no instance finds the same documents under its own name.
func TestQualityOfAnotherName(t *testing.T) {
	l, err := config.Parse("anchor.yaml", []byte("steps: [{name: s, use: finder, shadow: {use: finder-2}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	by := JudgeOf(l, &l.Config)
	list := found("a")
	list[0].ID = "finder-2:a"
	if got := by.ndcg(by.found(list), &question{grades: eval.Grades{"a": 1}}); got != 1 {
		t.Errorf("nDCG %v, want 1", got)
	}
}

// Both versions fill the same window: the best items first, whatever a version says of their tokens, and each document once.
func TestQualityAtEqualBudgets(t *testing.T) {
	by := judging(t, `{"question": "q", "documents": ["a", "b"]}`)
	list := found("a a b")
	q := &question{grades: eval.Grades{"a": 1, "b": 1}}
	if got := by.ndcg(by.found(list), q); got != 1 {
		t.Errorf("all: %v", got)
	}
	list[0].Content = strings.Repeat("x", 4*by.Tokens)
	if list[0].TokenCount = 1; by.ndcg(by.found(list), q) >= 1 {
		t.Error("a long item leaves room for others")
	}
	list[2].Score, list[2].Content = 3, "bbbb" // now the best: the long item has no room, the second of its document has
	if got := by.ndcg(by.found(list), q); got != 1 {
		t.Errorf("with a long item that does not fit: %v", got)
	}
	list[2].Source = pipeline.SourceUser
	if by.ndcg(by.found(list), q) >= 1 {
		t.Error("an item of the request is found")
	}
	for i, score := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		list[i].Score, list[i].TokenCount = score, math.MinInt
	}
	if got := by.ndcg(by.found(list), q); !(got >= 0 && got <= 1) {
		t.Errorf("with scores that are no numbers: %v", got)
	}
}

// Who asks one question again and again gives it no more weight, and the calls of another tenant are not judged.
func TestOthersDoNotInfluenceQuality(t *testing.T) {
	j := judge(t, judging(t, "{\"question\": \"q\", \"documents\": [\"a\"]}\n{\"question\": \"r\", \"documents\": [\"a\"]}\n"), always("b a"), always("a b"))
	for _, tenant := range []string{"other", "Default", "default\x00", "none"} {
		j.ask(tenant, "q")
	}
	if q := j.Reports()[0].Quality; q.Questions != 0 || q.Difference.Low != -1 || q.Difference.High != 1 {
		t.Errorf("of other tenants: %+v", q)
	}
	for range 50 {
		j.ask("", "q")
	}
	if q := j.Reports()[0].Quality; q.Questions != 1 || q.Difference.Low > 0 {
		t.Errorf("of one question: %+v", q)
	}
	if j.ask("other", "r"); j.Reports()[0].Quality.Questions != 1 {
		t.Errorf("%+v", j.Reports()[0].Quality)
	}
}

// A file of questions that is hostile stops no step and takes little memory: the report says what is wrong.
func TestHostileQuestions(t *testing.T) {
	line := `{"question": "q", "documents": ["a"]}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"huge":          {strings.Repeat(line, maxFile/len(line)+1), "larger than 2 MiB"},
		"documents":     {`{"question": "q", "documents": [` + strings.Repeat(`"",`, maxJudged) + `""]}`, "more than 20000 documents"},
		"nan":           {`{"question": "q", "documents": ["a"], "grade": NaN}`, "questions.jsonl:1"},
		"grades":        {`{"question": "q", "documents": {"a": 1e999}}`, "questions.jsonl:1"},
		"deep":          {line + strings.Repeat(`{"question":`, 100_000), "questions.jsonl:2"},
		"no text":       {`{"question": " ", "documents": ["a"]}`, "missing or empty"},
		"no UTF-8":      {"{\"question\": \"\xff\", \"documents\": [\"a\"]}", "UTF-8"},
		"no lines":      {"\n\n", "no questions"},
		"other content": {`[1, 2]`, "want {"},
	} {
		j := judge(t, judging(t, c.text), always("a"), always("b"))
		j.ask("", "q")
		q := j.Reports()[0].Quality
		if q == nil || !strings.Contains(q.Problem, c.want) || len(q.Problem) > maxError || q.Judged != 0 || q.Questions != 0 {
			t.Errorf("%s: %+v, want %q", name, q, c.want)
		}
	}
	by := judging(t, "")
	if err := os.Mkdir(by.File, 0o700); err != nil {
		t.Fatal(err)
	}
	if q := readQuestions(by.File); !strings.Contains(q.problem, "is no file") {
		t.Errorf("a folder: %+v", q)
	}
	// The same question is one, which the documents of all its lines answer.
	by = judging(t, strings.Repeat(line, 1000)+`{"question": "\t q ", "documents": ["b", "a"]}`)
	j := judge(t, by, always("a b"), always("x"))
	j.ask("", "q")
	if q := j.Reports()[0].Quality; q.Judged != 1 || q.First != 1 || q.Second != 0 {
		t.Errorf("a question on many lines: %+v", q)
	}
	// As many as there may be are kept in a few MiB.
	var file strings.Builder
	for i := range maxJudged {
		fmt.Fprintf(&file, "{\"question\": \"question number %d\", \"documents\": [\"document-%d\"]}\n", i, i)
	}
	by = judging(t, file.String())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	q := readQuestions(by.File)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); len(q.list) != maxJudged || kept > 16<<20 {
		t.Errorf("%d questions take %d bytes, %s", len(q.list), kept, q.problem)
	} else {
		t.Logf("%d questions take %d KiB", len(q.list), kept>>10)
	}
}

// What a judged call costs the build, and the worker.
func BenchmarkJudged(b *testing.B) {
	by, q := Judge{Tokens: 1 << 30, Ranker: eval.Ranker{Metadata: eval.DefaultIDMetadata, ListOrder: true}}, &question{grades: eval.Grades{"7": 1}}
	var ids strings.Builder
	for i := range maxItems {
		fmt.Fprintf(&ids, "%d ", i)
	}
	list := found(ids.String())
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			by.found(list)
		}
	})
	b.Run("worker", func(b *testing.B) {
		for b.Loop() {
			by.ndcg(by.found(list), q)
		}
	})
	b.Run("beside: copies", func(b *testing.B) {
		for b.Loop() {
			core.CloneItems(list)
		}
	})
}
