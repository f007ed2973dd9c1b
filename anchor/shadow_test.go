package anchor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// A question of questions.jsonl beside the configuration is judged once, if it is asked for the configuration's own tenant. A file that
// cannot be read stops nothing.
func TestShadowJudgesQuestions(t *testing.T) {
	wasm, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	for lines, judged := range map[string]int64{"{\"question\": \"q\", \"documents\": [\"2\"]}\n{\"question\": \"r\", \"documents\": [\"2\"]}\n": 2, "no JSON": 0} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		app, err := Load(write(t, dir, "tenant: ours\ncounting: {tokenizer: words}\nsteps: [{name: s, use: keep-first, operation: filter, shadow: {use: no-change, share: 100}}]\n"),
			Options{Store: store.NewMemory(), PluginDir: wasm, CacheDir: "off"})
		if err != nil {
			t.Fatal(err)
		}
		for n, call := range []struct{ tenant, text string }{{"theirs", "r"}, {"ours", " q\n"}, {"", "q"}, {"theirs", "q"}, {"ours", "other"}} {
			if _, err := app.Build(t.Context(), pipeline.Query{Text: call.text}, BuildOptions{Tenant: call.tenant, Items: []pipeline.Item{
				{ID: "1", Content: "one", Source: pipeline.SourceRetrieval, Priority: 5}, {ID: "2", Content: "two", Source: pipeline.SourceRetrieval, Priority: 5},
			}}); err != nil {
				t.Fatal(err)
			}
			if !await.True(func() bool { return app.Shadows()[0].Calls == int64(n+1) }) {
				t.Fatalf("%+v", app.Shadows())
			}
			q := app.Shadows()[0].Quality
			if want := min(judged, int64(min(n, 1))); q == nil || q.Judged != judged || q.Questions != want || judged == 0 && !strings.Contains(q.Problem, "questions.jsonl:1") ||
				want == 1 && (q.First != 0 || q.Second < 0.63 || q.Second > 0.64 || q.Difference.Mean != q.Second || q.Difference.High != 1) {
				t.Errorf("%q after %d calls: %+v", lines, n+1, q)
			}
		}
		if err := app.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The second version of a step changes no window, whatever it does: here it traps. What it does is
// reported, and a step that calls no plugin has none.
func TestShadow(t *testing.T) {
	wasm, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	open := func(text string) (*App, error) {
		return Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"+text), Options{Store: store.NewMemory(), PluginDir: wasm, CacheDir: "off"})
	}
	for second, failures := range map[string]float64{"trap": 1, "no-change": 0} {
		app, err := open(fmt.Sprintf("steps: [{name: s, use: keep-first, operation: filter, shadow: {use: %s, share: 100}}]\n", second))
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(3) {
			r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Items: []pipeline.Item{
				{ID: "1", Content: "one", Source: pipeline.SourceUser, Priority: 5}, {ID: "2", Content: "two", Source: pipeline.SourceUser, Priority: 5},
			}})
			if err != nil || contents(r) != "one" || len(r.Diagnostics.SkippedSteps) != 0 {
				t.Errorf("%s: %v, %v", second, r, err)
			}
			if !await.True(func() bool { list := app.Shadows(); return len(list) == 1 && list[0].Calls == n+1 }) {
				t.Fatalf("%s: %+v", second, app.Shadows())
			}
		}
		if r := app.Shadows()[0]; r.Step != "s" || r.Use != second || r.Failures.Mean != failures || failures == 0 && (r.Overlap.Mean != 0.5 || r.First.Fuel == 0 || r.Second.Fuel == 0) {
			t.Errorf("%+v", r)
		}
		if err := app.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := open("steps: [{name: s, classifier: {keywords: {a: [b]}}, routes: {a: keep-first}, default: a, shadow: {use: trap}}]\n"); err == nil || !strings.Contains(err.Error(), "shadow") {
		t.Errorf("a step without a plugin: %v", err)
	}
	if app, err := open("steps: [{name: s, use: keep-first, operation: filter, shadow: {use: no-such-plugin}}]\n"); err != nil {
		t.Errorf("a second version that is not there: %v", err)
	} else if err := app.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
