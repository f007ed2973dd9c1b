package steps

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// Provider returns the operation provide as a agent.Provider,
// with estimate_tokens if the plugin has it.
func Provider(p *host.Plugin, o Options) (agent.Provider, error) {
	op, err := prepare(p, abi.OpProvide, o)
	if err != nil {
		return nil, err
	}
	spec, _ := p.Spec().Operation(abi.OpProvide)
	c := &contextProvider{o: op, priority: cmp.Or(o.Priority, spec.Defaults.Priority)}
	if _, missing := p.Spec().Operation(abi.OpEstimateTokens); missing == nil {
		if c.estimate, err = prepare(p, abi.OpEstimateTokens, Options{Step: o.Step, Timeout: o.Timeout, Reads: o.Reads}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

type contextProvider struct {
	o, estimate *operation
	priority    int
}

func (c *contextProvider) Isolated() {}

// Name is the name of the step, or of the plugin.
func (c *contextProvider) Name() string {
	if c.o.step != "" {
		return c.o.step
	}
	return c.o.module.Plugin
}

func (c *contextProvider) Priority() int { return c.priority }

// EstimateTokens is 0 for a plugin that does not estimate.
func (c *contextProvider) EstimateTokens(ctx context.Context, s *agent.State) (int, error) {
	if c.estimate == nil {
		return 0, nil
	}
	var reply abi.EstimateReply
	request := c.estimate.provideRequest(s, s.Messages, agent.Budget{})
	if _, err := c.estimate.Ask(ctx, request, &reply); err != nil {
		return 0, err
	}
	return reply.Tokens, nil
}

// Apply changes the messages, and the parts of the state the guest names.
func (c *contextProvider) Apply(ctx context.Context, s *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	var reply abi.ProvideReply
	changed, err := c.o.Ask(ctx, c.o.provideRequest(s, msgs, b), &reply)
	if err != nil || !changed {
		return nil, err
	}
	if st := reply.State; st != nil {
		if st.Observations != nil {
			s.Observations = st.Observations
		}
		if st.Reflection != nil {
			s.Reflection = *st.Reflection
		}
		if st.Data != nil {
			s.Data = st.Data
		}
	}
	return pipelineMessages(reply.Messages, msgs), nil
}

// shownMessage tells messages apart as a guest sees them.
type shownMessage struct{ role, content, name, calls, callID string }

func shown(m *abi.Message) shownMessage {
	return shownMessage{m.Role, m.Content, m.Name, canonicalCalls(m.ToolCalls), m.ToolCallID}
}

// canonicalCalls writes tool calls in the one form that all ways to write the same JSON
// share: a guest may order keys and escape characters in its own. No calls are empty.
func canonicalCalls(raw json.RawMessage) string {
	var calls []any
	if len(raw) == 0 {
		return ""
	}
	if json.Unmarshal(raw, &calls) != nil {
		return string(raw)
	}
	if len(calls) == 0 {
		return ""
	}
	data, err := json.Marshal(calls)
	if err != nil {
		return string(raw)
	}
	return string(data)
}

// pipelineMessages are the messages of a guest; nil is no change. One that the guest was
// sent and hands back is the message that it stands for, with all that a guest does not
// see: images and other parts, and members that are not known.
func pipelineMessages(in []abi.Message, sent []pipeline.Message) []pipeline.Message {
	if in == nil {
		return nil
	}
	places := make(map[shownMessage][]int, len(sent))
	for i, m := range abiMessages(sent) {
		key := shown(&m)
		places[key] = append(places[key], i)
	}
	out := make([]pipeline.Message, len(in))
	for i := range in {
		m := &in[i]
		key := shown(m)
		if at := places[key]; len(at) > 0 {
			out[i], places[key] = sent[at[0]], at[1:]
			continue
		}
		if string(m.ToolCalls) == "null" {
			m.ToolCalls = nil
		}
		out[i] = pipeline.Message{Role: pipeline.Role(m.Role), Content: m.Content, Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	}
	return out
}

// provideRequest is the request of provide and estimate_tokens. Messages that the guest does
// not read are not made; the call leaves out the rest.
func (o *operation) provideRequest(s *agent.State, msgs []pipeline.Message, b agent.Budget) abi.ProvideRequest {
	r := abi.ProvideRequest{
		State:    abi.AgentState{RunID: s.RunID, Observations: s.Observations, Reflection: s.Reflection, Data: s.Data},
		Budget:   abi.ProviderBudget{MaxTokens: b.MaxTokens, MaxMessages: b.MaxMessages, Phase: string(b.Phase)},
		Settings: o.Settings(),
	}
	if o.Parts().Has(abi.PartMessages) {
		r.Messages = abiMessages(msgs)
	}
	if o.Parts().Has(abi.PartStateMessages) {
		r.State.Messages = abiMessages(s.Messages)
	}
	return r
}

// abiMessages are messages as guests see them: with the texts of their parts, the calls in
// them as tool calls, and the developer as the system.
func abiMessages(msgs []pipeline.Message) []abi.Message {
	out := make([]abi.Message, len(msgs))
	for i := range msgs {
		m := &msgs[i]
		out[i] = abi.Message{Role: string(m.Role), Content: m.Text(), Name: m.Name, ToolCalls: m.Calls(), ToolCallID: m.ToolCallID}
		if m.Role == pipeline.RoleDeveloper {
			out[i].Role = string(pipeline.RoleSystem)
		}
	}
	return out
}
