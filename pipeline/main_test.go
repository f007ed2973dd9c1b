package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet is a logger for failures that a test provokes.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// textLogger writes records without times.
func textLogger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// mustBuild builds with the word tokenizer.
func mustBuild(t *testing.T, cfg Config) *Result {
	t.Helper()
	r, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustNew(t *testing.T, cfg Config) *Pipeline {
	t.Helper()
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = WordTokenizer()
	}
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// doc is a retrieved item of one word.
func doc(id string) Item {
	return Item{ID: id, Content: id, Source: SourceRetrieval, Score: 0.5, Priority: 5, TokenCount: 1, CreatedAt: seedEpoch}
}

func docs(ids ...string) []Item {
	items := make([]Item, len(ids))
	for i, id := range ids {
		items[i] = doc(id)
	}
	return items
}

func ids(items []Item) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = items[i].ID
	}
	return out
}

type retrieverFunc func(ctx context.Context, q *Query, topK int) ([]Item, error)

func (f retrieverFunc) Retrieve(ctx context.Context, q *Query, topK int) ([]Item, error) {
	return f(ctx, q, topK)
}

func turn(content string, role any, second int) Item {
	return Item{Content: content, Source: SourceConversation, Priority: 7, CreatedAt: seedEpoch.Add(time.Duration(second) * time.Second), Metadata: map[string]any{"role": role}}
}

func system(content string) Item { return Item{Content: content, Source: SourceSystem, Priority: 10} }

// anySource returns a source at random. Few are system, because a window without its system items is
// refused.
func anySource(r *rand.Rand) Source {
	if r.IntN(40) == 0 {
		return SourceSystem
	}
	for {
		if s := Sources[r.IntN(len(Sources))]; s != SourceSystem {
			return s
		}
	}
}

// withoutSystem reports whether a build was refused because its system items have no room.
func withoutSystem(err error) bool {
	return errors.Is(err, ErrBudget) && strings.Contains(err.Error(), "system items take")
}
