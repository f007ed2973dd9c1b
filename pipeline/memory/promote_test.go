package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
)

// sayings takes each turn for a fact. A known fact about the same is edited, and without
// turns all facts but the first are removed.
var sayings = ExtractFunc(func(_ context.Context, turns []pipeline.Turn, known []Entry) (out Extraction, err error) {
	known = slices.Clone(known)
	for _, turn := range turns {
		about := string(turn.Role) + " said "
		if i := slices.IndexFunc(known, func(e Entry) bool { return strings.HasPrefix(e.Content, about) }); i >= 0 {
			out.Update = append(out.Update, Edit{ID: known[i].ID, Content: about + turn.Content, Tags: []string{"edited"}})
			known = slices.Delete(known, i, i+1)
			continue
		}
		out.Add = append(out.Add, Entry{Content: about + turn.Content})
	}
	for i := range known {
		if i > 0 && len(turns) == 0 {
			out.Remove = append(out.Remove, known[i].ID)
		}
	}
	return out, nil
})

func TestPromotedTurnsBecomeFactsOfTheirOwner(t *testing.T) {
	facts := NewFacts()
	ann := newManager(t, Config{Facts: facts, Extractor: sayings, Filter: Filter{UserID: "ann"}})
	bob := newManager(t, Config{Facts: facts, Extractor: sayings, Filter: Filter{UserID: "bob"}})
	p, err := ann.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "tea", Sequence: 4}, {Role: pipeline.RoleAssistant, Content: "yes", CreatedAt: epoch}})
	if err != nil || p.Turns != 2 || !slices.Equal(contents(p.Added), []string{"user said tea", "assistant said yes"}) {
		t.Errorf("%+v, %v", p, err)
	}
	if got := p.Added[0]; got.UserID != "ann" || !slices.Equal(got.SourceTurns, []string{"turn-4", "2026-01-01T00:00:00Z"}) {
		t.Errorf("owner and sources of %+v", got)
	}
	// Bob's extractor does not see what Ann said.
	if p, err := bob.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "tea"}}); err != nil || len(p.Added) != 1 || len(p.Updated) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = ann.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "coffee", Sequence: 5}})
	if err != nil || len(p.Added) != 0 || !slices.Equal(contents(p.Updated), []string{"user said coffee"}) {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := p.Updated[0]; !slices.Equal(got.Tags, []string{"edited"}) || got.ContentHash != ContentHash("user said coffee") || got.SourceTurns[2] != "turn-5" {
		t.Errorf("edited fact %+v", got)
	}
	if p, err := newManager(t, Config{}).Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser}}); err != nil || p.Turns != 0 {
		t.Errorf("without an extractor: %+v, %v", p, err)
	}
}

func TestConsolidateGoesOwnerByOwner(t *testing.T) {
	m := newManager(t, Config{Extractor: sayings})
	for _, e := range []Entry{{Content: "a1", UserID: "ann"}, {Content: "b1", UserID: "bob"}, {Content: "a2", UserID: "ann"}, {Content: "b2", UserID: "bob", Tags: []string{"x"}}} {
		mustAdd(t, m, e)
	}
	p, err := m.Consolidate(t.Context(), Filter{UserID: "bob", Tags: []string{"x"}})
	if err != nil || p.Removed != 0 {
		t.Errorf("a single fact: %+v, %v", p, err)
	}
	p, err = m.Consolidate(t.Context(), Filter{})
	facts, err2 := m.List(t.Context(), Filter{})
	if err != nil || err2 != nil || p.Removed != 2 || !slices.Equal(contents(facts), []string{"a1", "b1"}) {
		t.Errorf("%+v, %q, %v, %v", p, contents(facts), err, err2)
	}
}

func TestFailedPromotionChangesNothing(t *testing.T) {
	add := func(e Entry) ExtractFunc {
		return func(context.Context, []pipeline.Turn, []Entry) (Extraction, error) {
			return Extraction{Add: []Entry{e}}, nil
		}
	}
	edit := func(x Extraction) ExtractFunc {
		return func(context.Context, []pipeline.Turn, []Entry) (Extraction, error) { return x, nil }
	}
	for want, extractor := range map[string]ExtractFunc{
		"no model": func(context.Context, []pipeline.Turn, []Entry) (Extraction, error) {
			return Extraction{}, errors.New("no model")
		},
		"panic: boom":                func(context.Context, []pipeline.Turn, []Entry) (Extraction, error) { panic("boom") },
		"relevance_score 7":          add(Entry{Relevance: 7}),
		"id is taken":                add(Entry{ID: "known", Content: "x"}),
		`memory_type "vague"`:        add(Entry{Type: "vague"}),
		`fact "other": `:             edit(Extraction{Remove: []string{"other"}}),
		`fact "known": no content`:   edit(Extraction{Update: []Edit{{ID: "known"}}}),
		"only known facts can be ch": edit(Extraction{Update: []Edit{{ID: "known", Content: "x"}}, Remove: []string{"known"}}),
	} {
		m := newManager(t, Config{Extractor: extractor})
		mustAdd(t, m, Entry{ID: "known", Content: "known"})
		if _, err := m.Promote(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "a"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		facts, err := m.List(t.Context(), Filter{})
		if err != nil || len(facts) != 1 || facts[0].Content != "known" {
			t.Errorf("%s: facts %q, %v", want, contents(facts), err)
		}
	}
}

// Turns of a log are promoted once, and again only where the promotion failed.
func TestLogsArePromotedOnce(t *testing.T) {
	l := conversation.NewLog(store.NewMemory(), "t", "chat")
	var seen []int
	fails := false
	m := newManager(t, Config{KnownFacts: -1, Extractor: ExtractFunc(func(_ context.Context, turns []pipeline.Turn, known []Entry) (x Extraction, err error) {
		if len(known) > 0 {
			t.Errorf("known facts %v", known)
		}
		if fails && len(seen) > 0 {
			return x, errors.New("no model")
		}
		seen = append(seen, len(turns))
		return Extraction{Add: []Entry{{Content: turns[0].Content}}}, nil
	})})
	say := func(n int) {
		for i := range n {
			if _, err := l.AppendTurn(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: fmt.Sprint("turn ", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	promote := func(want string, sizes ...int) {
		t.Helper()
		seen = nil
		p, err := m.PromoteLog(t.Context(), l)
		sum := 0
		for _, n := range sizes {
			sum += n
		}
		if !slices.Equal(seen, sizes) || p.Turns < sum || (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %v, %+v, %v", seen, sizes, p, err)
		}
	}
	promote("")
	say(promoteTurns + 1)
	fails = true
	promote("no model", promoteTurns)
	fails = false
	promote("", 1)
	promote("")
	say(2)
	if n, err := l.Unpromoted(t.Context()); n != 2 || err != nil {
		t.Errorf("%d turns to promote, %v", n, err)
	}
	promote("", 2)
	if _, err := l.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Promoted(t.Context()); n != 0 || err != nil {
		t.Errorf("after the conversation was deleted: %d, %v", n, err)
	}
}

func TestRememberWithoutConsolidator(t *testing.T) {
	m := newManager(t, Config{})
	mustAdd(t, m, Entry{Content: "known"})
	decisions, err := m.Remember(t.Context(), Entry{Content: "known"}, Entry{Content: "new"}, Entry{Content: "new"}, Entry{Content: "known", UserID: "ann"})
	var actions []Action
	for _, d := range decisions {
		actions = append(actions, d.Action)
	}
	if err != nil || !slices.Equal(actions, []Action{ActionNone, ActionAdd, ActionNone, ActionAdd}) {
		t.Errorf("%v, %v", actions, err)
	}
	if facts, err := m.List(t.Context(), Filter{}); err != nil || !slices.Equal(contents(facts), []string{"known", "new", "known"}) {
		t.Errorf("%q, %v", contents(facts), err)
	}
}

// verdict decides the same about every new fact.
type verdict func(e *Entry) Decision

func (v verdict) Consolidate(_ context.Context, fresh, _ []*Entry) (out []Decision, err error) {
	for _, e := range fresh {
		out = append(out, v(e))
	}
	return out, nil
}

// short decides about too few.
type short struct{}

func (short) Consolidate(context.Context, []*Entry, []*Entry) ([]Decision, error) { return nil, nil }

func TestRememberCarriesOutDecisions(t *testing.T) {
	add := func(c Consolidator) (*Manager, error) {
		m := newManager(t, Config{Consolidator: c})
		mustAdd(t, m, Entry{ID: "old", Content: "old"})
		_, err := m.Remember(t.Context(), Entry{Content: "new"})
		return m, err
	}
	m, err := add(verdict(func(*Entry) Decision { return Decision{ActionDelete, &Entry{ID: "old"}} }))
	if facts, err2 := m.List(t.Context(), Filter{}); err != nil || err2 != nil || len(facts) != 0 {
		t.Errorf("delete: %q left, %v", contents(facts), errors.Join(err, err2))
	}
	m, err = add(verdict(func(*Entry) Decision { return Decision{ActionUpdate, entry("old", "both")} }))
	if facts, err2 := m.List(t.Context(), Filter{}); err != nil || err2 != nil || !slices.Equal(contents(facts), []string{"both"}) {
		t.Errorf("update: %q, %v", contents(facts), errors.Join(err, err2))
	}
	for name, c := range map[string]Consolidator{
		"0 decisions for 1 facts":     short{},
		`decision 0: action "maybe"`:  verdict(func(e *Entry) Decision { return Decision{"maybe", e} }),
		"decision 0: no entry":        verdict(func(*Entry) Decision { return Decision{Action: ActionAdd} }),
		"consolidate 1 facts: panic:": verdict(func(*Entry) Decision { panic("boom") }),
	} {
		if _, err := add(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
