package anchor

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Each window counts as a use of its facts, also after a restart. Items that only look like
// facts and facts that are not in the window do not count.
func TestWindowsCountAsUsesOfFacts(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, fmt.Sprintf("counting: {tokenizer: words}\nwindow: {max_tokens: 20}\nstore: {path: %s}\nmemory: {facts: {max_items: 9}}\n", filepath.Join(dir, "store.db")))
	began := time.Now().Add(-time.Second)
	var ids []string
	for round := range 2 {
		app, err := Load(path, Options{CacheDir: "off"})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			m, err := app.Facts(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []memory.Entry{{Content: "ann likes tea", CreatedAt: began}, {Content: strings.Repeat("tea ", 30)}, {Content: "bob likes tea", UserID: "bob"}} {
				stored, _, err := m.Add(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, stored.ID)
			}
		}
		for range 2 {
			result, err := app.Build(t.Context(), pipeline.Query{Text: "tea"}, BuildOptions{Items: []pipeline.Item{
				{ID: "given", Content: "x", Source: pipeline.SourceMemory, Priority: 5, Metadata: map[string]any{"memory_entry_id": ids[1]}},
				{ID: "fact-" + ids[2], Content: "y", Source: pipeline.SourceMemory, Priority: 5, Metadata: map[string]any{"memory_entry_id": ids[2]}},
			}})
			if err != nil || len(result.Window.Items) != 3 {
				t.Fatalf("%+v, %v", result, err)
			}
		}
		if round == 0 {
			if got := counts(t, app); got != "2 0 0" {
				t.Errorf("used %s, want 2 0 0", got)
			}
			if e := listFacts(t, app)[0]; !e.LastAccessed.After(e.CreatedAt) {
				t.Errorf("last used at %v, added at %v", e.LastAccessed, e.CreatedAt)
			}
		}
		if err := app.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	app, err := Load(path, Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	if got := counts(t, app); got != "4 0 0" {
		t.Errorf("after a restart: used %s, want 4 0 0", got)
	}
}

func counts(t *testing.T, app *App) string {
	t.Helper()
	var out []string
	for _, e := range listFacts(t, app) {
		out = append(out, fmt.Sprint(e.AccessCount))
	}
	return strings.Join(out, " ")
}

// Uses of more facts than can wait are dropped, and counts of the others go on.
func TestUsesThatWaitAreBounded(t *testing.T) {
	var u uses
	u.timer = time.NewTimer(time.Hour) // writes nothing
	defer u.timer.Stop()
	items := make([]pipeline.Item, maxUses+5)
	for i := range items {
		id := fmt.Sprint(i)
		items[i] = pipeline.Item{ID: "fact-" + id, Source: pipeline.SourceMemory, Metadata: map[string]any{"memory_entry_id": id}}
	}
	for range 2 {
		u.note(nil, "t", items, nil, time.Now())
	}
	if n := len(u.waiting["t"]); n != maxUses || u.waiting["t"]["0"].Times != 2 {
		t.Errorf("%d facts wait, the first with %d uses; want %d with 2", n, u.waiting["t"]["0"].Times, maxUses)
	}
}
