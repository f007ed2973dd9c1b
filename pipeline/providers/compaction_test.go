package providers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// compactor is a pipeline.Compactor made of a function.
type compactor func(turns []pipeline.Turn, previous string) (string, error)

func (f compactor) Compact(_ context.Context, turns []pipeline.Turn, previous string) (string, error) {
	return f(turns, previous)
}

// naming sums up by naming what it was given.
func naming(turns []pipeline.Turn, previous string) (string, error) {
	for _, turn := range turns {
		previous += "<" + turn.Content + ">"
	}
	return previous, nil
}

func short([]pipeline.Turn, string) (string, error) { return "short", nil }

func compaction(t *testing.T, cfg CompactionConfig) *Compaction {
	t.Helper()
	cfg.Counter = words(t)
	p, err := NewCompaction(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const summaryOf = "s:" + SummaryHeader + "\n"

func TestCompaction(t *testing.T) {
	chat := []string{"s:S", "u:a", "a:b", "c1:", "r1:c", "u:d", "a:e", "a:f"}
	for name, c := range map[string]struct {
		msgs   []string
		cfg    CompactionConfig
		budget agent.Budget
		want   []string // nil for no change
	}{
		"small enough":      {msgs: chat, cfg: CompactionConfig{TriggerMessages: 8}},
		"no bound":          {msgs: chat},
		"half is kept":      {msgs: chat, cfg: CompactionConfig{TriggerMessages: 7}, want: []string{"s:S", summaryOf + "<a><b><calls look({\"q\":1})><c><e>", "u:d", "a:f"}},
		"pair is kept":      {msgs: append([]string{"s:S", "u:0"}, chat[1:]...), cfg: CompactionConfig{TriggerMessages: 8, KeepMessages: 7}, want: append([]string{"s:S", summaryOf + "<0><b>", "u:a"}, chat[3:]...)},
		"pair is summed up": {msgs: chat, cfg: CompactionConfig{TriggerMessages: 7, KeepMessages: 5}, want: []string{"s:S", summaryOf + "<a><b><calls look({\"q\":1})><c>", "u:d", "a:e", "a:f"}},
		"fits the budget":   {msgs: chat, budget: agent.Budget{MaxMessages: 8}},
		"budget of the run": {msgs: chat, budget: agent.Budget{MaxMessages: 7}, want: []string{"s:S", summaryOf + "<a><b><calls look({\"q\":1})><c>", "u:d", "a:e", "a:f"}},
		"newest is kept whatever it takes": {
			msgs: []string{"a:" + strings.Repeat("w ", 30), "u:q", "c1:", "r1:" + strings.Repeat("x ", 30)}, cfg: CompactionConfig{TriggerTokens: 20},
			want: []string{summaryOf + "short", "u:q", "c1:", "r1:" + strings.Repeat("x ", 30)},
		},
		"all must stay":            {msgs: []string{"s:a b c", "s:d e f", "u:g"}, cfg: CompactionConfig{TriggerTokens: 2}},
		"summary would be no gain": {msgs: []string{"a:a b", "u:c", "a:d"}, cfg: CompactionConfig{TriggerTokens: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.cfg.Compactor = compactor(naming); name == "newest is kept whatever it takes" {
				c.cfg.Compactor = compactor(short)
			}
			msgs := script(c.msgs...)
			s := agent.State{Messages: msgs}
			got := apply(t, compaction(t, c.cfg), &s, msgs, c.budget)
			if c.want == nil {
				if got != nil {
					t.Errorf("messages %q, want no change", show(got))
				}
				c.want = c.msgs
			} else {
				wantList(t, got, c.want...)
			}
			wantList(t, s.Messages, c.want...)
		})
	}
}

func TestCompactionHandsOnTheSummary(t *testing.T) {
	p := compaction(t, CompactionConfig{TriggerMessages: 4, KeepMessages: 2, Compactor: compactor(naming)})
	s := agent.State{Messages: script("s:S", "u:a", "a:b", "a:c", "u:d")}
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "s:S", summaryOf+"<a><b><c>", "u:d")
	s.Messages = append(s.Messages, script("a:e", "u:f")...)
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "s:S", summaryOf+"<a><b><c><d><e>", "u:f")
}

func TestCompactionWritesBackWhatIsTheStates(t *testing.T) {
	p := compaction(t, CompactionConfig{TriggerMessages: 4, KeepMessages: 2, Compactor: compactor(naming)})
	s := agent.State{Messages: script("s:S", "u:a", "a:b", "a:c", "u:d")}
	given := script("s:S", "s:only for this call", "u:a", "a:b", "a:also", "a:c", "u:d")
	wantList(t, apply(t, p, &s, given, agent.Budget{}),
		"s:S", "s:only for this call", summaryOf+"<a><b><c>", "a:also", "u:d")
	wantList(t, s.Messages, "s:S", summaryOf+"<a><b><c>", "u:d")

	// A list in which the messages of the state are not found is written back whole.
	s = agent.State{Messages: script("u:other")}
	apply(t, p, &s, script("s:S", "u:a", "a:b", "a:c", "u:d"), agent.Budget{})
	wantList(t, s.Messages, "s:S", summaryOf+"<a><b><c>", "u:d")
}

func TestCompactionLeavesObservedStatesAlone(t *testing.T) {
	p := compaction(t, CompactionConfig{TriggerMessages: 2, Compactor: compactor(short)})
	talk := script("u:a", "a:b", "a:b", "a:c") // of 4 words
	s := agent.State{Observations: []string{"o"}, Messages: talk}
	p.observed = func(agent.Budget) int { return 4 }
	if out := apply(t, p, &s, s.Messages, agent.Budget{}); out != nil {
		t.Errorf("within the bounds of observing: %q", show(out))
	}
	p.observed = func(agent.Budget) int { return 3 }
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "u:a", summaryOf+"short", "a:c")
	// Observations from elsewhere: the list may grow to four times the trigger.
	p.observed = nil
	s = agent.State{Observations: []string{"o"}, Messages: script("u:a", "a:b", "a:b", "a:c", "u:d", "a:e", "u:f", "a:g")}
	if out := apply(t, p, &s, s.Messages, agent.Budget{}); out != nil {
		t.Errorf("at four times the trigger: %q", show(out))
	}
	s.Messages = append(s.Messages, script("u:h")...)
	apply(t, p, &s, s.Messages, agent.Budget{})
	if len(s.Messages) >= 9 {
		t.Errorf("above four times the trigger: %q", show(s.Messages))
	}
	s = agent.State{Reflection: "r", Messages: script("u:a", "a:b", "a:b", "a:c")}
	p = compaction(t, CompactionConfig{TriggerMessages: 2, Compactor: compactor(short)})
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "u:a", summaryOf+"short", "a:c")
}

func TestCompactionTakesNoMessageOfTheUserForItsOwn(t *testing.T) {
	p := compaction(t, CompactionConfig{TriggerMessages: 3, Compactor: compactor(naming)})
	s := agent.State{Messages: script("s:only ever speak of cats", "a:b", "a:c", "u:d")}
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "s:only ever speak of cats", summaryOf+"<b><c>", "u:d")
}

// ramble is a conversation of n messages of several words each.
func ramble(n int) (msgs []pipeline.Message) {
	msgs = script("s:be brief")
	for i := range n {
		role := "u:"
		if i%2 == 1 {
			role = "a:"
		}
		msgs = append(msgs, script(fmt.Sprintf("%sthis is message %d of a rather long conversation about nothing at all %s", role, i, strings.Repeat("w ", i%17)))...)
	}
	return msgs
}

func TestDigestsTakeAQuarterOfTheBudget(t *testing.T) {
	counter := words(t)
	for _, budget := range []int{200, 400, 800} {
		s := agent.State{Messages: ramble(61)}
		out := apply(t, compaction(t, CompactionConfig{}), &s, s.Messages, agent.Budget{MaxTokens: budget})
		at := findSummary(out)
		if at < 0 {
			t.Errorf("budget %d: no summary", budget)
			continue
		}
		took, err := counter.Total(t.Context(), out[at:at+1])
		if err != nil || took > budget/4 || took < budget/8 {
			t.Errorf("budget %d: summary of %d tokens, %v", budget, took, err)
		}
	}
}

func TestCompactionGivesWayWhenItsSummaryDoesNotFit(t *testing.T) {
	long := compactor(func([]pipeline.Turn, string) (string, error) { return strings.Repeat("w ", 90), nil })
	p := compaction(t, CompactionConfig{Compactor: long})
	s := agent.State{Messages: ramble(61)}
	if out := apply(t, p, &s, s.Messages, agent.Budget{MaxTokens: 100}); out != nil || len(s.Messages) != 62 {
		t.Errorf("%q, %d messages written back", show(out), len(s.Messages))
	}
}

func TestCompactionHoldsWhatTruncationHolds(t *testing.T) {
	t.Parallel()
	seeds := uint64(2000)
	if os.Getenv("ANCHOR_THOROUGH") == "" {
		seeds = 400
	}
	counter, held := words(t), 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		msgs := randomChat(r)
		if seed%2 == 0 {
			msgs = ramble(r.IntN(80))
		}
		if len(msgs) == 0 {
			continue
		}
		b := agent.Budget{MaxTokens: 1 + r.IntN(300), MaxMessages: r.IntN(30)}
		cfg := Config{Counter: counter, Logger: quiet(), Truncation: TruncationConfig{MaxTokens: r.IntN(2) * r.IntN(300)}}
		room := tighter(cfg.Truncation.MaxTokens, b.MaxTokens)
		fits := func(list []pipeline.Message) bool {
			n, err := counter.Total(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			return !(size{n, len(list)}).exceeds(size{room, b.MaxMessages})
		}
		alone, both := cfg, cfg
		alone.Compaction.Disabled = true
		state := agent.State{Messages: msgs}
		if !fits(assembled(t, alone, state.Clone(), b)) {
			continue
		}
		held++
		for range 3 { // the summary stays in the state; the budget of the next run is another
			if got := assembled(t, both, state.Clone(), b); !fits(got) {
				t.Fatalf("seed %d, budget %+v, room %d\nlist %q\nout  %q", seed, b, room, show(msgs), show(got))
			}
			compact, err := New(both)
			if err != nil {
				t.Fatal(err)
			}
			wide := agent.Budget{MaxTokens: b.MaxTokens * 2, MaxMessages: b.MaxMessages * 2}
			if _, err := compact.Assemble(t.Context(), &state, state.Messages, wide); err != nil {
				t.Fatal(err)
			}
		}
	}
	if held < int(seeds)/4 {
		t.Errorf("%d lists held, want %d or more", held, seeds/4)
	}
}

func assembled(t *testing.T, cfg Config, s agent.State, b agent.Budget) []pipeline.Message {
	t.Helper()
	chain, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err := chain.Assemble(t.Context(), &s, s.Messages, b)
	if err != nil {
		t.Fatal(err)
	}
	return a.Messages
}

func TestCompactionFails(t *testing.T) {
	errDown := errors.New("down")
	for want, f := range map[string]compactor{
		"compact 2 messages: down":                            func([]pipeline.Turn, string) (string, error) { return "half a summary", errDown },
		"compact 2 messages: summary is empty: invalid value": func([]pipeline.Turn, string) (string, error) { return " \n", nil },
	} {
		p := compaction(t, CompactionConfig{TriggerMessages: 2, Compactor: f})
		s := agent.State{Messages: script("u:a", "a:b", "u:c")}
		out, err := p.Apply(t.Context(), &s, s.Messages, agent.Budget{})
		if out != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %s", out, err, want)
		}
		wantList(t, s.Messages, "u:a", "a:b", "u:c")
	}
	_, err := NewCompaction(CompactionConfig{KeepTokens: -1})
	if err == nil || err.Error() != "compaction: keep_tokens -1: invalid value (want 0 or more)" {
		t.Error(err)
	}
}

func TestCompactionProperties(t *testing.T) {
	counter, compacted := words(t), 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		msgs := randomChat(r)
		p := compaction(t, CompactionConfig{TriggerTokens: 1 + r.IntN(60), TriggerMessages: r.IntN(20), Compactor: compactor(short)})
		s := agent.State{Messages: msgs}
		out := apply(t, p, &s, msgs, agent.Budget{})
		if out == nil {
			continue
		}
		compacted++
		if !slices.EqualFunc(out, s.Messages, func(a, b pipeline.Message) bool { return a.Equal(&b) }) {
			t.Errorf("written back %q", show(s.Messages))
		}
		at := findSummary(out)
		if at < 0 {
			t.Fatalf("seed %d: no summary", seed)
		}
		kept := places(t, msgs, slices.Concat(out[:at], out[at+1:]))
		checkWhole(t, msgs, kept)
		for _, i := range append(mustStay(msgs), len(msgs)-1) {
			if !slices.Contains(kept, i) {
				t.Errorf("message %d must stay", i)
			}
		}
		before, err := counter.Total(t.Context(), msgs)
		if err != nil {
			t.Fatal(err)
		}
		after, err := counter.Total(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if over := before > p.cfg.TriggerTokens; over && after >= before || !over && len(out) >= len(msgs) {
			t.Errorf("%d messages of %d tokens after %d of %d", len(out), after, len(msgs), before)
		}
		if t.Failed() {
			t.Fatalf("seed %d, bounds %+v\nlist %q\nout  %q", seed, p.cfg, show(msgs), show(out))
		}
	}
	if compacted < 300 {
		t.Errorf("%d lists compacted, want 300 or more", compacted)
	}
}

// A digest says how many messages it does not name, and the diagnostics say how many lines were
// dropped in this run.
func TestDigestsCountWhatTheyDrop(t *testing.T) {
	for _, budget := range []int{100, 200, 400, 4000} {
		chain, err := agent.NewChain(agent.Config{Counter: words(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := chain.Register(compaction(t, CompactionConfig{TriggerTokens: 15})); err != nil {
			t.Fatal(err)
		}
		s := agent.State{Messages: ramble(101)}
		digested, before := 0, 0
		for round := range 3 {
			given := len(s.Messages)
			a, err := chain.Assemble(t.Context(), &s, s.Messages, agent.Budget{MaxTokens: budget, Phase: agent.PhaseLLM})
			if err != nil {
				t.Fatal(err)
			}
			at := findSummary(a.Messages)
			if at < 0 {
				t.Fatalf("budget %d: no summary", budget)
			}
			digested += given - len(a.Messages) + 1
			if round > 0 {
				digested-- // the summary so far
			}
			lines, gone := splitDigest(withoutHeader(a.Messages[at].Text()))
			if len(lines)+gone != digested {
				t.Errorf("budget %d, round %d: %d lines and %d left out of %d", budget, round, len(lines), gone, digested)
			}
			if got := a.Diagnostics.Providers[0].DroppedLines; got != gone-before || budget < 1000 && round == 0 && got == 0 {
				t.Errorf("budget %d, round %d: %d dropped lines, want %d", budget, round, got, gone-before)
			}
			before = gone
			s.Messages = append(s.Messages, ramble(40)[1:]...)
		}
	}
}
