package assemble

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// ChainRecipe is what the provider chains of one configuration share: the providers that
// are plugins, each made once. It is safe for concurrent use.
type ChainRecipe struct {
	config    *config.Config
	providers providers.Config
	host      *hostTokenizer
	counts    pipeline.Tokenizer
	// LoadTime and Loads are as in [Recipe].
	LoadTime time.Duration
	Loads    []Load
}

// ChainRecipe loads the plugins of the agent's part of a configuration and makes its
// providers. c is the configuration of the generation, or one that has its instances. It
// must have passed its Check. A plugin that is missing or broken is a provider that
// fails, and so is left out of every run, unless its instance is required.
func (g *Generation) ChainRecipe(ctx context.Context, c *config.Config) (*ChainRecipe, error) {
	b := &builder{generation: g, plugins: &plugins{config: c}}
	start := time.Now()
	if err := b.run(ctx,
		b.setTokenizer, func(ctx context.Context) error { return b.loadFor(ctx, jobAgent) }, b.setPluginTokenizer,
	); err != nil {
		return nil, err
	}
	cfg, err := b.chainConfig()
	if err != nil {
		return nil, err
	}
	if _, err := providers.New(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return &ChainRecipe{
		config: c, providers: cfg, host: g.tokenizer, counts: b.out.Tokenizer, LoadTime: time.Since(start), Loads: b.loads(),
	}, nil
}

// Chain is a provider chain. It is safe for concurrent use.
type Chain struct {
	chain  *agent.Chain
	recipe *ChainRecipe
}

// Chain makes the provider chain of a run. run are its frames, which are offered as
// observations; it may be nil.
func (r *ChainRecipe) Chain(run *frames.Pipeline) (*Chain, error) {
	cfg, a := r.providers, &r.config.Agent
	if run != nil && config.On(a.Frames.Enabled) {
		offered, err := frames.NewFrameMemory(run, frames.MemoryConfig{
			Limits: frameLimits(a.Frames.MaxFrames, a.Frames.MaxTokens), Tokenizer: r.counts,
		})
		if err != nil {
			return nil, err
		}
		cfg.Extra = slices.Concat([]agent.Provider{offered}, cfg.Extra)
	}
	chain, err := providers.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return &Chain{chain, r}, nil
}

// Assemble runs the chain; see [agent.Chain.Assemble].
func (c *Chain) Assemble(ctx context.Context, s *agent.State, list []pipeline.Message, b agent.Budget) (*agent.Assembly, error) {
	return c.chain.Assemble(c.recipe.host.counting(ctx, c.recipe.counts), s, list, b)
}

// Budget returns the room that the configuration gives the messages.
func Budget(c *config.Config) agent.Budget {
	return agent.Budget{
		MaxTokens:   cmp.Or(c.Agent.MaxTokens, c.MaxTokens, pipeline.DefaultMaxTokens),
		MaxMessages: c.Agent.MaxMessages,
		Phase:       cmp.Or(agent.Phase(c.Agent.Phase), agent.PhaseLLM),
	}
}

func (b *builder) chainConfig() (cfg providers.Config, err error) {
	a := &b.config.Agent
	cfg = providers.Config{
		Observation: providers.ObservationConfig{Disabled: !config.On(a.Observation)},
		Truncation:  providers.TruncationConfig{Disabled: !config.On(a.Truncation), BeginWithUser: a.Begin == "user"},
		Enforce:     a.Enforced(), Plan: a.Plan, Timeout: time.Duration(a.Timeout),
		Logger: quietChain(b.generation.options.Logger),
	}
	if cfg.Counter, err = agent.NewCounter(agent.CounterConfig{Tokenizer: b.out.Tokenizer}); err != nil {
		return cfg, err
	}
	if cfg.Compaction, err = b.compaction(&a.Compaction); err != nil {
		return cfg, err
	}
	for i := range b.config.Providers {
		p, err := b.provider(fmt.Sprintf("providers[%d]", i), &b.config.Providers[i])
		if err != nil {
			return cfg, err
		}
		cfg.Extra = append(cfg.Extra, p)
	}
	return cfg, nil
}

// compaction describes the compaction provider. A compactor that is not ready
// fails whenever something is to be compacted.
func (b *builder) compaction(c *config.Compaction) (cfg providers.CompactionConfig, err error) {
	cfg = providers.CompactionConfig{
		Disabled:      !config.On(c.Enabled),
		TriggerTokens: c.TriggerTokens, TriggerMessages: c.TriggerMessages,
		KeepTokens: c.KeepTokens, KeepMessages: c.KeepMessages, Timeout: time.Duration(c.Timeout),
	}
	if c.Compact == nil || cfg.Disabled {
		return cfg, nil
	}
	cfg.Compactor, err = part(b, compactPath, abi.OpCompact, *c.Compact, steps.Compactor)
	if mistake(err) {
		return cfg, err
	}
	if err != nil {
		cfg.Compactor = failing{err}
	}
	return cfg, nil
}

// waiting is how much longer than its own bound a provider may take: its call
// may have to wait for an instance, and the error of the call says more.
const waiting = time.Second

// provider makes a provider of a plugin.
func (b *builder) provider(path string, p *config.Provider) (agent.Provider, error) {
	plugin, _, err := b.get(use{Use: p.Use(), path: path, op: abi.OpProvide})
	if err == nil {
		var made agent.Provider
		made, err = steps.Provider(plugin, steps.Options{
			Step: p.Title(), Priority: p.Priority, Settings: p.Settings, Reads: p.Reads, Timeout: time.Duration(p.Timeout),
		})
		if err == nil && p.Timeout > 0 {
			return agent.LimitProvider(made, time.Duration(p.Timeout)+waiting), nil
		}
		if err == nil {
			return made, nil
		}
		err = asUnavailable(plugin.Name(), abi.OpProvide, err)
	}
	if mistake(err) {
		return nil, fmt.Errorf("provider %q: %w", p.Title(), err)
	}
	return failingProvider{failing{err}, p.Title(), p.Priority}, nil
}

// failingProvider stands for a provider whose plugin is not ready.
type failingProvider struct {
	failing
	name     string
	priority int
}

// Name returns the name in the chain.
func (f failingProvider) Name() string { return f.name }

// Priority returns the place in the chain.
func (f failingProvider) Priority() int { return f.priority }

// EstimateTokens is 0: what fails adds nothing.
func (f failingProvider) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 0, nil
}

// Apply fails.
func (f failingProvider) Apply(context.Context, *agent.State, []pipeline.Message, agent.Budget) ([]pipeline.Message, error) {
	return nil, f.err
}

// quietChain returns a logger that leaves out what the diagnostics of a run say.
func quietChain(l *slog.Logger) *slog.Logger {
	return drop(l, "provider left out", "messages over budget", "no estimate", "tokens not counted")
}
