package providers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// TestAgentLoop takes an agent through 60 turns with tools, with a provider that always
// fails, one that adds something for each call, and one behind truncation. At every call
// the budget holds, no pair is split, and nothing is written back but the summary; in
// the last turns, which have observations, the compactor fails.
func TestAgentLoop(t *testing.T) {
	budget, down := agent.Budget{MaxTokens: 300, MaxMessages: 30}, false
	c := chain(t, Config{
		Enforce: true,
		Compaction: CompactionConfig{Compactor: compactor(func(turns []pipeline.Turn, previous string) (string, error) {
			if down {
				return "", errors.New("down")
			}
			return Digest{MaxLine: 20, MaxText: 200}.Compact(t.Context(), turns, previous)
		})},
		Extra: []agent.Provider{
			extra{name: "early", priority: 5, text: "for this call"},
			extra{name: "fails", priority: 15, text: "never seen", err: errors.New("down")},
			extra{name: "late", priority: 100, text: "last of all"},
		},
	})
	r := rand.New(rand.NewPCG(60, 4))
	state := agent.State{Messages: script("s:You are an agent.")}
	outcomes := map[string]int{}
	for turn := range 60 {
		state.Messages = append(state.Messages, script(fmt.Sprintf("u:question %d", turn))...)
		if turn == 50 {
			state.Observations, down = []string{"much was asked"}, true
		}
		for range 1 + r.IntN(3) {
			a := assembleTurn(t, c, &state, budget)
			for _, d := range a.Diagnostics.Providers {
				outcomes[d.Name+" "+string(d.Outcome)]++
			}
			state.Messages = append(state.Messages, answer(r, turn)...)
		}
	}
	for _, want := range []struct {
		outcome string
		least   int
		why     string
	}{
		{"compaction changed", 5, "the list grows beyond its budget many times"},
		{"compaction unchanged", 50, "after a compaction there is room for some turns"},
		{"truncation changed", 5, "in the last turns the compactor fails"},
		{"observation changed", 1, "the last turns have an observation"},
		{"fails failed", 60, "it fails at each call, and there is one or more in a turn"},
		{"late changed", 60, "it adds its text at each call"},
		{"enforcement changed", 1, "the provider behind truncation adds what has no room"},
	} {
		if got := outcomes[want.outcome]; got < want.least {
			t.Errorf("%s: %d times, want %d or more, as %s (all outcomes: %v)", want.outcome, got, want.least, want.why, outcomes)
		}
	}
	if got := strings.Join(show(state.Messages), "\n"); strings.Count(got, summaryOf) != 1 || strings.Count(got, DefaultObservationHeader) != 1 {
		t.Errorf("one summary and one list of observations wanted in\n%s", got)
	}
}

// answer is a message of the agent, or a tool call with its results.
func answer(r *rand.Rand, turn int) []pipeline.Message {
	text := strings.Repeat("word ", 1+r.IntN(20))
	if r.IntN(2) == 0 {
		return script("a:" + text)
	}
	id := fmt.Sprintf("%dx%d", turn, r.Int())
	return script("c"+id+",cc"+id+":", "r"+id+":"+text, "rc"+id+":"+text)
}

// assembleTurn runs the chain and checks list and state.
func assembleTurn(t *testing.T, c *agent.Chain, s *agent.State, b agent.Budget) *agent.Assembly {
	t.Helper()
	before := s.Clone()
	a, err := c.Assemble(t.Context(), s, s.Messages, b)
	if err != nil {
		t.Fatal(err)
	}
	if d := a.Diagnostics; *d.After.Tokens > b.MaxTokens || d.After.Messages > b.MaxMessages || d.TokensOver > 0 || d.MessagesOver > 0 {
		t.Errorf("%d tokens, %d messages", *d.After.Tokens, d.After.Messages)
	}
	own := slices.DeleteFunc(slices.Clone(s.Messages), func(m pipeline.Message) bool {
		return strings.HasPrefix(m.Text(), SummaryHeader) || strings.HasPrefix(m.Text(), DefaultObservationHeader)
	})
	checkWhole(t, before.Messages, places(t, before.Messages, own))
	shown := slices.DeleteFunc(slices.Clone(a.Messages), func(m pipeline.Message) bool {
		return m.Role == pipeline.RoleSystem
	})
	checkWhole(t, s.Messages, places(t, s.Messages, shown))
	for _, text := range []string{"for this call", "last of all"} {
		seen := func(m pipeline.Message) bool { return m.Text() == text }
		if !slices.ContainsFunc(a.Messages, seen) || slices.ContainsFunc(s.Messages, seen) {
			t.Errorf("%q: want it in the list and not in the state", text)
		}
	}
	never := func(m pipeline.Message) bool { return m.Text() == "never seen" }
	if slices.ContainsFunc(a.Messages, never) || slices.ContainsFunc(s.Messages, never) || s.Data["by"] != "late" {
		t.Errorf("the provider that fails has left a trace")
	}
	if t.Failed() {
		t.Fatalf("state before %q\nlist %q\nstate %q", show(before.Messages), show(a.Messages), show(s.Messages))
	}
	return a
}
