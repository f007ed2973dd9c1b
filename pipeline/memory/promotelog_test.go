package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// failing is an extractor that fails for some turns, and for all if none is given.
func failing(contents ...string) ExtractFunc {
	return func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
		for i := range turns {
			if contents == nil || slices.Contains(contents, turns[i].Content) {
				return Extraction{}, errors.New("no answer")
			}
		}
		return echo(ctx, turns, known)
	}
}

func TestATurnThatFailsIsSkipped(t *testing.T) {
	s := store.NewMemory()
	m, l := promoter(t, s, failing("I like 2", "I like 3")), logOf(t, s, 7)
	if _, err := m.PromoteLog(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	wantFacts(t, m, "I like 0", "I like 1", "I like 4", "I like 5", "I like 6")
	if n, err := l.Promoted(t.Context()); n != 7 || err != nil {
		t.Errorf("promoted through %d, %v", n, err)
	}
}

// Whoever keeps what an extractor failed for knows whose turns these are, also where one is only tried.
func TestExtractorsKnowTheUser(t *testing.T) {
	s, calls := store.NewMemory(), 0
	m := newManager(t, Config{Facts: NewStoreFacts(s, "t"), Filter: Filter{UserID: "ann"}, Extractor: ExtractFunc(func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
		if calls++; observe.OwnerOf(ctx).User != "ann" {
			t.Errorf("call %d, %d turns: user %q", calls, len(turns), observe.OwnerOf(ctx).User)
		}
		return failing("I like 0")(ctx, turns, known)
	})})
	if _, err := m.PromoteLog(t.Context(), logOf(t, s, 2)); err != nil || calls != 4 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// A conversation that is deleted while a turn of it turns out to fail leaves no note of what was promoted.
func TestNothingIsNotedOfADeletedConversation(t *testing.T) {
	s := store.NewMemory()
	l := logOf(t, s, 7)
	m := promoter(t, s, func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
		if turns[0].Content != "I like 0" { // the turn before is at fault
			_, err := l.Delete(ctx)
			return Extraction{}, err
		}
		return failing()(ctx, turns, known)
	})
	if _, err := m.PromoteLog(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Promoted(t.Context()); n != 0 || err != nil {
		t.Errorf("promoted through %d, %v", n, err)
	}
}

// An extractor that always fails, and a store that fails, lose no turn.
func TestTurnsOutliveAFailure(t *testing.T) {
	s := store.NewMemory()
	l := logOf(t, s, 7)
	if _, err := promoter(t, s, failing()).PromoteLog(t.Context(), l); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Error(err)
	}
	// The last turn fails, and no later one tells whether it is at fault.
	m := promoter(t, s, failing("I like 6"))
	if _, err := m.PromoteLog(t.Context(), l); err == nil {
		t.Error("no error")
	}
	if n, err := l.Promoted(t.Context()); n != 6 || err != nil {
		t.Errorf("promoted through %d, %v", n, err)
	}
}

func TestPromoteBatches(t *testing.T) {
	s := store.NewMemory()
	m, l := promoter(t, s, echo), logOf(t, s, 2*promoteTurns+1)
	for i, want := range []int{2 * promoteTurns, 1, 0} {
		if p, err := m.PromoteBatches(t.Context(), l, 2); err != nil || p.Turns != want {
			t.Errorf("%d: %d turns, %v, want %d", i, p.Turns, err, want)
		}
	}
}

// The newest known facts are sent.
func TestKnownFactsAreBounded(t *testing.T) {
	var known []Entry
	now := epoch
	m := newManager(t, Config{Now: func() time.Time { return now }, Extractor: ExtractFunc(func(_ context.Context, _ []pipeline.Turn, k []Entry) (Extraction, error) {
		known = append(known, k...)
		if total := len(strings.Join(contents(k), "")); total > MaxKnownBytes {
			t.Errorf("%d bytes in a call", total)
		}
		return Extraction{}, nil
	})})
	for _, c := range []string{"a", "b", "c"} {
		now = now.Add(time.Second)
		mustAdd(t, m, Entry{Content: strings.Repeat(c, 100<<10)})
	}
	mustAdd(t, m, Entry{Content: strings.Repeat("d", MaxKnownBytes)})
	if _, err := m.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "x"}}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range known {
		got = append(got, e.Content[:1])
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("known %q", got)
	}
	known = nil
	if _, err := m.Consolidate(t.Context(), Filter{}); err != nil || len(known) != 3 {
		t.Errorf("%d facts consolidated, %v", len(known), err)
	}
}

// Who forgets a fact forgets what the graph says about it.
func TestDeletedFactsLeaveNoRelations(t *testing.T) {
	ctx := t.Context()
	for name, remove := range map[string]func(m *Manager, f *StoreFacts) error{
		"delete": func(m *Manager, _ *StoreFacts) error { _, err := m.Delete(ctx, "f"); return err },
		"forget": func(m *Manager, _ *StoreFacts) error { _, err := m.Forget(ctx, Filter{UserID: "ann"}); return err },
		"change": func(m *Manager, _ *StoreFacts) error { _, err := m.Consolidate(ctx, Filter{UserID: "ann"}); return err },
		"clear":  func(_ *Manager, f *StoreFacts) error { _, err := f.Clear(ctx); return err },
	} {
		s := store.NewMemory()
		f, g := NewStoreFacts(s, "t"), NewStoreGraph(s, "t")
		m := newManager(t, Config{Facts: f, Extractor: ExtractFunc(func(_ context.Context, _ []pipeline.Turn, known []Entry) (Extraction, error) {
			return Extraction{Remove: []string{known[0].ID}}, nil
		})})
		mustAdd(t, m, Entry{ID: "f", Content: "Ann is ill", UserID: "ann"})
		mustAdd(t, m, Entry{ID: "g", Content: "Bob is well", UserID: "bob"})
		if err := g.Add(ctx, Relation{Source: "Ann", Fact: "f"}, Relation{Source: "Bob", Fact: "g"},
			Relation{Source: "Ann", Relation: "knows", Target: "Bob"}); err != nil {
			t.Fatal(err)
		}
		if err := remove(m, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		left, err := g.Relations(ctx)
		want := 2
		if name == "clear" {
			want = 1
		}
		if err != nil || len(left) != want || slices.ContainsFunc(left, func(r Relation) bool { return r.Fact == "f" }) {
			t.Errorf("%s: left %+v, %v", name, left, err)
		}
	}
}
