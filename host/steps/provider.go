package steps

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Provider returns the operation provide as an agent.Provider. It calls estimate_tokens if
// the plugin has that operation.
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

// Name returns the name of the step, or else of the plugin.
func (c *contextProvider) Name() string {
	if c.o.step != "" {
		return c.o.step
	}
	return c.o.module.Plugin
}

func (c *contextProvider) Priority() int { return c.priority }

// EstimateTokens returns 0 for a plugin without the operation estimate_tokens.
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

// Apply changes the messages, and the parts of the state that the guest names.
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
	out, err := pipelineMessages(reply.Messages, msgs)
	if err != nil {
		return nil, c.o.refuse("%w", err)
	}
	return out, nil
}

// Distiller returns the operation distill as an agent.Distiller.
func Distiller(p *host.Plugin, o Options) (agent.Distiller, error) {
	op, err := prepare(p, abi.OpDistill, o)
	if err != nil {
		return nil, err
	}
	return distiller{op}, nil
}

type distiller struct{ o *operation }

// Observe asks for observations. It refuses an answer with a reflection.
func (d distiller) Observe(ctx context.Context, r agent.Observing) (*agent.Observed, error) {
	request := abi.DistillRequest{
		Mode: abi.DistillObserve, Observations: r.Observations, Reflection: r.Reflection, MaxTokens: r.MaxTokens, Settings: d.o.Settings(),
	}
	if d.o.Parts().Has(abi.PartMessages) {
		request.Messages = d.o.messages(r.Messages)
	}
	reply, err := d.ask(ctx, request)
	if err != nil || reply == nil {
		return nil, err
	}
	if reply.Reflection != nil {
		return nil, d.o.refuse("a reflection in the mode observe (want replace or add)")
	}
	return &agent.Observed{Replace: reply.Replace, Add: reply.Add}, nil
}

// Reflect asks for a reflection. It refuses an answer with observations.
func (d distiller) Reflect(ctx context.Context, r agent.Reflecting) (string, error) {
	reply, err := d.ask(ctx, abi.DistillRequest{
		Mode: abi.DistillReflect, Messages: []abi.Message{}, Observations: r.Observations, Reflection: r.Reflection,
		MaxTokens: r.MaxTokens, Settings: d.o.Settings(),
	})
	if err != nil || reply == nil {
		return "", err
	}
	if reply.Reflection == nil {
		return "", d.o.refuse("no reflection in the mode reflect")
	}
	return *reply.Reflection, nil
}

// ask sends the request. It returns nil for no change.
func (d distiller) ask(ctx context.Context, request abi.DistillRequest) (*abi.DistillReply, error) {
	reply := new(abi.DistillReply)
	changed, err := d.o.Ask(ctx, request, reply)
	if err != nil || !changed {
		return nil, err
	}
	return reply, nil
}

// shownMessage is a message in the form that a guest sees, as a key for comparisons.
type shownMessage struct{ role, content, name, calls, callID string }

func shown(m *abi.Message) shownMessage {
	return shownMessage{m.Role, m.Content, m.Name, canonicalCalls(m.ToolCalls), m.ToolCallID}
}

// canonicalCalls writes tool calls in a canonical form, because a guest may write the same
// JSON with another order of keys or other escapes. It returns "" if there are no calls.
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

// pipelineMessages converts the messages of a guest; nil means no change. If the guest
// returns a message that it received, the result has the original message, with everything
// that a guest does not see: images and other parts, and unknown members. If the guest also
// returns parts, they edit the original message.
func pipelineMessages(in []abi.Message, sent []pipeline.Message) ([]pipeline.Message, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]pipeline.Message, len(in))
	for i, at := range handedBack(in, abiMessages(sent)) {
		var err error
		switch {
		case at >= 0:
			out[i], err = editMessage(&sent[at], &in[i])
		case in[i].Parts != nil:
			err = errForeignParts
		default:
			out[i], err = newMessage(&in[i])
		}
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return out, nil
}

// newMessage converts a message that the guest has made.
func newMessage(in *abi.Message) (pipeline.Message, error) {
	role := pipeline.Role(in.Role)
	if role == pipeline.RoleTool {
		return message.NewResult(in.ToolCallID, in.Name, in.Content), nil
	}
	m := message.New(role, in.Content)
	m.Name = in.Name
	calls, err := core.ToolCalls(in.ToolCalls)
	m.Parts = append(m.Parts, calls...)
	return m, err
}

// handedBack returns, for each message of a guest, the index of the sent message that it
// is, and -1 for a new one. Several messages may look the same to a guest, such as two
// images. Their order distinguishes them. First it matches the unchanged beginning and the
// unchanged end of the list, the longer of the two first. Then it matches the messages in
// between from the end, each before the one matched last. A message without such a match
// was moved; it matches any remaining message that looks the same.
func handedBack(in, sent []abi.Message) []int {
	given, had := looks(in), looks(sent)
	most := min(len(given), len(had))
	alike := func(n, i, j, step int) (k int) {
		for k < n && given[i+k*step] == had[j+k*step] {
			k++
		}
		return k
	}
	begin, end := alike(most, 0, 0, 1), alike(most, len(given)-1, len(had)-1, -1)
	if begin > end {
		end = min(end, most-begin)
	} else {
		begin = min(begin, most-end)
	}
	out := make([]int, len(given))
	for i := range begin {
		out[i] = i
	}
	for k := range end {
		out[len(out)-1-k] = len(had) - 1 - k
	}
	findBetween(out[begin:len(out)-end], given[begin:len(given)-end], had[begin:len(had)-end], begin)
	return out
}

// looks returns messages in the form that a guest sees.
func looks(messages []abi.Message) []shownMessage {
	out := make([]shownMessage, len(messages))
	for i := range messages {
		out[i] = shown(&messages[i])
	}
	return out
}

// findBetween looks for the given messages among the sent ones. The first of these has the
// index first. Each sent message matches once.
func findBetween(out []int, given, had []shownMessage, first int) {
	type places struct {
		at []int
		// before is how many of at may lie before the message found last, left how many may
		// be left at all.
		before, left int
	}
	byLook := make(map[shownMessage]*places, len(had))
	for i, look := range had {
		p := byLook[look]
		if p == nil {
			p = new(places)
			byLook[look] = p
		}
		p.at = append(p.at, i)
		p.before, p.left = len(p.at), len(p.at)
	}
	used, next := make([]bool, len(had)), len(had)
	for i := len(given) - 1; i >= 0; i-- {
		out[i] = -1
		p := byLook[given[i]]
		if p == nil {
			continue
		}
		for p.before > 0 && (p.at[p.before-1] >= next || used[p.at[p.before-1]]) {
			p.before--
		}
		for p.left > 0 && used[p.at[p.left-1]] {
			p.left--
		}
		var at int
		switch {
		case p.before > 0:
			at = p.at[p.before-1]
			next = at
		case p.left > 0:
			at = p.at[p.left-1]
		default:
			continue
		}
		out[i], used[at] = first+at, true
	}
}

// provideRequest is the request of provide and estimate_tokens. It does not convert
// messages if the guest does not read them. The call leaves out the other parts that the
// guest does not read.
func (o *operation) provideRequest(s *agent.State, msgs []pipeline.Message, b agent.Budget) abi.ProvideRequest {
	r := abi.ProvideRequest{
		State:    abi.AgentState{RunID: s.RunID, Observations: s.Observations, Reflection: s.Reflection, Data: s.Data},
		Budget:   abi.ProviderBudget{MaxTokens: b.MaxTokens, MaxMessages: b.MaxMessages, Phase: string(b.Phase)},
		Settings: o.Settings(),
	}
	if o.Parts().Has(abi.PartMessages) {
		r.Messages = o.messages(msgs)
	}
	if o.Parts().Has(abi.PartStateMessages) && len(s.Messages) > 0 {
		r.State.Messages = o.messages(s.Messages)
	}
	return r
}

// messages converts messages for a guest, with their parts if it reads them.
func (o *operation) messages(msgs []pipeline.Message) []abi.Message {
	out := abiMessages(msgs)
	if o.Parts().Has(abi.PartMessageParts) {
		for i := range out {
			out[i].Parts = abiParts(msgs[i].Parts, 1)
		}
	}
	return out
}

// abiMessages converts messages into the form that guests see: the texts of parts become
// the content, calls in parts become tool calls in the form of OpenAI's chat, and the role
// developer becomes system.
func abiMessages(msgs []pipeline.Message) []abi.Message {
	out := make([]abi.Message, len(msgs))
	for i := range msgs {
		m := &msgs[i]
		out[i] = abi.Message{Role: string(m.Role), Content: m.Text(), Name: m.Name, ToolCalls: abiCalls(m)}
		if results := m.Results(); m.Role == pipeline.RoleTool && len(results) > 0 {
			out[i].ToolCallID, out[i].Name = results[0].ID, results[0].Name
		}
		if m.Role == pipeline.RoleDeveloper {
			out[i].Role = string(pipeline.RoleSystem)
		}
	}
	return out
}

// abiCalls returns the tool calls of a message as a JSON list, nil if it has none. Calls that
// came in the form of OpenAI's chat stay as they are.
func abiCalls(m *pipeline.Message) json.RawMessage {
	var list []byte
	for _, call := range m.Calls() {
		list = append(list, ',')
		if raw := call.Raw(); m.Form() == message.FormOpenAI && raw != "" && !m.Changed() {
			list = append(list, raw...)
			continue
		}
		list = append(append(list, `{"id":`...), quoted(call.ID)...)
		list = append(append(list, `,"type":"function","function":{"name":`...), quoted(call.Name)...)
		list = append(append(append(list, `,"arguments":`...), quoted(call.Arguments)...), `}}`...)
	}
	if list == nil {
		return nil
	}
	list[0] = '['
	return append(list, ']')
}

// quoted returns a JSON string.
func quoted(text string) []byte {
	data, _ := json.Marshal(text) // cannot fail
	return data
}
