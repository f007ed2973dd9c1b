package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// ProviderChain runs context providers over the message list of an agent, before
// each model call. Providers run by ascending priority, equal ones in the order of
// registration. One that fails changes nothing: its messages and what it did to the
// state are dropped, a WARN record is logged, and the next one runs. It is safe for
// concurrent use, also of Register while it runs.
type ProviderChain struct {
	logger *slog.Logger

	mu        sync.RWMutex
	providers []rankedProvider
}

type rankedProvider struct {
	ContextProvider
	name     string
	priority int
}

// NewProviderChain returns a chain of the given providers. A nil logger means
// slog.Default.
func NewProviderChain(logger *slog.Logger, providers ...ContextProvider) (*ProviderChain, error) {
	if logger == nil {
		logger = slog.Default()
	}
	c := &ProviderChain{logger: logger}
	for _, p := range providers {
		if err := c.Register(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Register adds a provider, whose name and priority are read once, now. Names are
// unique. A run that has begun does not see it.
func (c *ProviderChain) Register(p ContextProvider) error {
	if p == nil {
		return fmt.Errorf("provider chain: no provider: %w", ErrInvalid)
	}
	ranked := rankedProvider{p, p.Name(), p.Priority()}
	if ranked.name == "" {
		return fmt.Errorf("provider chain: name is empty: %w", ErrInvalid)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := len(c.providers)
	for i := range c.providers {
		if c.providers[i].name == ranked.name {
			return fmt.Errorf("provider %q: registered twice: %w (give one another name)", ranked.name, ErrInvalid)
		}
		if at == len(c.providers) && c.providers[i].priority > ranked.priority {
			at = i
		}
	}
	// A new list, because running chains read the old one.
	c.providers = slices.Insert(slices.Clone(c.providers), at, ranked)
	return nil
}

// Names returns the names of the providers in the order in which they run.
func (c *ProviderChain) Names() []string {
	var names []string
	for _, p := range c.snapshot() {
		names = append(names, p.name)
	}
	return names
}

func (c *ProviderChain) snapshot() []rankedProvider {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.providers
}

// Run takes messages through the providers and returns the list for the model; the
// list given is not changed. What providers that succeed do to the state stays in s,
// which must not be nil. When ctx ends, Run returns what the providers before made of
// the list, and the error of ctx, which is its only error.
func (c *ProviderChain) Run(ctx context.Context, s *AgentState, messages []Message, budget ProviderBudget) ([]Message, error) {
	messages = cloneMessages(messages)
	for _, p := range c.snapshot() {
		if err := ctx.Err(); err != nil {
			return messages, err
		}
		state := s.Clone()
		out, err := p.run(ctx, &state, messages, budget)
		if ended := ctx.Err(); ended != nil && err != nil {
			return messages, ended
		}
		if err != nil {
			warn(ctx, c.logger, "provider left out", err, slog.String("provider", p.name))
			continue
		}
		*s = state
		if out != nil {
			messages = out
		}
	}
	return messages, nil
}

// run gives the provider copies and checks its answer. An empty list is no answer to
// a list that was not empty: no model takes it.
func (p *rankedProvider) run(ctx context.Context, s *AgentState, messages []Message, budget ProviderBudget) (out []Message, err error) {
	err = guard(func() (err error) {
		out, err = p.Apply(ctx, s, cloneMessages(messages), budget)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case out != nil && len(out) == 0 && len(messages) > 0:
		return nil, fmt.Errorf("no messages left of %d: %w (return nil for no change)", len(messages), ErrInvalid)
	}
	for i := range out {
		if !out[i].Role.Valid() {
			return nil, fmt.Errorf("messages[%d]: role %q: %w", i, out[i].Role, ErrInvalid)
		}
	}
	return out, nil
}

// Clone returns a copy of the state that shares no map and no slice with it.
func (s AgentState) Clone() AgentState {
	s.Messages = cloneMessages(s.Messages)
	s.Observations = slices.Clone(s.Observations)
	s.Data = cloneMap(s.Data)
	return s
}

func cloneMessages(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].ToolCalls = slices.Clone(out[i].ToolCalls)
	}
	return out
}
