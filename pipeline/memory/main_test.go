package memory

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// quiet is a logger for failures that a test provokes.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newManager returns a manager with facts in memory, words for tokens and the time
// of epoch, where cfg says nothing else.
func newManager(t testing.TB, cfg Config) *Manager {
	t.Helper()
	if cfg.Facts == nil {
		cfg.Facts = NewFacts()
	}
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = pipeline.WordTokenizer()
	}
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return epoch }
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustAdd(t testing.TB, m *Manager, e Entry) Entry {
	t.Helper()
	stored, added, err := m.Add(t.Context(), e)
	if err != nil || !added {
		t.Fatalf("add %q: added %v, %v", e.Content, added, err)
	}
	return stored
}

func contents(entries []Entry) []string {
	out := []string{}
	for i := range entries {
		out = append(out, entries[i].Content)
	}
	return out
}

// embedFunc is an embedder for tests whose model has two dimensions.
type embedFunc func(ctx context.Context, texts []string) ([][]float32, error)

func (f embedFunc) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "test", Dimension: 2}, nil
}

func (f embedFunc) Embed(ctx context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}

// embeddings embeds the texts it knows.
type embeddings map[string][]float32

func (e embeddings) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "known", Dimension: 2}, nil
}

func (e embeddings) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = e[text]
	}
	return out, nil
}

// broken panics wherever it is called.
type broken struct{}

func (broken) Name() string                                          { return "broken" }
func (broken) Count(context.Context, ...string) ([]int, error)       { panic("boom") }
func (broken) Truncate(context.Context, string, int) (string, error) { panic("boom") }
