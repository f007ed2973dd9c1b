package memory

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// sayings takes each turn for a fact.
var sayings = ExtractFunc(func(_ context.Context, turns []pipeline.Turn) (out []Entry, err error) {
	for _, turn := range turns {
		out = append(out, Entry{Content: string(turn.Role) + " said " + turn.Content})
	}
	return out, nil
})

func TestEvictedTurnsBecomeFacts(t *testing.T) {
	var told []string
	var m *Manager
	m = newManager(t, Config{Extractor: sayings, Window: SlidingWindowConfig{MaxTokens: 1, OnEvict: func(ctx context.Context, evicted []pipeline.Turn) {
		facts, err := m.List(ctx, Filter{})
		if err != nil {
			t.Error(err)
		}
		told = append(told, evicted[0].Content+" after "+strings.Join(contents(facts), ", "))
	}}})
	for _, text := range []string{"a", "b", "a", "c"} {
		if err := m.AddMessage(t.Context(), pipeline.RoleUser, text); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a after user said a", "b after user said a, user said b", "a after user said a, user said b"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	facts, err := m.List(t.Context(), Filter{})
	if err != nil || !slices.Equal(facts[1].SourceTurns, []string{"turn-2"}) {
		t.Errorf("facts %+v, %v", facts, err)
	}
}

func TestFailedPromotionLeavesTheConversation(t *testing.T) {
	for name, extractor := range map[string]ExtractFunc{
		"no model":          func(context.Context, []pipeline.Turn) ([]Entry, error) { return nil, errors.New("no model") },
		"panic: boom":       func(context.Context, []pipeline.Turn) ([]Entry, error) { panic("boom") },
		"relevance_score 7": func(context.Context, []pipeline.Turn) ([]Entry, error) { return []Entry{{Relevance: 7}}, nil },
		"id is taken": func(context.Context, []pipeline.Turn) ([]Entry, error) {
			return []Entry{{ID: "known", Content: "x"}}, nil
		},
		`memory_type \"vague\": i`: func(context.Context, []pipeline.Turn) ([]Entry, error) { return []Entry{{Type: "vague"}}, nil },
	} {
		var log bytes.Buffer
		m := newManager(t, Config{Extractor: extractor, Logger: slog.New(slog.NewTextHandler(&log, nil)), Window: SlidingWindowConfig{MaxTokens: 1}})
		mustAdd(t, m, Entry{ID: "known", Content: "known"})
		for _, text := range []string{"a", "b"} {
			if err := m.AddMessage(t.Context(), pipeline.RoleUser, text); err != nil {
				t.Fatal(err)
			}
		}
		facts, err := m.List(t.Context(), Filter{})
		if err != nil || len(facts) != 1 || facts[0].Content != "known" {
			t.Errorf("%s: facts %q, %v", name, contents(facts), err)
		}
		if got := log.String(); !strings.Contains(got, `level=WARN msg="evicted turns not promoted"`) || !strings.Contains(got, name) {
			t.Errorf("%s: log %s", name, got)
		}
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

func TestPromotionStep(t *testing.T) {
	m := newManager(t, Config{Extractor: sayings})
	items := []pipeline.Item{
		{Content: "d", Source: pipeline.SourceRetrieval},
		{Content: "m", Source: pipeline.SourceMemory, CreatedAt: epoch, Metadata: map[string]any{"role": "bard"}},
		{Content: "c", Source: pipeline.SourceConversation, Sequence: 4, Metadata: map[string]any{"role": "assistant"}},
	}
	for range 2 {
		out, err := m.PromotionStep().Run(t.Context(), &pipeline.Query{}, items)
		if err != nil || len(out) != 3 {
			t.Fatal(out, err)
		}
	}
	facts, err := m.List(t.Context(), Filter{})
	if err != nil || !slices.Equal(contents(facts), []string{"user said m", "assistant said c"}) || !slices.Equal(facts[0].SourceTurns, []string{"2026-01-01T00:00:00Z", "turn-4"}) {
		t.Errorf("%+v, %v", facts, err)
	}
	if out, err := newManager(t, Config{}).PromotionStep().Run(t.Context(), &pipeline.Query{}, items); err != nil || len(out) != 3 {
		t.Errorf("without an extractor: %v, %v", out, err)
	}
}
