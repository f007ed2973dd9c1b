package anchor

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

const guests = `
counting: {tokenizer: words}
steps:
  - {name: add, use: add-item}
  - {name: gone, use: no-such-plugin}
pipelines:
  both: {steps: [{name: add, use: add-item}, {name: again, use: add-item}]}
`

// Plugins are loaded once for all pipelines and builds of a generation, and once more by a
// reload; a request may call others.
func TestPluginsAreLoadedOnce(t *testing.T) {
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	var compiled atomic.Int64
	app, err := Load(write(t, t.TempDir(), guests), Options{
		PluginDir: dir, CacheDir: "off", Store: store.NewMemory(),
		OnCompile: func(_ string, done bool, _ time.Duration) {
			if done {
				compiled.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range 20 {
		o := BuildOptions{Tenant: fmt.Sprint("t", i), Tokenizer: []string{"words", "cl100k_base"}[i%2], Pipeline: []string{"", "both"}[i/10]}
		wg.Go(func() {
			r, err := app.Build(ctx, pipeline.Query{Text: "q"}, o)
			if err != nil {
				t.Error(err)
				return
			}
			if got, want := len(r.Window.Items), 1+i/10; got != want || len(r.Diagnostics.SkippedSteps) != 1-i/10 {
				t.Errorf("%d items, want %d; skipped %v", got, want, r.Diagnostics.SkippedSteps)
			}
		})
	}
	wg.Wait()
	if n := compiled.Load(); n != 1 {
		t.Errorf("%d modules compiled, want 1", n)
	}
	list, _ := app.Plugins()
	if len(list) != 2 || list[0].Name != "add-item" || list[0].Spec == nil || list[0].Stats.Calls() != 30 || list[1].Err == nil {
		t.Errorf("plugins %+v", list)
	}
	request := `{"query": "q", "steps": [{"name": "add", "use": "add-two"}]}`
	if r, err := app.BuildRequest(ctx, "request", strings.NewReader(request), BuildOptions{}); err != nil || len(r.Window.Items) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// What a request loaded stays, and is listed with the others.
	if list, _ := app.Plugins(); len(list) != 3 || list[1].Name != "add-two" || list[1].Err != nil || list[1].Stats.Calls() != 1 {
		t.Errorf("plugins %+v", list)
	}
	if err := app.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if n := compiled.Load(); n != 3 {
		t.Errorf("%d modules compiled, want 3", n)
	}
	if err := app.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Guests' items count in the tokens of the build that calls, whatever other builds count in.
func TestGuestsCountInTokensOfTheBuild(t *testing.T) {
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	app, err := Load(write(t, t.TempDir(), guests), Options{PluginDir: dir, CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	const model = "claude-sonnet-4-5" // whose tokens are estimated, at the upper end
	estimator, err := pipeline.ModelTokenizer(model)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, tt := range []struct {
		o BuildOptions
		t pipeline.Tokenizer
	}{
		{BuildOptions{}, pipeline.WordTokenizer()}, {BuildOptions{Model: model}, estimator}, {BuildOptions{Tokenizer: "words"}, pipeline.WordTokenizer()},
	} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, tt.o)
		if err != nil || len(r.Window.Items) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		it := r.Window.Items[0]
		counts, err := tt.t.Count(t.Context(), it.Content)
		if err != nil || it.TokenCount != counts[0] {
			t.Errorf("%+v: %q has %d tokens, want %d, %v", tt.o, it.Content, it.TokenCount, counts[0], err)
		}
		seen[it.TokenCount] = true
	}
	if len(seen) != 2 {
		t.Errorf("token counts %v: want two, or this shows nothing", seen)
	}
}
