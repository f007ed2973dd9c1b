package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

func openFile(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// recordsOnly hides the index of a store, so that all facts are read.
type recordsOnly struct{ RecordStore }

var topics = []string{"tea", "train", "garden", "contract", "violin", "harbour", "engine", "winter", "recipe", "passport"}

func randomFact(r *rand.Rand, i int) Entry {
	e := Entry{
		ID: fmt.Sprint("f", i), Content: fmt.Sprintf("%s and %s in note %d", topics[r.IntN(len(topics))], topics[r.IntN(len(topics))], i),
		UserID: []string{"", "ann", "bob"}[r.IntN(3)], SessionID: []string{"", "s1"}[r.IntN(2)], Relevance: float64(1+r.IntN(9)) / 10,
		CreatedAt: epoch.Add(-time.Duration(r.IntN(1000)) * time.Hour),
	}
	e.LastAccessed = e.CreatedAt
	if r.IntN(4) == 0 {
		e.Tags = []string{"x"}
	}
	if r.IntN(8) == 0 {
		e.ExpiresAt = epoch.Add(time.Duration(r.IntN(3)-1) * time.Hour)
	}
	return e
}

// Whatever is written to the facts, by whichever way, a query finds what it finds where all facts
// are read.
func TestIndexIsInStepWithTheFacts(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"))
	byIndex := newManager(t, Config{Facts: NewStoreFacts(s, "ann")})
	byReading := newManager(t, Config{Facts: NewStoreFacts(recordsOnly{s}, "ann")})
	other := newManager(t, Config{Facts: NewStoreFacts(s, "eve")})
	mustAdd(t, other, Entry{Content: "tea train garden of another tenant"})
	r := rand.New(rand.NewPCG(1, 2))
	id := func() string { return fmt.Sprint("f", r.IntN(60)) }
	for i := range 400 {
		switch r.IntN(8) {
		case 0, 1, 2:
			_, _, _ = byIndex.Add(t.Context(), randomFact(r, i%60)) // may be there
		case 3:
			_, _ = byIndex.Update(t.Context(), id(), fmt.Sprint(topics[r.IntN(len(topics))], " instead ", i))
		case 4:
			_ = byIndex.Touch(t.Context(), id())
		case 5:
			_, _ = byIndex.Delete(t.Context(), id())
		case 6:
			line := fmt.Sprintf(`{"kind":"fact","id":%q,"data":{"content":"%s imported %d","user_id":"ann"}}`+"\n", id(), topics[r.IntN(len(topics))], i)
			if _, err := store.ImportChecked(t.Context(), s, strings.NewReader(line), "ann", nil); err != nil {
				t.Fatal(err)
			}
		case 7:
			if _, err := byIndex.Remember(t.Context(), randomFact(r, i%60)); err != nil && !strings.Contains(err.Error(), "id is taken") {
				t.Fatal(err)
			}
		}
		if i == 200 {
			if _, err := byIndex.Collect(t.Context(), Collector{}, false); err != nil {
				t.Fatal(err)
			}
		}
		if i == 300 {
			if _, err := NewStoreFacts(s, "ann").Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if i%5 > 0 {
			continue
		}
		for _, f := range []Filter{{}, {UserID: "ann"}, {SessionID: "s1"}, {Sessions: []string{"", "s1"}}, {Sessions: []string{}}, {UserID: "bob", Tags: []string{"x"}}, {Type: Episodic}} {
			q := &pipeline.Query{Text: topics[r.IntN(len(topics))] + "s or " + topics[r.IntN(len(topics))]}
			got, err := byIndex.Relevant(t.Context(), q, 7, f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := byReading.Relevant(t.Context(), q, 7, f)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b Scored) bool {
				return a.Entry.ID == b.Entry.ID && a.Score == b.Score && a.Entry.Content == b.Entry.Content
			}) {
				t.Fatalf("step %d, %+v, %q:\n%v\nwant\n%v", i, f, q.Text, got, want)
			}
		}
	}
}

// A fact that matters is found among many that do not, by its words, by its meaning, by its last
// use and by its importance, and never by another tenant or after it was forgotten.
func TestIndexFindsFewAmongMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := openFile(t, path)
	fillFacts(t, s, "ann", 3000)
	embedder := model{func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			out[i] = []float32{1, 0}
			if strings.Contains(text, "kettle") || strings.Contains(text, "hot drinks") {
				out[i] = []float32{0, 1}
			}
		}
		return out, nil
	}, retrieve.Model{ID: "m", Dimension: 2}}
	m := newManager(t, Config{Facts: NewStoreFacts(s, "ann"), Scorer: &Scorer{Recency: 0.2, Relevance: 0.7, Importance: 0.1}})
	semantic := newManager(t, Config{Facts: NewStoreFacts(s, "ann"), Scorer: &Scorer{Recency: 0.2, Relevance: 0.7, Importance: 0.1, Embedder: embedder}})
	old := epoch.Add(-10000 * time.Hour)
	mustAdd(t, m, Entry{ID: "words", Content: "The zeppelins land in Friedrichshafen.", CreatedAt: old})
	mustAdd(t, m, Entry{ID: "meaning", Content: "Owns a kettle.", CreatedAt: old, Relevance: 0.1})
	if n, err := semantic.EmbedFacts(t.Context()); err != nil || n != 3002 {
		t.Fatalf("%d facts embedded, %v", n, err)
	}
	finds := func(m *Manager, tenant, query, id string) bool {
		t.Helper()
		got, err := m.Relevant(t.Context(), &pipeline.Query{Text: query}, 3, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(got, func(f Scored) bool { return f.Entry.ID == id })
	}
	if !finds(m, "ann", "zeppelin", "words") {
		t.Error("not found by a word")
	}
	if !finds(semantic, "ann", "hot drinks", "meaning") || finds(m, "ann", "hot drinks", "meaning") {
		t.Error("not found by its meaning alone")
	}
	other := newManager(t, Config{Facts: NewStoreFacts(s, "eve"), Scorer: &Scorer{Embedder: embedder}})
	if finds(other, "eve", "zeppelin", "words") || finds(other, "eve", "hot drinks", "meaning") {
		t.Error("another tenant finds the facts")
	}
	if _, err := m.Delete(t.Context(), "words", "meaning"); err != nil {
		t.Fatal(err)
	}
	if finds(m, "ann", "zeppelin", "words") || finds(semantic, "ann", "hot drinks", "meaning") {
		t.Error("a forgotten fact is found")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m = newManager(t, Config{Facts: NewStoreFacts(openFile(t, path), "ann")})
	if finds(m, "ann", "zeppelin", "words") {
		t.Error("a forgotten fact is found after a restart")
	}
}

// fillFacts stores n facts of a tenant with words of their own.
func fillFacts(t testing.TB, s store.Store, tenant string, n int) {
	t.Helper()
	facts := NewStoreFacts(s, tenant)
	r := rand.New(rand.NewPCG(7, 7))
	var batch []*Entry
	for i := range n {
		e := &Entry{ID: fmt.Sprint("n", i), Content: factText(r, i), Relevance: 0.5, Type: Semantic, CreatedAt: epoch.Add(-time.Duration(n-i) * time.Minute)}
		e.complete(nil, e.CreatedAt)
		if batch = append(batch, e); len(batch) == 5000 || i == n-1 {
			if err := facts.Put(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
}

// factText is a sentence of words with the frequencies of a language: the n-th word is n times as
// rare as the first.
func factText(r *rand.Rand, i int) string {
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	words := []string{fmt.Sprint("note", i)}
	for range 12 {
		words = append(words, fmt.Sprint("w", zipf.Uint64()))
	}
	return strings.Join(words, " ")
}

// A failing embedder costs a query its vectors, not its facts.
func TestEmbedderOfFactsFails(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "s.db"))
	failing := embedFunc(func(context.Context, []string) ([][]float32, error) { return nil, context.DeadlineExceeded })
	warned := 0
	for name, facts := range map[string]Facts{"index": NewStoreFacts(s, "ann"), "memory": NewFacts()} {
		warned = 0
		m := newManager(t, Config{Facts: facts, Scorer: &Scorer{Embedder: failing, OnError: func(error) { warned++ }}})
		mustAdd(t, m, Entry{Content: "Prefers tea."})
		got, err := m.Relevant(t.Context(), &pipeline.Query{Text: "tea"}, 1, Filter{})
		if err != nil || len(got) != 1 || warned != 1 {
			t.Errorf("%s: %v, %v, %d warnings", name, got, err, warned)
		}
		m = newManager(t, Config{Facts: facts, Scorer: &Scorer{Embedder: failing}})
		if _, err := m.Relevant(t.Context(), &pipeline.Query{Text: "tea"}, 1, Filter{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
