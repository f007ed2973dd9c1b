package agent

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Phase says what a run of the provider chain prepares.
type Phase string

// The phases.
const (
	PhaseLLM        Phase = "llm"        // before each model call of the loop
	PhaseSynthesize Phase = "synthesize" // once more, before the final answer
)

// Valid reports whether p is one of the two phases.
func (p Phase) Valid() bool { return p == PhaseLLM || p == PhaseSynthesize }

// State is the state of an agent between its model calls. Plugins receive its JSON form.
type State struct {
	// RunID names the run of the agent.
	RunID string `json:"run_id,omitempty"`
	// Messages is the list that the agent keeps. A chain never changes it. A provider
	// changes it to make its change permanent.
	Messages []pipeline.Message `json:"messages,omitempty"`
	// Observations are notes that summarize what happened, oldest first. Reflection is the
	// conclusion from them.
	Observations []string `json:"observations,omitempty"`
	Reflection   string   `json:"reflection,omitempty"`
	// Data is for providers. Its values are nil, bool, int64, float64, string, []any and
	// map[string]any.
	Data map[string]any `json:"data,omitempty"`
}

// Budget bounds the message list that a provider chain makes.
type Budget struct {
	// MaxTokens and MaxMessages bound the list for the model; 0 means no bound.
	MaxTokens   int `json:"max_tokens"`
	MaxMessages int `json:"max_messages,omitempty"`
	// Phase is PhaseLLM when empty.
	Phase Phase `json:"phase"`
}

// Provider changes the message list before a model call.
//
// A provider that is also [Isolated] makes three promises. It changes nothing that its
// arguments point to, except that it may assign the fields of the state. It keeps no
// reference to them. It returns soon after its context has ended. A chain therefore gives it
// no copies and no goroutine. Providers of plugins and most built-in ones are isolated.
type Provider interface {
	// Name identifies the provider in logs and diagnostics. It is unique in a chain.
	Name() string
	// Priority orders providers: lower runs earlier.
	Priority() int
	// EstimateTokens returns how many tokens Apply would add. A chain calls it only when
	// planning is switched on.
	EstimateTokens(ctx context.Context, s *State) (int, error)
	// Apply returns the new list. nil without an error means no change. It may change the
	// state. The new list is for this model call only, unless Apply also sets s.Messages.
	Apply(ctx context.Context, s *State, msgs []pipeline.Message, b Budget) ([]pipeline.Message, error)
}

// Lossy is a [Provider] that leaves messages out and puts nothing in their place. The
// diagnostics of a run say how many.
type Lossy interface{ LeavesOut() }

// NoteDroppedLines adds to the DroppedLines of a provider's diagnostics. A provider calls it in
// Apply, with the context that it received. With another context it has no effect.
func NoteDroppedLines(ctx context.Context, lines int) {
	if n, ok := ctx.Value(droppedLines{}).(*atomic.Int64); ok {
		n.Add(int64(lines))
	}
}

// droppedLines is the key of a context with the number of lines that a provider has dropped.
type droppedLines struct{}

// LimitProvider returns p with a timeout of its own for one Apply, which replaces that of
// the chain. [NoTimeout] means no bound.
func LimitProvider(p Provider, timeout time.Duration) Provider {
	if l, ok := p.(limitedProvider); ok {
		p = l.Provider
	}
	return limitedProvider{p, timeout}
}

type limitedProvider struct {
	Provider
	timeout time.Duration
}

// RequireProvider returns p as a provider without which there is no list: if it fails, the run of
// the chain fails.
func RequireProvider(p Provider) Provider { return requiredProvider{p} }

type requiredProvider struct{ Provider }

// Clone returns a copy of the state that shares no map and no slice with it.
func (s State) Clone() State {
	s.Messages = message.CloneList(s.Messages)
	s.Observations = slices.Clone(s.Observations)
	s.Data = values.Clone(s.Data)
	return s
}
