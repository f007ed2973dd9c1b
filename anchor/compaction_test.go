package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
)

// compacting loads an App whose conversations are condensed by a plugin that fails.
func compacting(t *testing.T, s store.Store, log *bytes.Buffer) *App {
	t.Helper()
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	text := "counting: {tokenizer: words}\nmemory: {conversation: {tokens: 40, compact: {use: documents}}}\n"
	app, err := Load(write(t, t.TempDir(), text), Options{Store: s, PluginDir: dir, CacheDir: "off", Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// Builds make a window each, and share the pause of a compactor that fails. The conversation
// stays bounded, in the window and in the store.
func TestBuildsShareThePauseOfACompactor(t *testing.T) {
	var log bytes.Buffer
	s := store.NewMemory()
	app := compacting(t, s, &log)
	began := time.Now()
	for i := range 50 {
		q := pipeline.Query{Text: fmt.Sprintf("turn %d has some words", i)}
		r, err := app.Build(t.Context(), q, BuildOptions{Tenant: "acme", Conversation: "c", Remember: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Window.UsedTokens; n > 40+2*256 {
			t.Errorf("build %d: %d tokens", i, n)
		}
		if err := app.compacting.Wait(t.Context()); err != nil { // compaction runs beside the builds
			t.Fatal(err)
		}
	}
	most := 1 + int(time.Since(began)/conversation.MinCompactPause)
	if err := app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "compactor failed"); n < 1 || n > most {
		t.Errorf("the compactor failed %d times in 50 builds, want 1 to %d: it must get a pause", n, most)
	}
	rec, err := s.Get(t.Context(), store.Key{Tenant: "acme", Kind: conversation.KindDigest, Stream: "c"}, "digest")
	var d conversation.Digest
	if err == nil {
		err = json.Unmarshal(rec.Data, &d)
	}
	if err != nil || d.Through < 50-2*40/5-1 || !strings.Contains(d.Text, "user: turn 20 has some words") {
		t.Errorf("digest %+v, %v", d, err)
	}
}

// Whoever deletes a conversation ends its compaction, and so does a Close that cannot wait.
func TestDeletionsEndCompactions(t *testing.T) {
	for name, end := range map[string]func(*App) error{
		"forget": func(a *App) error {
			talk, err := a.Conversation(t.Context(), "acme", "c")
			if err == nil {
				_, err = talk.Forget(t.Context())
			}
			return err
		},
		"tenant": func(a *App) error { _, err := a.ForgetTenant(t.Context(), "acme"); return err },
		"close": func(a *App) error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("close: %w", err)
			}
			return nil
		},
	} {
		s := store.NewMemory()
		app := compacting(t, s, new(bytes.Buffer))
		begun := make(chan struct{})
		cfg := conversation.SlidingWindowConfig{
			MaxTokens: 4, HighWater: 1, Tokenizer: pipeline.WordTokenizer(), Log: conversation.NewLog(s, "acme", "c"),
			Compactions: &app.compacting, Name: assemble.CompactionName("acme", "c"), OnCompact: app.current.Hold,
			Compactor: conversation.CompactFunc(func(ctx context.Context, _ []pipeline.Turn) (string, error) {
				close(begun)
				<-ctx.Done()
				return "secret", nil
			}),
		}
		w, err := conversation.NewSlidingWindow(cfg)
		for err == nil && len(w.Turns()) < 2 {
			err = w.Add(t.Context(), pipeline.RoleUser, "secret")
		}
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		if err := end(app); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Flush(t.Context()); err != nil || w.Summary() != "" {
			t.Errorf("%s: %v, summary %q", name, err, w.Summary())
		}
		if err := app.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
