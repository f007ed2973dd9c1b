package providers

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// Config describes a chain with the built-in providers. The zero value works: it has all
// built-in providers except those that make observations. They have no limits of their own
// and count in [pipeline.DefaultEncoding].
type Config struct {
	Observing   ObservingConfig
	Observation ObservationConfig
	Compaction  CompactionConfig
	Truncation  TruncationConfig
	// Extra providers are registered after the built-in ones, in this order. Their
	// priorities decide when they run.
	Extra []agent.Provider
	// Enforce truncates once more after all providers, so that none with a higher
	// priority than truncation can leave the list over the budget.
	Enforce bool
	// Plan asks providers for estimates, see [agent.Config].
	Plan bool
	// Timeout bounds one Apply of each provider, see [agent.Config].
	Timeout time.Duration
	// Memory is that of compaction and truncation, and Owner whose lists they are. nil means an own
	// one. Owners that share a Memory do not influence each other's lists.
	Memory *Memory
	Owner  string
	// Counter counts for the chain and the built-in providers. nil means a counter of the
	// DefaultEncoding.
	Counter *agent.Counter
	// Logger is slog.Default when nil, Now is time.Now.
	Logger *slog.Logger
	Now    func() time.Time
}

// New checks a configuration and returns its chain.
func New(cfg Config) (*agent.Chain, error) {
	if cfg.Counter == nil {
		counter, err := agent.NewCounter(agent.CounterConfig{})
		if err != nil {
			return nil, err
		}
		cfg.Counter = counter
	}
	cfg.Memory = cmp.Or(cfg.Memory, new(Memory))
	cfg.Compaction.Memory, cfg.Truncation.Memory = cmp.Or(cfg.Compaction.Memory, cfg.Memory), cmp.Or(cfg.Truncation.Memory, cfg.Memory)
	cfg.Compaction.Owner, cfg.Truncation.Owner = cmp.Or(cfg.Compaction.Owner, cfg.Owner), cmp.Or(cfg.Truncation.Owner, cfg.Owner)
	list, err := cfg.builtin()
	if err != nil {
		return nil, err
	}
	chain := agent.Config{
		Providers: append(list, cfg.Extra...),
		Timeout:   cfg.Timeout, Counter: cfg.Counter, Plan: cfg.Plan, Logger: cfg.Logger, Now: cfg.Now,
	}
	if cfg.Enforce {
		t := cfg.Truncation
		t.Counter = cfg.Counter
		enforcer, err := newTruncation(t, EnforcementName)
		if err != nil {
			return nil, err
		}
		chain.Enforcer = enforcer
	}
	return agent.NewChain(chain)
}

// builtin returns the built-in providers that are switched on.
func (cfg *Config) builtin() (list []agent.Provider, err error) {
	if cfg.Observing.Enabled {
		if list, err = cfg.observers(); err != nil {
			return nil, err
		}
	}
	if c := cfg.Observation; !c.Disabled {
		c.Counter = cfg.Counter
		p, err := NewObservation(c)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if c := cfg.Compaction; !c.Disabled {
		c.Counter, c.Logger = cfg.Counter, cmp.Or(c.Logger, cfg.Logger)
		p, err := NewCompaction(c)
		if err != nil {
			return nil, err
		}
		if t := cfg.Truncation; !t.Disabled || cfg.Enforce {
			p.room, p.beginWithUser, p.keep = size{t.MaxTokens, t.MaxMessages}, t.BeginWithUser, t.Keep
		}
		if o := cfg.Observing; o.Enabled {
			p.observed = func(b agent.Budget) int { return o.waters(b).high }
		}
		list = append(list, limited(p, p.cfg.Timeout))
	}
	if c := cfg.Truncation; !c.Disabled {
		c.Counter = cfg.Counter
		p, err := NewTruncation(c)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// observers returns the providers that make observations and reflections.
func (cfg *Config) observers() ([]agent.Provider, error) {
	if cfg.Observation.Disabled {
		return nil, fmt.Errorf("%s: the provider %s is disabled: %w (enable it: it puts the observations into the messages)",
			ObservingName, ObservationName, pipeline.ErrInvalid)
	}
	c := cfg.Observing
	c.Counter = cfg.Counter
	observing, err := NewObserving(c)
	if err != nil {
		return nil, err
	}
	if t := cfg.Truncation; !t.Disabled || cfg.Enforce {
		observing.beginWithUser = t.BeginWithUser
	}
	reflecting, err := NewReflecting(c)
	if err != nil {
		return nil, err
	}
	return []agent.Provider{limited(observing, observing.cfg.Timeout), limited(reflecting, reflecting.cfg.Timeout)}, nil
}

// limited returns a provider with its timeout, if it has one of its own.
func limited(p agent.Provider, timeout time.Duration) agent.Provider {
	if timeout == 0 {
		return p
	}
	return agent.LimitProvider(p, timeout)
}
