package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// longChat is a chat of n messages, every third answer with two tool calls, some 100
// tokens each.
func longChat(n int) []pipeline.Message {
	lines := []string{"s:You answer from the documents."}
	for i := 0; len(lines) < n; i++ {
		text := fmt.Sprint(i, strings.Repeat(" The window holds what the budget leaves room for.", 10))
		lines = append(lines, "u:"+text)
		if i%3 == 0 {
			lines = append(lines, fmt.Sprintf("c%d,cx%d:", i, i), fmt.Sprintf("r%d:%s", i, text), fmt.Sprintf("rx%d:%s", i, text))
		}
		lines = append(lines, "a:"+text)
	}
	return script(lines[:n]...)
}

// BenchmarkAssemble is a run over 200 messages whose counts are known, counted in
// cl100k_base: with room for all of them, and with room for a third.
func BenchmarkAssemble(b *testing.B) {
	for name, budget := range map[string]agent.Budget{
		"fits":      {MaxTokens: 1 << 20},
		"truncated": {MaxTokens: 8000},
	} {
		b.Run(name, func(b *testing.B) {
			counter, err := agent.NewCounter(agent.CounterConfig{})
			if err != nil {
				b.Fatal(err)
			}
			c := chain(b, Config{
				Counter: counter, Enforce: true,
				Compaction: CompactionConfig{TriggerTokens: 1 << 20},
				Extra:      []agent.Provider{extra{name: "account", priority: 5, text: "The account is in good standing."}},
			})
			state := agent.State{Messages: longChat(200), Observations: []string{"The user reads about windows."}}
			assemble := func() {
				s := state.Clone()
				a, err := c.Assemble(b.Context(), &s, s.Messages, budget)
				if err != nil || a.Diagnostics.TokensOver > 0 || (len(a.Messages) == 202) != (name == "fits") {
					b.Fatalf("%d messages, %+v, %v", len(a.Messages), a.Diagnostics, err)
				}
			}
			assemble()
			b.ReportAllocs()
			for b.Loop() {
				assemble()
			}
		})
	}
}

// BenchmarkCompact is a compaction of 200 messages.
func BenchmarkCompact(b *testing.B) {
	c := chain(b, Config{Compaction: CompactionConfig{TriggerMessages: 150}})
	msgs := longChat(200)
	for b.Loop() {
		state := agent.State{Messages: msgs}
		a, err := c.Assemble(b.Context(), &state, msgs, agent.Budget{})
		if err != nil || len(a.Messages) > 150 {
			b.Fatalf("%d messages, %v", len(a.Messages), err)
		}
	}
}
