package agent

import (
	"cmp"
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
	// DefaultProviderTimeout is long enough for a lookup in another system, and no longer
	// than a user waits for a model call to begin.
	DefaultProviderTimeout = 10 * time.Second
	// NoTimeout means that only the context of the run bounds a provider.
	NoTimeout time.Duration = -1
)

// Config describes a provider chain. The zero value is valid: an empty chain.
type Config struct {
	// Providers are registered in this order.
	Providers []Provider
	// Enforcer runs after all others, whatever their priorities, so that no provider can
	// leave the list over the budget. It may be nil. Then nothing enforces the budget, and
	// the diagnostics say by how much the list exceeds it.
	Enforcer Provider
	// Timeout bounds one Apply of each provider. 0 means DefaultProviderTimeout, NoTimeout
	// none. The chain abandons a provider that exceeds it, and leaves it copies of the list
	// and the state. Only a provider without a bound can block a run.
	Timeout time.Duration
	// Counter counts the tokens in diagnostics. nil means that they are not counted.
	Counter *Counter
	// Plan asks every provider for its estimate before the first one runs. It then reduces
	// the budget of each provider by what the providers after it will add, at most by half.
	// Without Plan the chain never calls EstimateTokens.
	Plan bool
	// Logger receives a WARN record for each provider that fails and each run over
	// the budget. nil means slog.Default.
	Logger *slog.Logger
	// Now is the clock for durations. nil means time.Now.
	Now func() time.Time
}

// Chain runs context providers over the message list of an agent, before each model call
// and once more for the final answer. Providers run by ascending priority, and those of
// equal priority in the order of registration. A provider that fails changes nothing: the
// chain drops its messages and its changes to the state, logs a WARN record, and runs the
// next one. A provider of [RequireProvider] fails the run instead. A Chain is safe for concurrent use, and Register may be called while it runs. A
// state belongs to one run at a time.
type Chain struct {
	cfg      Config
	enforcer *rankedProvider

	mu        sync.RWMutex
	providers []rankedProvider
}

// rankedProvider is a provider with its name, priority and other properties.
type rankedProvider struct {
	Provider
	name     string
	priority int
	timeout  time.Duration // 0 for none
	isolated bool
	lossy    bool
	required bool
}

// NewChain checks a configuration and returns a chain.
func NewChain(cfg Config) (*Chain, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultProviderTimeout)
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

// Register adds a provider and reads its name and priority once. It refuses a name that the
// chain already has. Runs that have begun do not use the provider.
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
	// Make a new list, because running chains read the old one.
	c.providers = slices.Insert(slices.Clone(c.providers), at, ranked)
	return nil
}

// rank asks a provider for its name and priority.
func (c *Chain) rank(p Provider) (ranked rankedProvider, err error) {
	timeout := c.cfg.Timeout
	if l, ok := p.(limitedProvider); ok {
		p, timeout = l.Provider, l.timeout
	}
	if must, ok := p.(requiredProvider); ok {
		p, ranked.required = must.Provider, true
	}
	if p == nil {
		return ranked, fmt.Errorf("provider chain: no provider: %w", pipeline.ErrInvalid)
	}
	ranked.Provider, ranked.timeout = p, timeout
	_, ranked.isolated = p.(pipeline.Isolated)
	_, ranked.lossy = p.(Lossy)
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

// Names returns the names of the providers in the order in which they run. The enforcer is
// the last.
func (c *Chain) Names() []string {
	var names []string
	for _, p := range c.snapshot() {
		names = append(names, p.name)
	}
	return names
}

// snapshot returns the providers for a run that begins now.
func (c *Chain) snapshot() []rankedProvider {
	c.mu.RLock()
	providers := c.providers
	c.mu.RUnlock()
	if c.enforcer != nil {
		providers = append(providers[:len(providers):len(providers)], *c.enforcer)
	}
	return providers
}
