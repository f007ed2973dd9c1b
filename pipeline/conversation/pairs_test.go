package conversation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// madeUpTurn returns a turn of a conversation whose calls and results come in any order.
func madeUpTurn(r *rand.Rand, form message.Form, n int) pipeline.Turn {
	text := strings.Repeat("word ", 1+r.IntN(6)) + fmt.Sprint(n)
	id := func() string { return fmt.Sprint("c", max(0, n/3+r.IntN(3)-1)) }
	switch r.IntN(5) {
	case 0:
		return pipeline.Turn{Role: pipeline.RoleUser, Content: text}
	case 1:
		return pipeline.Turn{Role: pipeline.RoleAssistant, Content: text}
	case 2:
		m := message.New(pipeline.RoleAssistant, text)
		if r.IntN(2) == 0 {
			m.Parts = nil
		}
		for range 1 + r.IntN(2) {
			m.Parts = append(m.Parts, message.NewCall(id(), "f", "{}"))
		}
		return core.TurnOf(m)
	}
	m := message.NewResult(id(), "f", text)
	if form != message.FormOpenAI {
		m.Role = pipeline.RoleUser
		if r.IntN(2) == 0 {
			m.Parts = append(m.Parts, message.NewResult(id(), "f", "more").Parts...)
		}
		if r.IntN(3) == 0 {
			m.Parts = append(m.Parts, message.Part{Kind: message.Text, Text: "and"})
		}
	}
	return core.TurnOf(m)
}

// Whatever is added in whatever order, readers see no call without its result and no result
// without its call.
func TestReadersSeeNoHalfOfAnExchange(t *testing.T) {
	calls, lone := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		form := []message.Form{message.FormAnthropic, message.FormOpenAI}[seed%2]
		log := NewLog(store.NewMemory(), "t", "c")
		cfg := SlidingWindowConfig{MaxTokens: 12 + r.IntN(60), Tokenizer: pipeline.WordTokenizer(), Log: log, CompactInline: true, BeginWithUser: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			cfg.Compactor = CompactFunc(func(context.Context, []pipeline.Turn) (string, error) { return "summary", nil })
		}
		s, err := NewSlidingWindow(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			turn := madeUpTurn(r, form, n)
			if turn.Whole != nil { // as the API writes it
				if list, err := message.Convert([]message.Message{*turn.Whole}, form); err == nil && len(list) == 1 {
					turn = core.TurnOf(list[0])
				}
			}
			if err := s.AddTurn(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if r.IntN(10) == 0 {
				cfg.MaxTokens = 12 + r.IntN(60)
				if s, err = NewSlidingWindow(cfg); err == nil {
					err = log.Load(t.Context(), s)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			a, b := checkReaders(t, s, form)
			calls, lone = calls+a, lone+b
		}
	}
	if calls == 0 || lone == 0 {
		t.Errorf("%d calls with results were shown, %d turns were changed (want some of both)", calls, lone)
	}
}

// checkReaders returns how many calls are shown, and how many turns are not.
func checkReaders(t *testing.T, s *SlidingWindow, form message.Form) (calls, missing int) {
	t.Helper()
	messages, err := s.Messages()
	if err != nil {
		t.Fatal(err)
	}
	if err := message.Check(messages, message.FormAny); err != nil {
		t.Fatalf("%s: %v\n%+v", form, err, s.Turns())
	}
	items, err := s.Items(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	summary := 0
	if s.Summary() != "" {
		summary = 1
	}
	if len(items) != len(messages) {
		t.Fatalf("%d items, %d messages", len(items), len(messages))
	}
	for i := summary; i < len(items); i++ {
		turn := items[i].Turn()
		m := &messages[i]
		if n := len(m.Calls()) + len(m.Results()); n > 0 && (turn == nil || n != len(turn.Calls())+len(turn.Results())) {
			t.Fatalf("item %d differs from its message: %+v", i, m)
		} else if n == 0 && turn != nil && len(turn.Calls())+len(turn.Results()) > 0 {
			t.Fatalf("item %d has calls: %+v", i, turn)
		}
		calls += len(m.Calls())
	}
	return calls, len(s.Turns()) + summary - len(items)
}
