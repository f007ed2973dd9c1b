package pipeline

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Message is one entry of the message list an agent loop sends to a model. What is not
// known here comes out as it went in.
type Message struct {
	// Role is one of the four roles, or RoleDeveloper.
	Role Role `json:"role"`
	// Content is the text of a message without Parts.
	Content string `json:"content"`
	// Parts is a content that is no text, as it came: a JSON array of parts, such as
	// texts, images, and calls and results of tools, or null. nil for a text.
	Parts json.RawMessage `json:"-"`
	// Name tells speakers of one role apart; of a tool message it is the tool.
	Name string `json:"name,omitempty"`
	// ToolCalls is a JSON array of the calls an assistant asks for, each with an
	// "id", in whatever form the model's API has them.
	ToolCalls json.RawMessage `json:"tool_calls,omitempty"`
	// ToolCallID says which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Rest is a JSON object of all other members of the message, such as refusal or
	// annotations. nil for none.
	Rest json.RawMessage `json:"-"`
}

// Phase says what a run of the provider chain prepares.
type Phase string

// The phases.
const (
	PhaseLLM        Phase = "llm"        // before each model call of the loop
	PhaseSynthesize Phase = "synthesize" // once more, before the final answer
)

// Valid reports whether p is one of the two phases.
func (p Phase) Valid() bool { return p == PhaseLLM || p == PhaseSynthesize }

// AgentState is what an agent carries from call to call. Its JSON form is what
// guests receive.
type AgentState struct {
	// RunID names the run of the agent.
	RunID string `json:"run_id,omitempty"`
	// Messages is the list the agent keeps. A chain never writes it; providers
	// whose change is to last do.
	Messages []Message `json:"messages,omitempty"`
	// Observations are notes that stand for what happened, oldest first, and
	// Reflection is what was drawn from them.
	Observations []string `json:"observations,omitempty"`
	Reflection   string   `json:"reflection,omitempty"`
	// Data is for providers: nil, bool, int64, float64, string, []any and
	// map[string]any values.
	Data map[string]any `json:"data,omitempty"`
}

// ProviderBudget is the room a provider chain has.
type ProviderBudget struct {
	// MaxTokens and MaxMessages bound the list for the model; 0 is no bound.
	MaxTokens   int `json:"max_tokens"`
	MaxMessages int `json:"max_messages,omitempty"`
	// Phase is PhaseLLM when empty.
	Phase Phase `json:"phase"`
}

// ContextProvider changes the message list before a model call.
//
// A provider that is also [Isolated] promises to change nothing that its arguments
// point to (it may assign the fields of the state), to keep no reference to them, and
// to return soon after its context has ended. A chain then gives it no copies and no
// goroutine of its own. The providers of plugins and most built-in ones are isolated.
type ContextProvider interface {
	// Name identifies the provider in logs and diagnostics; it is unique in a chain.
	Name() string
	// Priority orders providers: lower runs earlier.
	Priority() int
	// EstimateTokens says how many tokens Apply would add. A chain calls it
	// only when planning is switched on.
	EstimateTokens(ctx context.Context, s *AgentState) (int, error)
	// Apply returns the new list; nil without an error means no change. It may
	// change the state. The list is for this model call only, unless Apply also
	// sets s.Messages.
	Apply(ctx context.Context, s *AgentState, msgs []Message, b ProviderBudget) ([]Message, error)
}

// LimitProvider returns p with its own bound for one Apply in place of the chain's;
// [NoTimeout] is no bound.
func LimitProvider(p ContextProvider, timeout time.Duration) ContextProvider {
	if l, ok := p.(limitedProvider); ok {
		p = l.ContextProvider
	}
	return limitedProvider{p, timeout}
}

type limitedProvider struct {
	ContextProvider
	timeout time.Duration
}

// Clone returns a copy of the state that shares no map and no slice with it.
func (s AgentState) Clone() AgentState {
	s.Messages = CloneMessages(s.Messages)
	s.Observations = slices.Clone(s.Observations)
	s.Data = cloneMap(s.Data)
	return s
}

// CloneMessages returns a deep copy of messages; nil stays nil.
func CloneMessages(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		m := &out[i]
		m.ToolCalls, m.Parts, m.Rest = slices.Clone(m.ToolCalls), slices.Clone(m.Parts), slices.Clone(m.Rest)
	}
	return out
}

// Equal reports whether two messages are the same, byte for byte.
func (m *Message) Equal(o *Message) bool {
	return m.Role == o.Role && m.Name == o.Name && m.ToolCallID == o.ToolCallID &&
		m.Content == o.Content && string(m.ToolCalls) == string(o.ToolCalls) &&
		string(m.Parts) == string(o.Parts) && string(m.Rest) == string(o.Rest)
}
