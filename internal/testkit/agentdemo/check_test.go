package agentdemo

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

func TestSplit(t *testing.T) {
	call, result := fromJSON(pipeline.RoleAssistant, `"tool_calls":[{"id": "a"}]`),
		message.NewResult("a", "", "")
	user := message.New(pipeline.RoleUser, "x")
	for _, tt := range []struct {
		list []pipeline.Message
		want string
	}{
		{[]pipeline.Message{user, call, result, user}, ""},
		{[]pipeline.Message{user, result}, "the result of a is without its call"},
		{[]pipeline.Message{call, user}, "the call a is without its result"},
		{[]pipeline.Message{user, call}, "the call a is without its result"},
		{[]pipeline.Message{call, result, result}, "the result of a is without its call"},
	} {
		if got := split(tt.list); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The whole script is a valid list, and no two turns share a call.
func TestScript(t *testing.T) {
	var all []pipeline.Message
	for n := 1; n <= Turns; n++ {
		all = append(all, turn(n)...)
	}
	if why := split(all); why != "" {
		t.Error(why)
	}
	ids := map[string]bool{}
	for _, m := range all {
		if m.Role == pipeline.RoleTool && ids[m.Results()[0].ID] {
			t.Errorf("two results of %s", m.Results()[0].ID)
		}
		for _, r := range m.Results() {
			ids[r.ID] = true
		}
	}
}

// Every check finds what it is for.
func TestChecksFindWhatIsWrong(t *testing.T) {
	text := func(s string) []pipeline.Message { return []pipeline.Message{message.New(pipeline.RoleUser, s)} }
	summary := []pipeline.Message{message.New(pipeline.RoleSystem, providers.SummaryHeader+"\ns")}
	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := counter.Total(t.Context(), text("x"))
	if err != nil {
		t.Fatal(err)
	}
	call := func(change func(a, before *assembled)) *demo {
		size := agent.ListSize{Messages: 2, Tokens: &tokens}
		before := &assembled{State: agent.State{Messages: text("x")}}
		a := &assembled{Messages: text("x"), State: agent.State{Messages: append(text("x"), text("x")...)},
			Diagnostics: agent.Diagnostics{Before: size, After: size, Budget: agent.Budget{MaxTokens: tokens}}}
		change(a, before)
		d := &demo{counter: counter, before: before}
		d.check(t.Context(), 2, text("x"), a)
		return d
	}
	if d := call(func(_, _ *assembled) {}); len(d.failed) > 0 {
		t.Fatalf("nothing is wrong, and yet: %v", d.failed)
	}
	changed := func(a *assembled, name string, before, after int) {
		a.Diagnostics.Providers = []agent.ProviderDiagnostic{{Name: name, Outcome: agent.ProviderChanged,
			Before: agent.ListSize{Messages: before}, After: agent.ListSize{Messages: after}}}
	}
	for want, change := range map[string]func(a, before *assembled){
		"tokens, the budget is":                func(a, _ *assembled) { a.Diagnostics.Budget.MaxTokens-- },
		"another number of tokens":             func(a, _ *assembled) { a.Diagnostics.After.Tokens = new(int) },
		"is without its call":                  func(a, _ *assembled) { a.Messages[0] = message.NewResult("a", "", "") },
		"state: the result":                    func(a, _ *assembled) { a.State.Messages[0] = message.NewResult("b", "", "") },
		"began with 2 messages":                func(_, before *assembled) { before.State.Messages = nil },
		"what compaction wrote back":           func(_, before *assembled) { before.State.Messages = summary },
		"compaction changed the list and":      func(a, _ *assembled) { changed(a, providers.CompactionName, 2, 1) },
		"truncation of 3 messages to 1 left 2": func(a, _ *assembled) { changed(a, providers.TruncationName, 3, 1) },
	} {
		if d := call(change); !strings.Contains(errors.Join(d.failed...).Error(), want) {
			t.Errorf("want %q, got %v", want, d.failed)
		}
	}
	d := &demo{counter: counter}
	d.checkObserved(t.Context(), 1, &assembled{Messages: []pipeline.Message{message.NewResult("a", "", "")}})
	if len(d.failed) != 2 {
		t.Errorf("a list over its budget, with a result without its call: %v", d.failed)
	}
	d = &demo{}
	d.compare(1, &assembled{Messages: text("x")}, &assembled{Messages: text("y"), State: agent.State{Reflection: "r"}})
	if len(d.failed) != 3 {
		t.Errorf("two runs that differ: %v", d.failed)
	}
}

// A command that fails ends the demo with its message.
func TestCommandFails(t *testing.T) {
	err := Run(t.Context(), io.Discard, Options{Command: func(context.Context, string, ...string) (int, string, string) {
		return 3, "", "no such thing"
	}})
	if err == nil || err.Error() != "turn 1: assemble: code 3: no such thing" {
		t.Errorf("got %v", err)
	}
}

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
