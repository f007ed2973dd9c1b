package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
)

// mustSite is a service in whose steps a plugin may be skipped, or must answer.
const mustSite = "plugins: {dir: %q%s}\ncounting: {tokenizer: words}\nsteps: [{name: s, use: %s%s}]\n"

// Without a plugin that must answer no service starts, no reload succeeds, and no window is given.
func TestMust(t *testing.T) {
	t.Parallel()
	dir := plugins(t, "keep-first", "trap")
	for _, c := range []struct{ all, plugin, must string }{
		{"", "none", ", must: true"}, {", must: all", "none", ""}, {", must: all", "none", ", priority: 3"},
	} {
		text := fmt.Sprintf(mustSite, dir, c.all, c.plugin, c.must)
		path := filepath.Join(t.TempDir(), "anchor.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := anchor.Load(path, anchor.Options{CacheDir: "off"}); err == nil || !strings.Contains(err.Error(), `step "s": plugin "none": not_found`) {
			t.Errorf("%s: a start: %v", text, err)
		}
		l := start(t, fmt.Sprintf(mustSite, dir, "", "keep-first", ""), Options{Unwatched: true})
		l.write(text)
		if got := l.control("POST", "/admin/v1/reload", ""); got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "generation 1 serves on") {
			t.Errorf("%s: a reload: %d %s", text, got.status, got.body)
		}
	}
	for _, c := range []struct {
		all, must string
		status    int
	}{{"", "", 200}, {"", ", must: true", 500}, {", must: all", "", 500}, {", must: all", ", must: false", 200}} {
		l := start(t, fmt.Sprintf(mustSite, dir, c.all, "trap", c.must), Options{})
		if got := l.api("POST", "/v1/builds", `{"query": "q", "items": [{"content": "a", "source": "retrieval"}]}`); got.status != c.status {
			t.Errorf("%q, %q: %d %s, want %d", c.all, c.must, got.status, got.body, c.status)
		}
		want := 200
		if c.status == 500 {
			want = http.StatusUnprocessableEntity
		}
		for _, without := range []string{"skip=s", "only=items"} { // no client decides what must answer
			if got := l.api("POST", "/v1/builds?"+without, `{"query": "q", "items": [{"content": "a", "source": "retrieval"}]}`); got.status != want {
				t.Errorf("%q, %q, %s: %d %s, want %d", c.all, c.must, without, got.status, got.body, want)
			}
		}
	}
}

// Steps of a request run beside those that must answer. They do not replace one, and add nothing after it
// has run.
func TestStepsOfARequestKeepWhatMustRun(t *testing.T) {
	t.Parallel()
	const items = `"items": [{"content": "a", "source": "retrieval", "score": 0.9}, {"content": "b", "source": "retrieval", "score": 0.1}]`
	const named = "pipelines: {p: {steps: [{name: safe, use: top_k, top_k: 1, must: true, priority: 60}]}}\n"
	dir := plugins(t, "keep-first", "add-two")
	for _, c := range []struct {
		all, must, steps string
		status, left     int
		says             string
	}{
		{"", "", `[]`, 200, 2, ""},
		{"", ", must: true", `[]`, 200, 1, ""},
		{", must: all", "", `[]`, 200, 1, ""},
		{", must: all", ", must: false", `[]`, 200, 2, ""},
		{"", ", must: true", `[{"name": "mine", "use": "min_score", "settings": {"min_score": 0.5}, "priority": 10}]`, 200, 1, ""},
		{"", ", must: true", `[{"name": "mine", "use": "keep-first", "priority": 10}]`, 200, 1, ""},
		{"", ", must: true", `[{"name": "mine", "use": "add-two", "priority": 8}]`, 200, 1, ""},
		{"", ", must: true", `[{"name": "late", "use": "add-two", "priority": 9}]`, 422, 0, `steps[0]: step \"late\" may add items after step \"s\"`},
		{"", ", must: true", `[{"name": "late", "use": "none", "priority": 9}]`, 422, 0, `(give it a priority of at most 8)`},
		{"", "", `[{"name": "late", "use": "keep-first", "priority": 9}]`, 200, 1, ""},
		{"", ", must: true", `[{"name": "s", "use": "keep-first", "priority": 8, "must": false}]`, 200, 1, ""},
		{"", ", must: true", `[{"name": "s", "use": "keep-first", "priority": 7}]`, 422, 0, `so no request may replace it`},
		{"", ", must: true", `[{"name": "s", "use": "top_k", "top_k": 9}]`, 422, 0, `steps[0]: step \"s\" must answer, so no request may replace it (leave it out`},
	} {
		l := start(t, fmt.Sprintf(mustSite, dir, c.all, "keep-first", ", priority: 8"+c.must)+named, Options{Unwatched: true})
		got := l.api("POST", "/v1/builds", `{"query": "q", `+items+`, "steps": `+c.steps+`}`)
		var doc struct{ Window struct{ Items []any } }
		got.into(t, &doc)
		if got.status != c.status || len(doc.Window.Items) != c.left || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%q, %q, %s: %d %s", c.all, c.must, c.steps, got.status, got.body)
		}
		for _, without := range []string{"skip=safe", "only=items"} {
			if got := l.api("POST", "/v1/builds?"+without, `{"query": "q", "pipeline": "p", "steps": [], `+items+`}`); got.status != 422 {
				t.Errorf("a named pipeline, %s: %d %s", without, got.status, got.body)
			}
		}
		if got := l.api("POST", "/v1/builds", `{"query": "q", "pipeline": "p", "steps": [], `+items+`}`); got.status != 200 || strings.Contains(string(got.body), `"content":"b"`) {
			t.Errorf("a named pipeline: %d %s", got.status, got.body)
		}
	}
}

// A module that is damaged or gone when the configuration is loaded again leaves the one before in its
// place, and everybody is told. A plugin that must answer refuses the reload.
func TestReloadKeepsThePluginBefore(t *testing.T) {
	t.Parallel()
	dir := plugins(t, "keep-first")
	for _, cache := range []string{"off", t.TempDir()} {
		for range 2 { // with a cache, the second service does not read the module to know it
			testKeeping(t, dir, cache)
		}
	}
}

func testKeeping(t *testing.T, dir, cache string) {
	t.Helper()
	l := startWith(t, fmt.Sprintf(mustSite, dir, "", "keep-first", ", must: false"), anchor.Options{CacheDir: cache}, Options{Unwatched: true})
	module := filepath.Join(dir, "keep-first", "plugin.wasm")
	whole, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	build := func() int {
		got := l.api("POST", "/v1/builds", `{"query": "q", "items": [{"content": "a", "source": "retrieval"}, {"content": "b", "source": "retrieval"}]}`)
		var doc struct{ Window struct{ Items []any } }
		got.into(t, &doc)
		return len(doc.Window.Items)
	}
	if n := build(); n != 1 {
		t.Fatalf("%d items, want 1", n)
	}
	reload := func(kept int) {
		t.Helper()
		var doc reloaded
		got := l.control("POST", "/admin/v1/reload", "")
		got.into(t, &doc)
		var ready health
		l.control("GET", "/readyz?verbose", "").into(t, &ready)
		if got.status != 200 || len(doc.Kept) != kept || len(doc.NotReady) != 0 || ready.Status != "ready" || len(ready.Kept) != kept || build() != 1 {
			t.Errorf("%s; ready: %+v", got.body, ready)
		}
	}
	for _, damaged := range [][]byte{whole[:len(whole)/2], {}} {
		if err := os.WriteFile(module, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		reload(1)
	}
	if err := os.Remove(module); err != nil {
		t.Fatal(err)
	}
	reload(1)
	if !strings.Contains(l.log.String(), `level=WARN msg="plugin stays as it was before the reload" plugin=keep-first`) {
		t.Errorf("log: %s", l.log.String())
	}
	l.write(fmt.Sprintf(mustSite, dir, "", "keep-first", ", must: true"))
	if got := l.control("POST", "/admin/v1/reload", ""); got.status != http.StatusUnprocessableEntity || build() != 1 {
		t.Errorf("a plugin that must answer: %d %s", got.status, got.body)
	}
	if err := os.WriteFile(module, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	reload(0)
}

// A window never lacks its instructions: such a request is refused, with the tokens that they take and
// those that there are.
func TestSystemPromptIsNeverLeftOut(t *testing.T) {
	t.Parallel()
	l := start(t, "counting: {tokenizer: words}\nwindow:\n  max_tokens: 20\n  budget: {preset: rag, caps: [system]}\n  system_prompts: [{content: Answer only from the context}]\n", Options{})
	for _, body := range []string{
		`{"query": "q"}`,
		`{"query": "q", "window": {"answer": 16, "budget": {}}}`,
		`{"query": "q", "window": {"system_prompts": []}, "items": [{"content": "Answer only from the context", "source": "system"}]}`,
	} {
		got := l.api("POST", "/v1/builds", body)
		if text := string(got.body); got.status != 422 || !strings.Contains(text, `"reason":"budget"`) || !strings.Contains(text, "system items take 5 tokens, and there is room for ") {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "window": {"max_tokens": 60}}`); got.status != 200 || !strings.Contains(string(got.body), "Answer only") {
		t.Errorf("with room: %d %s", got.status, got.body)
	}
}

// A step whose manifest says that builds fail with it is left out only where must: false allows it.
func TestManifestsSayWhatMustRun(t *testing.T) {
	t.Parallel()
	dir := plugins(t, "keep-first")
	manifest := "abi: 1\nname: keep-first\nversion: 0.1.0\noperations: {filter: {reads: [score], defaults: {on_error: raise}}}\n"
	if err := os.WriteFile(filepath.Join(dir, "keep-first", "plugin.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for must, want := range map[string]int{"": http.StatusUnprocessableEntity, ", must: false": http.StatusOK} {
		l := start(t, fmt.Sprintf(mustSite, dir, "", "keep-first", must), Options{Unwatched: true})
		if got := l.api("POST", "/v1/builds?skip=s", `{"query": "q"}`); got.status != want {
			t.Errorf("%q: %d %s, want %d", must, got.status, got.body, want)
		}
	}
}
