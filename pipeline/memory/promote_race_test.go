package memory

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

func openStore(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func promoter(t *testing.T, s RecordStore, x ExtractFunc) *Manager {
	t.Helper()
	return newManager(t, Config{Facts: NewStoreFacts(s, "t"), Extractor: x})
}

func logOf(t *testing.T, s store.Store, turns int) *conversation.Log {
	t.Helper()
	l := conversation.NewLog(s, "t", "c")
	for i := range turns {
		if _, err := l.AppendTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: fmt.Sprint("I like ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func echo(_ context.Context, turns []pipeline.Turn, _ []Entry) (x Extraction, _ error) {
	for i := range turns {
		x.Add = append(x.Add, Entry{Content: turns[i].Content})
	}
	return x, nil
}

func wantFacts(t *testing.T, m *Manager, want ...string) {
	t.Helper()
	facts, err := m.List(t.Context(), Filter{})
	if err != nil || !slices.Equal(contents(facts), want) {
		t.Errorf("facts %q, %v, want %q", contents(facts), err, want)
	}
}

// A new fact that says what a removed or an edited one said must be stored.
func TestNewFactsAreNotComparedWithThoseTheyReplace(t *testing.T) {
	for name, x := range map[string]ExtractFunc{
		"removed": func(_ context.Context, _ []pipeline.Turn, known []Entry) (Extraction, error) {
			return Extraction{Add: []Entry{{Content: "A"}}, Remove: []string{known[0].ID, known[1].ID}}, nil
		},
		"edited": func(_ context.Context, _ []pipeline.Turn, known []Entry) (Extraction, error) {
			return Extraction{Add: []Entry{{Content: "A"}}, Update: []Edit{{ID: known[0].ID, Content: "B"}}, Remove: []string{known[1].ID}}, nil
		},
	} {
		m := promoter(t, store.NewMemory(), x)
		mustAdd(t, m, Entry{Content: "A"})
		mustAdd(t, m, Entry{Content: "AA"})
		if _, err := m.Consolidate(t.Context(), Filter{}); err != nil {
			t.Error(err)
		}
		if name == "removed" {
			wantFacts(t, m, "A")
		} else {
			wantFacts(t, m, "B", "A")
		}
	}
}

func TestPromotionsAtTheSameTimeStoreFactsOnce(t *testing.T) {
	s := openStore(t)
	logOf(t, s, 40)
	var gate, done sync.WaitGroup
	gate.Add(4)
	for range 4 {
		first := true
		m := promoter(t, s, func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
			if first {
				first = false
				gate.Done()
				gate.Wait()
			}
			return echo(ctx, turns, known)
		})
		done.Go(func() {
			if _, err := m.PromoteLog(context.Background(), conversation.NewLog(s, "t", "c")); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	facts, err := promoter(t, s, nil).List(t.Context(), Filter{})
	if err != nil || len(facts) != 40 {
		t.Errorf("%d facts, %v, want 40", len(facts), err)
	}
}

// Who adds turns or facts does not wait for an extractor.
func TestExtractorRunsOutsideTheLockOfWriters(t *testing.T) {
	s := openStore(t)
	l := logOf(t, s, 3)
	var m *Manager
	calls := 0
	during := func() {
		if !m.writing.TryLock() {
			t.Error("the lock is held while the extractor runs")
			return // the rest would wait for ever
		}
		m.writing.Unlock()
		mustAdd(t, m, Entry{Content: "added meanwhile"})
		if _, err := l.AppendTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: "said meanwhile"}); err != nil {
			t.Error(err)
		}
	}
	m = promoter(t, s, func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
		if calls++; calls == 1 {
			during()
		}
		return echo(ctx, turns, known)
	})
	if _, err := m.PromoteLog(t.Context(), l); err != nil || calls != 2 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	wantFacts(t, m, "added meanwhile", "I like 0", "I like 1", "I like 2", "said meanwhile")
}

func TestForgottenConversationLeavesNoFactsOfARunningPromotion(t *testing.T) {
	s := openStore(t)
	m := promoter(t, s, func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
		keys, err := s.Keys(ctx, "t", "")
		for _, key := range keys {
			if _, err := s.Clear(ctx, key); err != nil {
				t.Error(err)
			}
		}
		x, _ := echo(ctx, turns, known)
		return x, err
	})
	if p, err := m.PromoteLog(t.Context(), logOf(t, s, 5)); err != nil || len(p.Added) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if keys, err := s.Keys(t.Context(), "t", ""); err != nil || len(keys) > 0 {
		t.Errorf("left after all was forgotten: %v, %v", keys, err)
	}
}

// hooked runs a hook after a fact was read.
type hooked struct {
	store.Store
	hook func()
}

func (h *hooked) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	rec, err := h.Store.Get(ctx, key, id)
	if hook := h.hook; hook != nil && key.Kind == KindFact {
		h.hook = nil
		hook()
	}
	return rec, err
}

func TestEditsNeitherBringBackNorLose(t *testing.T) {
	h := &hooked{Store: store.NewMemory()}
	m, other := promoter(t, h, nil), promoter(t, h.Store, nil)
	e := mustAdd(t, m, Entry{Content: "A"})
	h.hook = func() { _, _ = other.Edit(t.Context(), e.ID, func(e *Entry) { e.Tags = []string{"x"} }) }
	if got, err := m.Update(t.Context(), e.ID, "B"); err != nil || got.Content != "B" || !slices.Equal(got.Tags, []string{"x"}) {
		t.Errorf("%+v, %v", got, err)
	}
	h.hook = func() { _, _ = other.Delete(t.Context(), e.ID) }
	if _, err := m.Update(t.Context(), e.ID, "C"); err == nil {
		t.Error("a deleted fact was edited")
	}
	wantFacts(t, m)
}

func TestPromotedNeverGoesBack(t *testing.T) {
	l := logOf(t, store.NewMemory(), 1)
	for _, n := range []int64{60, 50} {
		if err := l.SetPromoted(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	if n, err := l.Promoted(t.Context()); err != nil || n != 60 {
		t.Errorf("promoted through %d, %v, want 60", n, err)
	}
}

// contested is a store whose facts somebody else changes before each change.
type contested struct{ store.Store }

func (contested) Apply(_ context.Context, changes ...store.Change) error {
	for _, c := range changes {
		if len(c.Put) > 0 {
			return store.ErrConflict
		}
	}
	return nil
}

// A change that others forestall for ever must end.
func TestChangesOfFactsEnd(t *testing.T) {
	decided := 0
	err := NewStoreFacts(contested{store.NewMemory()}, "ann").Change(t.Context(), nil, func([]*Entry) (FactChange, error) {
		decided++
		return FactChange{Put: []*Entry{{ID: "a", Type: Semantic}}}, nil
	})
	if !errors.Is(err, store.ErrConflict) || decided != changeTries {
		t.Errorf("%v after %d tries", err, decided)
	}
}
