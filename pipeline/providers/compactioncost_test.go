package providers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// loop is an agent that sends its messages through a compaction before each turn.
type loop struct {
	state  agent.State
	budget agent.Budget
	failed int
}

func (l *loop) say(t *testing.T, c *Compaction, words int) {
	t.Helper()
	role := pipeline.RoleUser
	if n := len(l.state.Messages); l.state.Messages[n-1].Role == role {
		role = pipeline.RoleAssistant
	}
	l.state.Messages = append(l.state.Messages, message.New(role, strings.Repeat("w ", words)))
	if _, err := c.Apply(t.Context(), &l.state, l.state.Messages, l.budget); err != nil {
		l.failed++
	}
}

// A compactor asks a model, and ends what the model's cache knows of the prompt. So a full list
// must not call it for each turn.
func TestCompactorCallsOf1000Turns(t *testing.T) {
	for name, c := range map[string]struct {
		cfg     CompactionConfig
		system  int
		turn    func(i int) int
		summary string
		most    int
	}{
		"defaults":                   {CompactionConfig{}, 50, func(int) int { return 20 }, "sum", 12},
		"one larger than the room":   {CompactionConfig{TriggerTokens: 1000, KeepTokens: 900}, 50, func(i int) int { return map[bool]int{true: 300, false: 5}[i == 500] }, "sum", 41},
		"some larger than the room":  {CompactionConfig{TriggerTokens: 1000, KeepTokens: 900}, 50, func(i int) int { return map[bool]int{true: 300, false: 5}[i%10 == 0] }, "sum", 98},
		"instructions above a mark":  {CompactionConfig{}, 3000, func(int) int { return 20 }, "sum", 40},
		"instructions above the top": {CompactionConfig{}, 3900, func(int) int { return 5 }, "sum", 49},
		"a long summary":             {CompactionConfig{}, 50, func(int) int { return 20 }, strings.Repeat("w ", 3000), 33},
	} {
		calls := 0
		c.cfg.Compactor = compactor(func([]pipeline.Turn, string) (string, error) { calls++; return c.summary, nil })
		c.cfg.Logger = slog.New(slog.DiscardHandler)
		p := compaction(t, c.cfg)
		l := &loop{budget: agent.Budget{MaxTokens: 4096}}
		l.state.Messages = []pipeline.Message{message.New(pipeline.RoleSystem, strings.Repeat("s ", c.system))}
		for i := range 1000 {
			l.say(t, p, c.turn(i))
		}
		t.Logf("%s: %d calls", name, calls)
		if calls == 0 || calls > c.most || l.failed > 0 {
			t.Errorf("%s: %d calls for 1,000 turns, want %d at most; %d failed", name, calls, c.most, l.failed)
		}
	}
}

// A compactor that fails, or that is of no use, gets a pause that doubles; each run has its own.
func TestFailingCompactorOfAnAgentGetsPauses(t *testing.T) {
	for name, answer := range map[string]func() (string, error){
		"fails":     func() (string, error) { return "", errors.New("no model") },
		"no use":    func() (string, error) { return strings.Repeat("w ", 200), nil },
		"is silent": func() (string, error) { return " ", nil },
	} {
		calls, now := 0, time.Unix(0, 0)
		p := compaction(t, CompactionConfig{
			TriggerTokens: 100, KeepTokens: 50, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
			Compactor: compactor(func([]pipeline.Turn, string) (string, error) { calls++; return answer() }),
		})
		l := &loop{state: agent.State{RunID: "a", Messages: script("s:be brief")}, budget: agent.Budget{MaxTokens: 140}}
		for range 700 {
			now = now.Add(time.Second)
			l.state.Messages = append(l.state.Messages[:1:1], script("u:"+strings.Repeat("w ", 80), "a:"+strings.Repeat("w ", 30), "u:q")...)
			if _, err := p.Apply(t.Context(), &l.state, l.state.Messages, l.budget); err != nil {
				l.failed++
			}
		}
		if calls != 7 { // after 0, 10, 30, 70, 150, 310 and 630 seconds
			t.Errorf("%s: %d calls in 700 seconds, want 7", name, calls)
		}
		l.state.RunID = "b"
		if _, _ = p.Apply(t.Context(), &l.state, l.state.Messages, l.budget); calls != 8 {
			t.Errorf("%s: another run has the pause, too", name)
		}
		l.state.RunID = "a"
		if _, err := p.Apply(t.Context(), &l.state, l.state.Messages, l.budget); err == nil || !strings.Contains(err.Error(), "(7 in a row) and is called again in ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A run that is cancelled says nothing about the compactor.
	p := compaction(t, CompactionConfig{TriggerTokens: 10, Compactor: compactor(short)})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := agent.State{Messages: script("u:"+strings.Repeat("w ", 80), "a:b", "u:q")}
	_, _ = p.Apply(ended, &s, s.Messages, agent.Budget{})
	if left, _ := p.cfg.Pauses.Left("", time.Now()); left > 0 {
		t.Errorf("pause of %v after a run was cancelled", left)
	}
}

// The summary in a list has a bound, whatever the compactor returns.
func TestSummaryInAListIsBounded(t *testing.T) {
	for name, answer := range map[string]string{
		"lines":    strings.Repeat("an old line\n", 5000) + "the newest line",
		"one line": strings.Repeat("word ", 20_000),
		"no words": strings.Repeat("x", 8<<20),
	} {
		var log bytes.Buffer
		p := compaction(t, CompactionConfig{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Compactor: compactor(func([]pipeline.Turn, string) (string, error) { return answer, nil }),
		})
		s := agent.State{Messages: script("u:"+strings.Repeat("w ", 3600), "a:"+strings.Repeat("w ", 500), "u:q")}
		list, err := p.Apply(t.Context(), &s, s.Messages, agent.Budget{MaxTokens: 4000})
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v, %d messages", name, err, len(list))
		}
		n, err := p.cfg.Counter.Total(t.Context(), list[:1])
		if text := list[0].Text(); err != nil || n > 1000 || name == "lines" && !strings.HasSuffix(text, "the newest line") || !strings.Contains(log.String(), "level=WARN msg=\"summary is too long and is cut\"") {
			t.Errorf("%s: %d tokens, %v, ends with %q, log %s", name, n, err, text[max(0, len(text)-40):], log.String())
		}
	}
}
