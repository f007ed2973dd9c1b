package providers

import (
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

func observation(t *testing.T) *Observation {
	t.Helper()
	p, err := NewObservation(ObservationConfig{Header: "seen:", Counter: words(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestObservationPlacesItsMessage(t *testing.T) {
	state := agent.State{Observations: []string{"a", "b"}, Reflection: "all well"}
	text := "s:seen:\n\nall well\n\n- a\n- b"
	for name, c := range map[string]struct {
		state agent.State
		msgs  []pipeline.Message
		want  []string
	}{
		"after the system prompt": {state, script("s:S", "s:T", "u:U"), []string{"s:S", text, "s:T", "u:U"}},
		"at the front":            {state, script("u:U", "s:S"), []string{text, "u:U", "s:S"}},
		"alone":                   {state, nil, []string{text}},
		"in place of the old":     {state, append(script("u:V"), script("s:seen:\n\n- old", "u:U")...), []string{"u:V", text, "u:U"}},
		"without a reflection":    {agent.State{Observations: []string{"a"}}, nil, []string{"s:seen:\n\n- a"}},
		"only a reflection":       {agent.State{Reflection: "r"}, nil, []string{"s:seen:\n\nr"}},
		"nothing observed":        {agent.State{}, script("u:U"), []string{"u:U"}},
		"nothing any more":        {agent.State{}, script("s:seen:\n\n- old", "u:U"), []string{"u:U"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.state
			out := apply(t, observation(t), &s, c.msgs, agent.Budget{})
			wantList(t, out, c.want...)
		})
	}
}

func TestObservationIsWrittenBackOnce(t *testing.T) {
	p := observation(t)
	state := agent.State{Observations: []string{"a"}, Messages: script("s:S", "u:U")}
	kept := state.Messages
	given := script("s:S", "s:only for this call", "u:U")
	want := "s:seen:\n\n- a"
	wantList(t, apply(t, p, &state, given, agent.Budget{}), "s:S", "s:only for this call", want, "u:U")
	wantList(t, state.Messages, "s:S", want, "u:U")
	wantList(t, kept, "s:S", "u:U")

	again := append(script("s:S", "s:only for this call"), state.Messages[1:]...)
	wantList(t, apply(t, p, &state, again, agent.Budget{}), "s:S", "s:only for this call", want, "u:U")

	if n, err := p.EstimateTokens(t.Context(), &state); n != 0 || err != nil {
		t.Errorf("estimate of what is there already: %d, %v", n, err)
	}
	wantList(t, apply(t, p, &state, state.Messages, agent.Budget{}), "s:S", want, "u:U")

	state.Observations = append(state.Observations, "b c")
	if n, err := p.EstimateTokens(t.Context(), &state); n != 6 || err != nil {
		t.Errorf("estimate %d, %v, want 6", n, err)
	}
	wantList(t, apply(t, p, &state, state.Messages, agent.Budget{}), "s:S", want+"\n- b c", "u:U")
	wantList(t, state.Messages, "s:S", want+"\n- b c", "u:U")
}

func TestObservationComesBeforeOthersWithoutASystemPrompt(t *testing.T) {
	state := agent.State{Observations: []string{"a"}, Messages: script("u:U")}
	wantList(t, apply(t, observation(t), &state, script("s:only for this call", "u:U"), agent.Budget{}),
		"s:seen:\n\n- a", "s:only for this call", "u:U")
	wantList(t, state.Messages, "s:seen:\n\n- a", "u:U")
}

func TestObservationWritesTheWholeListToAnEmptyState(t *testing.T) {
	state := agent.State{Reflection: "r"}
	apply(t, observation(t), &state, script("u:U"), agent.Budget{})
	wantList(t, state.Messages, "s:seen:\n\nr", "u:U")

	state = agent.State{}
	apply(t, observation(t), &state, script("u:U"), agent.Budget{})
	if state.Messages != nil {
		t.Errorf("messages %v without an observation", state.Messages)
	}
}

func TestObservationTakesNoMessageOfTheUserForItsOwn(t *testing.T) {
	p, err := NewObservation(ObservationConfig{Counter: words(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := agent.State{Messages: script("s:what I saw today", "u:q")}
	for range 2 {
		wantList(t, apply(t, p, &s, s.Messages, agent.Budget{}), "s:what I saw today", "u:q")
	}
	s.Observations = []string{"o"}
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "s:what I saw today", "s:"+DefaultObservationHeader+"\n\n- o", "u:q")
	s.Observations = nil
	apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, s.Messages, "s:what I saw today", "u:q")
}
