package pipeline

import (
	"context"
	"encoding/json"
)

// Message is one entry of the message list an agent loop sends to a model.
type Message struct {
	Role       Role            `json:"role"`
	Content    string          `json:"content"`
	Name       string          `json:"name,omitempty"`
	ToolCalls  json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// Phase says what a run of the provider chain prepares.
type Phase string

// The phases.
const (
	PhaseLLM        Phase = "llm"        // before each model call of the loop
	PhaseSynthesize Phase = "synthesize" // once more, before the final answer
)

// AgentState is what an agent carries from call to call. Its JSON form is what
// guests receive.
type AgentState struct {
	RunID        string         `json:"run_id,omitempty"`
	Messages     []Message      `json:"messages,omitempty"`
	Observations []string       `json:"observations,omitempty"`
	Reflection   string         `json:"reflection,omitempty"`
	Data         map[string]any `json:"data,omitempty"`
}

// ProviderBudget is the room a provider chain has.
type ProviderBudget struct {
	MaxTokens   int   `json:"max_tokens"`
	MaxMessages int   `json:"max_messages,omitempty"`
	Phase       Phase `json:"phase"`
}

// ContextProvider changes the message list before a model call.
type ContextProvider interface {
	Name() string
	// Priority orders providers: lower runs earlier.
	Priority() int
	// EstimateTokens says how many tokens Apply would add. A chain calls it
	// only when planning is switched on.
	EstimateTokens(ctx context.Context, s *AgentState) (int, error)
	// Apply returns the new list; nil without an error means no change.
	Apply(ctx context.Context, s *AgentState, msgs []Message, b ProviderBudget) ([]Message, error)
}
