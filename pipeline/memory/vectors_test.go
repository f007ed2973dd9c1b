package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// counted is an embedder that notes how many texts it was asked for.
func counted(asked *int, dimension int) embedFunc {
	return embedFunc(func(_ context.Context, texts []string) ([][]float32, error) {
		*asked += len(texts)
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = make([]float32, dimension)
			out[i][0] = 1
		}
		return out, nil
	})
}

// Users who take turns must not have all their facts embedded again for each build: with
// a model behind it, that is a wait and a price for every query.
func TestUsersKeepTheirVectors(t *testing.T) {
	asked := 0
	m := newManager(t, Config{
		Scorer: &Scorer{Relevance: 1, Embedder: counted(&asked, 2)}, MaxFacts: 5,
		FilterBy: func(q *pipeline.Query) Filter { return Filter{UserID: q.Metadata["user"].(string)} },
	})
	users := []string{"ann", "bob"}
	for _, user := range users {
		for i := range 50 {
			mustAdd(t, m, Entry{Content: fmt.Sprint(user, " fact ", i), UserID: user})
		}
	}
	for range 3 {
		for _, user := range users {
			if _, err := m.Items(t.Context(), &pipeline.Query{Text: "q", Metadata: map[string]any{"user": user}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked != 2*50+1 {
		t.Errorf("%d texts embedded, want each fact and the query once: %d", asked, 2*50+1)
	}
}

// What is kept stays within its bytes, and what is in use stays in it.
func TestVectorsAreForgotten(t *testing.T) {
	asked, dimension := 0, 1000
	v := &EmbeddingCache{Embedder: counted(&asked, dimension), MaxBytes: 16 * 4200} // 8 to a generation
	for i := range 40 {
		for _, texts := range [][]string{{"hot"}, {fmt.Sprint("text ", i)}} {
			if _, err := v.Embed(t.Context(), retrieve.SideDocument, texts); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(v.young) + len(v.old); n > 16 {
			t.Fatalf("%d vectors kept", n)
		}
	}
	if asked != 41 {
		t.Errorf("%d texts embedded, want 41: what is in use is not forgotten", asked)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("many ", i))
	}
	asked = 0
	for range 2 {
		if _, err := v.Embed(t.Context(), retrieve.SideDocument, many); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(v.young) + len(v.old); n > 16 || asked > 200-7 {
		t.Errorf("%d vectors kept of a large call, %d texts embedded in two calls", n, asked)
	}
}

// Many users who ask for a text at the same time have it embedded once, whoever gives up.
func TestTextsAreEmbeddedOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	begun, release := make(chan struct{}, 100), make(chan struct{})
	v := &EmbeddingCache{Embedder: embedFunc(func(ctx context.Context, texts []string) ([][]float32, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // also if both channels are closed by now
			return nil, ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		out := make([][]float32, len(texts))
		for i, text := range texts {
			asked[text]++
			out[i] = []float32{float32(len(text))}
		}
		return out, nil
	})}
	quits, quit := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := v.Embed(quits, retrieve.SideDocument, []string{"shared", "first"}); !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %v", err)
		}
	})
	<-begun
	for i := range 50 {
		wg.Go(func() {
			own := fmt.Sprint("own ", i)
			got, err := v.Embed(t.Context(), retrieve.SideDocument, []string{own, "shared", "shared", "first"})
			if err != nil || len(got) != 4 || got[1][0] != 6 || got[2][0] != 6 || got[0][0] != float32(len(own)) {
				t.Errorf("user %d: %v, %v", i, got, err)
			}
		})
	}
	quit()
	close(release)
	wg.Wait()
	if asked["shared"] != 1 || asked["first"] != 1 || len(asked) != 52 || len(v.pending) != 0 {
		t.Errorf("asked for shared %d times, first %d, %d texts, %d pending", asked["shared"], asked["first"], len(asked), len(v.pending))
	}
	boom := &EmbeddingCache{Embedder: embedFunc(func(context.Context, []string) ([][]float32, error) { panic("boom") })}
	if _, err := boom.Embed(t.Context(), retrieve.SideDocument, []string{"x"}); !errors.Is(err, pipeline.ErrPanic) || len(boom.pending) != 0 {
		t.Errorf("%v, %d pending", err, len(boom.pending))
	}
}

// model is an embedder of a model.
type model struct {
	embedFunc
	model retrieve.Model
}

func (m model) Model(context.Context) (retrieve.Model, error) { return m.model, nil }

// The vectors of facts survive a restart, for each tenant, and no other model gets them.
func TestVectorsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	open := func() *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	run := func(identity, tenant string, dimension int) (asked int) {
		t.Helper()
		s := open()
		defer s.Close()
		cache := &EmbeddingCache{Embedder: model{counted(&asked, dimension), retrieve.Model{ID: identity, Dimension: dimension}}}
		m := newManager(t, Config{Facts: NewStoreFacts(s, tenant), Scorer: &Scorer{Relevance: 1, Embedder: cache}, Consolidator: &SimilarityConsolidator{Embedder: cache}})
		if entries, err := m.List(t.Context(), Filter{}); err != nil {
			t.Fatal(err)
		} else if len(entries) == 0 {
			for i := range 20 {
				mustAdd(t, m, Entry{Content: fmt.Sprint("fact ", i)})
			}
		}
		for range 2 {
			if _, err := m.Relevant(t.Context(), &pipeline.Query{Text: "q"}, 5, Filter{}); err != nil {
				t.Fatal(err)
			}
		}
		return asked
	}
	for i, c := range []struct {
		identity, tenant string
		dimension, want  int
	}{
		{"m1", "ann", 2, 21},
		{"m1", "ann", 2, 1}, // the query
		{"m1", "bob", 2, 21},
		{"m2", "ann", 3, 21}, // another model
		{"m2", "ann", 3, 1},
	} {
		if got := run(c.identity, c.tenant, c.dimension); got != c.want {
			t.Errorf("run %d, model %q of %s: %d texts embedded, want %d", i, c.identity, c.tenant, got, c.want)
		}
	}
	// A new fact is embedded before the lock of the writers is taken, and stored with its vector.
	s := open()
	defer s.Close()
	asked, locked := 0, false
	var m *Manager
	look := embedFunc(func(ctx context.Context, texts []string) ([][]float32, error) {
		if locked = locked || !m.writing.TryLock(); !locked {
			m.writing.Unlock()
		}
		return counted(&asked, 3)(ctx, texts)
	})
	m = newManager(t, Config{Facts: NewStoreFacts(s, "ann"), Consolidator: &SimilarityConsolidator{Embedder: model{look, retrieve.Model{ID: "m2", Dimension: 3}}}})
	if _, err := m.Remember(t.Context(), Entry{Content: "another"}); err != nil || asked != 1 || locked {
		t.Errorf("%v, %d texts embedded, under the lock: %v", err, asked, locked)
	}
}

// A vector says much about its text, so it goes with the fact.
func TestVectorsGoWithTheirFacts(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	asked := 0
	of := model{counted(&asked, 2), retrieve.Model{ID: "m", Dimension: 2}}
	m := newManager(t, Config{Facts: NewStoreFacts(s, "ann"), Scorer: &Scorer{Embedder: of}})
	var ids []string
	var texts [][32]byte
	for i := range 5 {
		e := mustAdd(t, m, Entry{Content: fmt.Sprint("fact ", i)})
		ids, texts = append(ids, e.ID), append(texts, sha256.Sum256([]byte(e.Content)))
	}
	want := func(n int, after string) {
		t.Helper()
		got, err := s.FactVectors(t.Context(), "ann", "m", texts)
		if err != nil || len(got) != n {
			t.Errorf("after %s: %d vectors, want %d, %v", after, len(got), n, err)
		}
	}
	if _, err := m.Relevant(t.Context(), &pipeline.Query{Text: "q"}, 5, Filter{}); err != nil {
		t.Fatal(err)
	}
	want(5, "a query")
	if err := m.Touch(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	want(5, "a use")
	if _, err := m.Update(t.Context(), ids[0], "other"); err != nil {
		t.Fatal(err)
	}
	want(4, "an update")
	if _, err := m.Delete(t.Context(), ids[1]); err != nil {
		t.Fatal(err)
	}
	want(3, "a deletion")
	f := NewStoreFacts(s, "ann")
	if err := f.Change(t.Context(), []string{ids[2]}, func([]*Entry) (FactChange, error) { return FactChange{Delete: ids[2:3]}, nil }); err != nil {
		t.Fatal(err)
	}
	want(2, "a change")
	if _, err := f.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(0, "all were deleted")
}

// A text must not fail because it was in the batch of a caller whose other text is refused.
func TestBatchOfAnotherFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := &EmbeddingCache{Embedder: embedFunc(func(_ context.Context, texts []string) ([][]float32, error) {
			if slices.Contains(texts, "bad") {
				<-release
				return nil, errors.New("text refused")
			}
			return make2d(len(texts), 2), nil
		})}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := v.Embed(t.Context(), retrieve.SideDocument, []string{"good", "bad"}); err == nil {
				t.Error("a refused text has a vector")
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if got, err := v.Embed(t.Context(), retrieve.SideDocument, []string{"good"}); err != nil || len(got) != 1 {
				t.Errorf("the other caller: %v, %v", got, err)
			}
		})
		synctest.Wait()
		close(release)
		wg.Wait()
	})
}

func make2d(n, length int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, length)
	}
	return out
}

// An embedder that ignores its context must not hold its caller.
func TestEmbedderThatHangsIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		v := &EmbeddingCache{Embedder: embedFunc(func(context.Context, []string) ([][]float32, error) {
			<-release
			return nil, errors.New("late")
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(time.Minute, func() { close(release) })
		start := time.Now()
		if _, err := v.Embed(ctx, retrieve.SideDocument, []string{"x"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		<-release
	})
}

// After an embedder has changed the length of its vectors, the kept ones are made again.
func TestVectorsOfAnotherLengthAreReplaced(t *testing.T) {
	length := 2
	v := &EmbeddingCache{Embedder: embedFunc(func(_ context.Context, texts []string) ([][]float32, error) {
		return make2d(len(texts), length), nil
	})}
	if _, err := v.Embed(t.Context(), retrieve.SideDocument, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	length = 3
	for range 2 {
		got, err := v.Embed(t.Context(), retrieve.SideDocument, []string{"a", "c"})
		if err != nil || len(got) != 2 || len(got[0]) != 3 || len(got[1]) != 3 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	size := 0
	for text, vector := range v.young {
		size += sizeOf(text, vector)
	}
	if size != v.size {
		t.Errorf("%d bytes are counted, %d are kept", v.size, size)
	}
}
