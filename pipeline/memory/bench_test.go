package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// benchManager has a conversation of 200 turns and n facts.
func benchManager(b *testing.B, n int, cfg Config) *Manager {
	b.Helper()
	cfg.Window.MaxTokens = 1 << 20
	m := newManager(b, cfg)
	for i := range n {
		mustAdd(b, m, Entry{Content: fmt.Sprintf("fact %d is about contexts, deadlines and tea", i), UserID: "ann", Tags: []string{"x"}})
	}
	for i := range 200 {
		role := []pipeline.Role{pipeline.RoleUser, pipeline.RoleAssistant}[i%2]
		if err := m.AddMessage(b.Context(), role, fmt.Sprintf("turn %d says something about contexts", i)); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// BenchmarkItems answers what a memory of 200 turns costs a build, by the number of
// facts, where they are, and whether the query chooses among them.
func BenchmarkItems(b *testing.B) {
	for _, n := range []int{0, 50, 1000} {
		for name, cfg := range map[string]Config{
			"all":     {},
			"chosen":  {MaxFacts: 20},
			"stored":  {Facts: NewStoreFacts(store.NewMemory(), "ann")},
			"encoded": {Tokenizer: mustEncoding(b)},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				m := benchManager(b, n, cfg)
				q := &pipeline.Query{Text: "what about tea and deadlines?"}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Items(context.Background(), q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func mustEncoding(b *testing.B) pipeline.Tokenizer {
	t, err := pipeline.EncodingTokenizer(pipeline.DefaultEncoding)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkAdd answers what a new fact costs when n are there.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := benchManager(b, n, Config{})
			i := 0
			for b.Loop() {
				i++
				e, _, err := m.Add(context.Background(), Entry{Content: fmt.Sprintf("new %d", i)})
				if err == nil {
					_, err = m.Delete(context.Background(), e.ID)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad answers what opening a conversation costs, by its length.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			log := conversation.NewLog(store.NewMemory(), "ann", "c")
			cfg := conversation.SlidingWindowConfig{MaxTokens: 1000, Tokenizer: pipeline.WordTokenizer(), Log: log, Now: func() time.Time { return epoch }}
			w, err := conversation.NewSlidingWindow(cfg)
			for i := 0; err == nil && i < n; i++ {
				err = w.Add(b.Context(), pipeline.RoleUser, "what this turn has to say")
			}
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := log.Load(context.Background(), w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFind answers what the facts of a tenant cost a build, by their number: found through
// the index by words, or also by vectors of 256 numbers, and where all facts are read. Each build
// has a StoreFacts of its own, as builds of the command have.
func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	embedder := model{func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = make([]float32, 256)
			for j := range out[i] {
				out[i][j] = float32(r.NormFloat64())
			}
		}
		return out, nil
	}, retrieve.Model{ID: "random", Dimension: 256}}
	sizes := []int{100, 1000, 10_000, 100_000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		s := openFile(b, filepath.Join(b.TempDir(), "s.db"))
		fillFacts(b, s, "ann", n)
		find := func(name string, records RecordStore, scorer *Scorer) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					m := newManager(b, Config{Facts: NewStoreFacts(records, "ann"), MaxFacts: 5, Scorer: scorer})
					i++
					if items, err := m.Items(context.Background(), &pipeline.Query{Text: factText(r, i)}); err != nil || len(items) != 5 {
						b.Fatal(len(items), err)
					}
				}
			})
		}
		find("read", recordsOnly{s}, nil)
		find("words", s, nil)
		scorer := &Scorer{Embedder: &EmbeddingCache{Embedder: embedder}}
		m := newManager(b, Config{Facts: NewStoreFacts(s, "ann"), Scorer: scorer})
		if _, err := m.EmbedFacts(b.Context()); err != nil {
			b.Fatal(err)
		}
		find("vectors", s, scorer)
	}
}
