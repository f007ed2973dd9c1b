package agent

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The bounds of one provider.
const (
	// DefaultProviderTimeout leaves room for a lookup in another system, and no more
	// than a user waits for a model call to begin.
	DefaultProviderTimeout = 10 * time.Second
	// NoTimeout leaves a provider without a bound but the context of the run.
	NoTimeout time.Duration = -1
)

// Config describes a provider chain. The zero value works: an empty chain.
type Config struct {
	// Providers are registered in this order.
	Providers []Provider
	// Enforcer runs after all others, whatever their priorities, so that none of
	// them can leave the list over the budget. It may be nil: then nobody checks the
	// budget, and the diagnostics tell by how much it was exceeded.
	Enforcer Provider
	// Timeout bounds one Apply of each provider. 0 means DefaultProviderTimeout,
	// NoTimeout none. A provider that outlives it is abandoned with copies of list
	// and state; only one without a bound can hold up a run.
	Timeout time.Duration
	// Counter counts the tokens in diagnostics. nil means that there are none.
	Counter *Counter
	// Plan asks every provider for its estimate before the first one runs, and holds
	// back from the budget of each what those after it will add, at most half of the
	// budget. Without it EstimateTokens is never called.
	Plan bool
	// Logger receives a WARN record for each provider that fails and each run over
	// the budget. nil means slog.Default.
	Logger *slog.Logger
	// Now is the clock of durations. nil means time.Now.
	Now func() time.Time
}

// Chain runs context providers over the message list of an agent, before
// each model call and once more for the final answer. Providers run by ascending
// priority, equal ones in the order of registration. One that fails changes nothing:
// its messages and what it did to the state are dropped, a WARN record is logged, and
// the next one runs. It is safe for concurrent use, also of Register while it runs; a
// state belongs to one run at a time.
type Chain struct {
	cfg      Config
	enforcer *rankedProvider

	mu        sync.RWMutex
	providers []rankedProvider
}

// rankedProvider is a provider and what the chain knows of it.
type rankedProvider struct {
	Provider
	name     string
	priority int
	timeout  time.Duration // 0 for none
	isolated bool
}

// NewChain checks a configuration and returns its chain.
func NewChain(cfg Config) (*Chain, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultProviderTimeout
	}
	c := &Chain{cfg: cfg}
	if cfg.Enforcer != nil {
		enforcer, err := c.rank(cfg.Enforcer)
		if err != nil {
			return nil, err
		}
		c.enforcer = &enforcer
	}
	for _, p := range cfg.Providers {
		if err := c.Register(p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Register adds a provider, whose name and priority are read once, now. A name that
// the chain has already is refused. A run that has begun does not see the provider.
func (c *Chain) Register(p Provider) error {
	ranked, err := c.rank(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := len(c.providers)
	taken := c.enforcer != nil && c.enforcer.name == ranked.name
	for i := range c.providers {
		taken = taken || c.providers[i].name == ranked.name
		if at == len(c.providers) && c.providers[i].priority > ranked.priority {
			at = i
		}
	}
	if taken {
		return fmt.Errorf("provider %q: registered twice: %w (give one another name)", ranked.name, pipeline.ErrInvalid)
	}
	// A new list, because running chains read the old one.
	c.providers = slices.Insert(slices.Clone(c.providers), at, ranked)
	return nil
}

// rank asks a provider who it is.
func (c *Chain) rank(p Provider) (ranked rankedProvider, err error) {
	timeout := c.cfg.Timeout
	if l, ok := p.(limitedProvider); ok {
		p, timeout = l.Provider, l.timeout
	}
	if p == nil {
		return ranked, fmt.Errorf("provider chain: no provider: %w", pipeline.ErrInvalid)
	}
	ranked = rankedProvider{Provider: p, timeout: timeout}
	_, ranked.isolated = p.(pipeline.Isolated)
	err = core.Guard(func() error {
		ranked.name, ranked.priority = p.Name(), p.Priority()
		return nil
	})
	switch {
	case err != nil:
		return ranked, fmt.Errorf("provider chain: ask %T for name and priority: %w", p, err)
	case ranked.name == "":
		return ranked, fmt.Errorf("provider chain: name is empty: %w", pipeline.ErrInvalid)
	case timeout == NoTimeout:
		ranked.timeout = 0
	case timeout <= 0:
		return ranked, fmt.Errorf("provider %q: timeout %v: %w (want more than 0, or NoTimeout)", ranked.name, timeout, pipeline.ErrInvalid)
	}
	return ranked, nil
}

// Names returns the names of the providers in the order in which they run, the
// enforcer last.
func (c *Chain) Names() []string {
	var names []string
	for _, p := range c.snapshot() {
		names = append(names, p.name)
	}
	return names
}

// snapshot returns the providers of a run that begins now.
func (c *Chain) snapshot() []rankedProvider {
	c.mu.RLock()
	providers := c.providers
	c.mu.RUnlock()
	if c.enforcer != nil {
		providers = append(providers[:len(providers):len(providers)], *c.enforcer)
	}
	return providers
}
