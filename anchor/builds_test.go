package anchor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

const recorded = `
builds: {records: {keep: 1d}}
counting: {tokenizer: words}
window: {max_tokens: 20}
steps: [{name: best, use: sort, settings: {by: score, order: desc}}]
`

// Each build has a record, whatever it was asked with, and its result is as without records.
func TestBuildsAreRecorded(t *testing.T) {
	s := store.NewMemory()
	app, plain := loadWith(t, recorded, Options{Store: s}), loadWith(t, strings.Replace(recorded, "builds: {records: {keep: 1d}}", "", 1), Options{Store: store.NewMemory()})
	items := []pipeline.Item{{ID: "a", Content: "one two", Source: pipeline.SourceTool, Score: 0.5, Priority: 5}}
	for _, one := range []*App{app, plain} {
		r, err := one.Build(t.Context(), pipeline.Query{Text: "secret words"}, BuildOptions{Items: items, ID: "first"})
		if err != nil {
			t.Fatal(err)
		}
		if d := r.Diagnostics; d.Items != nil || d.Steps[0].StartMS != 0 {
			t.Errorf("what the record needs is in the result: %+v", d)
		}
		r, err = one.Build(t.Context(), pipeline.Query{Text: "secret words"}, BuildOptions{Items: items, Explain: true, Tenant: "other"})
		if err != nil || len(r.Diagnostics.Items.All()) != 1 {
			t.Errorf("%v, %+v", err, r.Diagnostics.Items)
		}
		if _, err := one.BuildRequest(t.Context(), "r", strings.NewReader(`{"query": "q", "items": [{"id": "secret", "content": "secret", "source": "user"}]}`), BuildOptions{ID: "second"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{ID: "third", Timeout: 1}); err == nil {
		t.Fatal("there was no time")
	}
	if err := app.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := app.Builds(t.Context(), "", builds.Filter{}, "", 10)
	var got []string
	for i := range page.Builds {
		got = append(got, page.Builds[i].ID+" "+string(page.Builds[i].Outcome))
	}
	if want := "third failed, second ok, first ok"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
	if b := page.Builds; b[1].Generation != b[2].Generation || b[1].Request == b[2].Request || !strings.HasPrefix(b[1].Generation, "sha256:") {
		t.Errorf("%+v", b)
	}
	r, err := app.BuildRecord(t.Context(), "", "first")
	if err != nil || strings.Contains(string(r.Detail.Result), "one two") || !strings.Contains(string(r.Detail.Result), `"start_ms"`) {
		t.Errorf("%v, %s", err, r.Detail.Result)
	}
	if other, err := app.Builds(t.Context(), "other", builds.Filter{}, "", 10); err != nil || len(other.Builds) != 1 {
		t.Errorf("%+v, %v", other, err)
	}
	if n, err := app.ForgetTenant(t.Context(), "other"); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{ID: "../x"}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := app.Builds(t.Context(), "", builds.Filter{}, "nonsense", 10); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if page, err := plain.Builds(t.Context(), "", builds.Filter{}, "", 10); err != nil || len(page.Builds) != 0 || plain.RecordStats() != (builds.Stats{}) {
		t.Errorf("%+v, %v", page, err)
	}
}

// Close writes what waits. Exports have the records, and imports take them.
func TestRecordsSurviveCloseAndExport(t *testing.T) {
	yaml := recorded + "store: {path: " + filepath.Join(t.TempDir(), "s.db") + "}\n"
	app := loadWith(t, yaml, Options{})
	for range 20 {
		if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	app = loadWith(t, yaml, Options{})
	var out strings.Builder
	if err := app.Export(t.Context(), "", &out, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := app.Import(t.Context(), "copy", strings.NewReader(out.String())); err != nil || n != 40 {
		t.Fatal(n, err)
	}
	if page, err := app.Builds(t.Context(), "copy", builds.Filter{}, "", 50); err != nil || len(page.Builds) != 20 {
		t.Errorf("%d, %v", len(page.Builds), err)
	}
	if n, err := app.RemoveBuilds(t.Context(), "copy"); err != nil || n != 20 {
		t.Error(n, err)
	}
}

func benchmarkBuild(b *testing.B, yaml string) {
	app := loadWith(b, yaml, Options{Store: store.NewMemory()})
	var items []pipeline.Item
	for range 50 {
		items = append(items, pipeline.Item{ID: "item", Content: strings.Repeat("some words ", 20), Source: pipeline.SourceTool, Score: 0.5, Priority: 5, TokenCount: 40})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := app.Build(b.Context(), pipeline.Query{Text: "q"}, BuildOptions{Items: items, MaxTokens: 1500}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildWithoutRecord(b *testing.B) {
	benchmarkBuild(b, strings.Replace(recorded, "builds: {records: {keep: 1d}}", "", 1))
}
func BenchmarkBuildWithRecord(b *testing.B) { benchmarkBuild(b, recorded) }

// loadWith loads a configuration with options.
func loadWith(t testing.TB, text string, o Options) *App {
	t.Helper()
	app, err := Load(write(t, t.TempDir(), text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	return app
}

// A search in memory finds what was built, and forgets what was deleted.
func TestFindBuilds(t *testing.T) {
	a := loadWith(t, "builds: {records: {content: true}}\ncounting: {tokenizer: words}\nwindow: {max_tokens: 20}\n", Options{Store: store.NewMemory()})
	for _, user := range []string{"ann", "bob"} {
		if _, err := a.Build(t.Context(), pipeline.Query{Text: "The question of " + user}, BuildOptions{ID: user, User: user}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.FlushRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := func(f builds.Filter) string {
		page, err := a.FindBuilds(t.Context(), "", f, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for i := range page.Builds {
			out += page.Builds[i].Query + ";"
		}
		return out
	}
	if got := found(builds.Filter{Text: "QUESTION"}) + found(builds.Filter{User: "ann"}); got != "The question of bob;The question of ann;The question of ann;" {
		t.Errorf("found %q", got)
	}
	if _, err := a.ForgetUser(t.Context(), "", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := found(builds.Filter{Text: "ann"}); got != "" {
		t.Errorf("a user who is forgotten: %q", got)
	}
	if _, err := a.FindBuilds(t.Context(), "", builds.Filter{}, "x", 10); !errors.Is(err, ErrInvalid) {
		t.Errorf("a cursor that no page has: %v", err)
	}
}
