package providers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// extra is a provider that adds a system message at the end.
type extra struct {
	name     string
	priority int
	text     string
	err      error
}

func (e extra) Name() string  { return e.name }
func (e extra) Priority() int { return e.priority }
func (e extra) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 100, nil
}

func (e extra) Apply(_ context.Context, s *agent.State, msgs []pipeline.Message, _ agent.Budget) ([]pipeline.Message, error) {
	s.Data = map[string]any{"by": e.name}
	return append(msgs, message.New(pipeline.RoleSystem, e.text)), e.err
}

func chain(t testing.TB, cfg Config) *agent.Chain {
	t.Helper()
	if cfg.Counter == nil {
		cfg.Counter = words(t)
	}
	cfg.Logger = quiet()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSwitches(t *testing.T) {
	off := func(o, c, tr bool) Config {
		return Config{Observation: ObservationConfig{Disabled: o}, Compaction: CompactionConfig{Disabled: c}, Truncation: TruncationConfig{Disabled: tr}}
	}
	enforced := off(true, true, true)
	enforced.Enforce = true
	moved := off(false, true, false)
	moved.Observation.Priority = 31
	for _, c := range []struct {
		cfg  Config
		want []string
	}{
		{Config{}, []string{"observation", "compaction", "truncation"}},
		{off(true, false, false), []string{"compaction", "truncation"}},
		{off(false, true, false), []string{"observation", "truncation"}},
		{off(false, false, true), []string{"observation", "compaction"}},
		{off(true, true, true), nil},
		{enforced, []string{"enforcement"}},
		{moved, []string{"truncation", "observation"}},
		{Config{Extra: []agent.Provider{extra{name: "a", priority: 25}, extra{name: "b", priority: 5}, extra{name: "c", priority: 100}}, Enforce: true},
			[]string{"b", "observation", "compaction", "a", "truncation", "c", "enforcement"}},
	} {
		if got := chain(t, c.cfg).Names(); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"truncation: max_messages -1: invalid value (want 0 or more)":                     {Truncation: TruncationConfig{MaxMessages: -1}},
		"compaction: trigger_tokens -2: invalid value (want 0 or more)":                   {Compaction: CompactionConfig{TriggerTokens: -2}},
		"enforcement: max_tokens -3: invalid value (want 0 or more)":                      {Truncation: TruncationConfig{Disabled: true, MaxTokens: -3}, Enforce: true},
		`provider "truncation": registered twice: invalid value (give one another name)`:  {Extra: []agent.Provider{extra{name: "truncation"}}},
		`provider "enforcement": registered twice: invalid value (give one another name)`: {Extra: []agent.Provider{extra{name: "enforcement"}}, Enforce: true},
	} {
		if _, err := New(cfg); err == nil || err.Error() != want || !errors.Is(err, pipeline.ErrInvalid) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestBothWaysToRegisterAreEqual holds the list of the configuration against Register
// on the finished chain, with random priorities, failures and lists.
func TestBothWaysToRegisterAreEqual(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var extras []agent.Provider
		for i := range r.IntN(6) {
			e := extra{name: fmt.Sprint("x", i), priority: r.IntN(5) * 10, text: fmt.Sprint("text ", i)}
			if r.IntN(4) == 0 {
				e.err = errors.New("down")
			}
			extras = append(extras, e)
		}
		base := Config{Enforce: r.IntN(2) == 0, Plan: r.IntN(2) == 0}
		listed := base
		listed.Extra = extras
		one, other := chain(t, listed), chain(t, base)
		for _, e := range extras {
			if err := other.Register(e); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := one.Names(), other.Names(); !slices.Equal(a, b) {
			t.Fatalf("seed %d: order %v and %v", seed, a, b)
		}
		msgs := randomChat(r)
		budget := agent.Budget{MaxTokens: r.IntN(80), MaxMessages: r.IntN(20)}
		state := agent.State{Messages: msgs}
		if r.IntN(2) == 0 {
			state.Observations = []string{"seen"}
		}
		a, stateA := run(t, one, state, budget)
		b, stateB := run(t, other, state, budget)
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(stateA, stateB) {
			t.Fatalf("seed %d: %+v and %+v, states %+v and %+v", seed, a, b, stateA, stateB)
		}
	}
}

// run assembles the messages of a copy of the state, and returns the outcome without
// times.
func run(t *testing.T, c *agent.Chain, s agent.State, b agent.Budget) (*agent.Assembly, agent.State) {
	t.Helper()
	s = s.Clone()
	a, err := c.Assemble(t.Context(), &s, s.Messages, b)
	if err != nil {
		t.Fatal(err)
	}
	a.Diagnostics.TimeMS = 0
	for i := range a.Diagnostics.Providers {
		a.Diagnostics.Providers[i].TimeMS = 0
	}
	return a, s
}

func TestEnforcementHoldsTheBudget(t *testing.T) {
	late := extra{name: "late", priority: 100, text: "one two three"}
	state := agent.State{Messages: script("s:S", "u:a", "a:b", "u:c")}
	budget := agent.Budget{MaxTokens: 6, MaxMessages: 4}
	off := CompactionConfig{Disabled: true}
	a, _ := run(t, chain(t, Config{Extra: []agent.Provider{late}, Compaction: off}), state, budget)
	wantList(t, a.Messages, "s:S", "u:a", "a:b", "u:c", "s:one two three")
	if d := a.Diagnostics; d.TokensOver != 1 || d.MessagesOver != 1 {
		t.Errorf("%d tokens and %d messages over", d.TokensOver, d.MessagesOver)
	}
	a, s := run(t, chain(t, Config{Extra: []agent.Provider{late}, Compaction: off, Enforce: true}), state, budget)
	wantList(t, a.Messages, "s:S", "u:c", "s:one two three")
	wantList(t, s.Messages, "s:S", "u:a", "a:b", "u:c")
	if d := a.Diagnostics; d.TokensOver != 0 || d.MessagesOver != 0 || d.Providers[3].Outcome != agent.ProviderChanged {
		t.Errorf("diagnostics %+v", d)
	}
}

func TestPlanLeavesRoomForLaterProviders(t *testing.T) {
	late := extra{name: "late", priority: 100, text: "one two three"} // says 100
	state := agent.State{Messages: script("s:S", "u:a b", "a:c d", "u:e f")}
	budget := agent.Budget{MaxTokens: 8}
	a, _ := run(t, chain(t, Config{Extra: []agent.Provider{late}, Plan: true, Compaction: CompactionConfig{Disabled: true}}), state, budget)
	wantList(t, a.Messages, "s:S", "u:e f", "s:one two three")
	if n := a.Diagnostics.Providers[2].EstimatedTokens; n == nil || *n != 100 {
		t.Errorf("estimate %v", n)
	}
}

// TestWriteBacksLast runs the chain as an agent does: what observation and compaction do
// lasts, what truncation and others do does not.
func TestWriteBacksLast(t *testing.T) {
	c := chain(t, Config{
		Compaction: CompactionConfig{TriggerMessages: 6, KeepMessages: 3, Compactor: compactor(short)},
		Truncation: TruncationConfig{MaxMessages: 4},
		Extra:      []agent.Provider{extra{name: "early", priority: 5, text: "now"}},
	})
	state := agent.State{Messages: script("s:S", "u:a", "a:b", "u:c", "a:d", "u:e")}
	a, state := run(t, c, state, agent.Budget{})
	wantList(t, state.Messages, "s:S", summaryOf+"short", "u:e")
	wantList(t, a.Messages, "s:S", summaryOf+"short", "u:e", "s:now")

	state.Observations = []string{"o"}
	state.Messages = append(state.Messages, script("a:f", "u:g", "a:h", "u:i")...)
	seen := "s:" + DefaultObservationHeader + "\n\n- o"
	a, state = run(t, c, state, agent.Budget{})
	wantList(t, state.Messages, "s:S", seen, summaryOf+"short", "u:e", "a:f", "u:g", "a:h", "u:i")
	wantList(t, a.Messages, "s:S", seen, "u:i", "s:now") // no room for the summary, this time
}
