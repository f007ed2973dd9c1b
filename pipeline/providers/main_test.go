package providers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words counts words, and nothing for a message itself.
func words(tb testing.TB) *agent.Counter {
	tb.Helper()
	c, err := agent.NewCounter(agent.CounterConfig{Tokenizer: pipeline.WordTokenizer(), Overhead: -1})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// script makes messages of lines: s, u, a and t are the roles, "c1,c2:" asks for tools
// and "r1:" is a result.
func script(lines ...string) (msgs []pipeline.Message) {
	for _, line := range lines {
		kind, text, _ := strings.Cut(line, ":")
		m := message.New(pipeline.RoleUser, text)
		switch kind[0] {
		case 's':
			m.Role = pipeline.RoleSystem
		case 'u':
			m.Role = pipeline.RoleUser
		case 'a':
			m.Role = pipeline.RoleAssistant
		case 'c':
			m.Role = pipeline.RoleAssistant
			for _, id := range strings.Split(kind, ",") {
				m.Parts = append(m.Parts, message.NewCall(id, "look", `{"q":1}`))
			}
		case 'r':
			m = message.NewResult("c"+kind[1:], "", text)
		}
		msgs = append(msgs, m)
	}
	return msgs
}

// show is the opposite of script.
func show(msgs []pipeline.Message) (lines []string) {
	for i := range msgs {
		m := &msgs[i]
		kind := string(m.Role[0])
		switch {
		case len(m.Calls()) > 0:
			var ids []string
			for _, c := range m.Calls() {
				ids = append(ids, c.ID)
			}
			kind = strings.Join(ids, ",")
		case m.Role == pipeline.RoleTool:
			kind = "r" + strings.TrimPrefix(m.Results()[0].ID, "c")
		case m.Name != "":
			kind = m.Name
		}
		lines = append(lines, kind+":"+m.Text())
	}
	return lines
}

func wantList(t *testing.T, got []pipeline.Message, want ...string) {
	t.Helper()
	if lines := show(got); !slices.Equal(lines, want) {
		t.Errorf("messages\n%q, want\n%q", lines, want)
	}
}

// apply calls a provider as a chain does, but without copies.
func apply(t *testing.T, p agent.Provider, s *agent.State, msgs []pipeline.Message, b agent.Budget) []pipeline.Message {
	t.Helper()
	before := message.CloneList(msgs)
	out, err := p.Apply(t.Context(), s, msgs, b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(msgs, before, func(a, b pipeline.Message) bool { return a.Equal(&b) }) {
		t.Errorf("%s changed the list it was given", p.Name())
	}
	return out
}

// failingTokenizer fails on every count.
type failingTokenizer struct{ pipeline.Tokenizer }

func (failingTokenizer) Name() string { return "failing" }

func (failingTokenizer) Count(context.Context, ...string) ([]int, error) {
	return nil, fmt.Errorf("no vocabulary")
}

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
