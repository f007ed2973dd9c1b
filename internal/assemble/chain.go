package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/tokens"
)

// Agent is what a configuration says of agents, compiled: the parts that all provider chains share, each
// made once. Each assembly makes a chain of them, because the frames of its run are a provider too. It is
// safe for concurrent use.
type Agent struct {
	config    *config.Config
	providers providers.Config
	host      *hostTokenizer
	counts    pipeline.Tokenizer
	plugins   *plugins

	mu     sync.Mutex
	models map[string]*Agent
}

// maxModels bounds the models whose counts an agent keeps: their names come from outside.
const maxModels = 16

// maxModelName is the longest name that can be that of a model.
const maxModelName = 200

// For returns the agent that counts for a model, which the messages name. It is a itself if the
// configuration says how to count, or if there is no name.
func (a *Agent) For(model string) (*Agent, error) {
	if t := &a.config.Tokenizer; model == "" || len(model) > maxModelName || a.config.Model != "" || t.Name != "" || t.File != "" || t.Use != nil {
		return a, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.models[model]; known != nil {
		return known, nil
	}
	counts, err := pipeline.ModelTokenizer(model)
	if err != nil && !errors.Is(err, tokens.ErrUnknownModel) {
		return nil, err
	}
	c := *a.config
	c.Model = model
	out := &Agent{config: &c, providers: a.providers, host: a.host, counts: counts}
	if out.providers.Counter, err = agent.NewCounter(agent.CounterConfig{Tokenizer: counts, Model: model}); err != nil {
		return nil, err
	}
	if len(a.models) >= maxModels || a.models == nil {
		a.models = make(map[string]*Agent)
	}
	a.models[strings.Clone(model)] = out
	return out, nil
}

// compileAgent loads the plugins of the configuration that an agent uses, and makes its providers. A missing
// or broken plugin becomes a provider that always fails and so is left out of every run. If it must
// answer, compileAgent fails.
func (g *Generation) compileAgent(ctx context.Context) (*Agent, error) {
	c := &g.Loaded.Config
	b, err := g.loadedFor(ctx, c, jobAgent)
	if err != nil {
		return nil, err
	}
	cfg, err := b.chainConfig()
	if err != nil {
		return nil, err
	}
	if _, err := providers.New(cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return &Agent{config: c, providers: cfg, host: g.tokenizer, counts: b.out.Tokenizer, plugins: b.plugins}, nil
}

// Chain is a provider chain. It is safe for concurrent use.
type Chain struct {
	chain  *agent.Chain
	host   *hostTokenizer
	counts pipeline.Tokenizer
	// counter counts with it.
	counter *agent.Counter
	model   string
	// standIn replaces chain once its tokenizer has failed. nil: there is no replacement.
	standIn *Chain
}

// Chain makes the provider chain of an agent run of a tenant. run holds its frames, which are offered as
// observations. It may be nil. keep receives the texts that truncation cuts, see
// [providers.TruncationConfig]. It may be nil.
func (a *Agent) Chain(tenant string, run *frames.Pipeline, keep func(handle, text string)) (*Chain, error) {
	counts, err := fallible(a.config, a.counts)
	if err != nil {
		return nil, err
	}
	c, err := a.chain(tenant, run, keep, counts)
	if t, ok := counts.(*pipeline.FallbackTokenizer); ok && err == nil {
		c.standIn, err = a.chain(tenant, run, keep, t.Second())
	}
	return c, err
}

// chain makes a chain that counts with one tokenizer.
func (a *Agent) chain(tenant string, run *frames.Pipeline, keep func(handle, text string), counts pipeline.Tokenizer) (_ *Chain, err error) {
	cfg, settings := a.providers, &a.config.Agent
	cfg.Truncation.Keep, cfg.Owner = keep, tenant
	if counts != a.counts {
		if cfg.Counter, err = agent.NewCounter(agent.CounterConfig{Tokenizer: counts, Model: a.config.Model}); err != nil {
			return nil, err
		}
	}
	if run != nil && config.On(settings.Frames.Enabled) {
		offered, err := frames.NewFrameMemory(run, frames.MemoryConfig{
			Limits: frameLimits(settings.Frames.MaxFrames, settings.Frames.MaxTokens), Tokenizer: counts,
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
	return &Chain{chain: chain, host: a.host, counts: counts, counter: cfg.Counter, model: a.config.Model}, nil
}

// Assemble runs the chain; see [agent.Chain.Assemble]. If a tokenizer that may be skipped fails,
// the whole chain runs again with another one, because counts of two tokenizers cannot be
// compared. The diagnostics report this. The tokens of tools, which are sent together with the
// messages, are taken from the budget.
func (c *Chain) Assemble(ctx context.Context, s *agent.State, list []pipeline.Message, b agent.Budget, tools ...message.Tool) (*agent.Assembly, error) {
	ctx = c.host.counting(ctx, c.counts)
	e, err := c.toolTokens(ctx, tools)
	if err != nil {
		return &agent.Assembly{Messages: list, Diagnostics: &agent.Diagnostics{Budget: b}}, err
	}
	whole := b.MaxTokens
	if b.MaxTokens > 0 {
		b.MaxTokens = max(1, b.MaxTokens-e.High)
	}
	result, err := c.assemble(ctx, s, list, b)
	d := result.Diagnostics
	if whole > 0 && d.After.Tokens != nil { // the tools alone may exceed the budget
		d.TokensOver = max(0, *d.After.Tokens+e.High-whole)
	}
	if d.ToolTokens = e.High; len(tools) > 0 {
		d.Estimates = append(d.Estimates, agent.Estimate{
			Kind: agent.EstimatedTools, Number: len(tools), Low: e.Low, High: e.High, Source: e.Source,
		})
	}
	if w, ok := c.counts.(interface{ Warning() string }); ok && w.Warning() != "" {
		d.Warnings = append(d.Warnings, w.Warning())
	}
	return result, err
}

// Restate states the tokens of the messages as they are written. An API that has no place for
// instructions among its messages gets fewer of them, and another form has other members. b is the
// budget of the messages and the tools.
func (c *Chain) Restate(ctx context.Context, d *agent.Diagnostics, b agent.Budget, messages []pipeline.Message) {
	if d.After.Tokens == nil {
		return
	}
	counter := c.counter
	if d.SkippedTokenizer != "" {
		counter = c.standIn.counter
	}
	low, high, err := counter.Bounds(c.host.counting(ctx, c.counts), messages)
	if err != nil {
		d.Warnings = append(d.Warnings, "tokens not counted as written: "+err.Error())
		return
	}
	if d.After.Tokens, d.After.LowTokens = &high, nil; low < high {
		d.After.LowTokens = &low
	}
	if b.MaxTokens > 0 {
		d.TokensOver = max(0, high+d.ToolTokens-b.MaxTokens)
	}
}

// toolTokens returns the tokens of tools, by the rules of the model's provider.
func (c *Chain) toolTokens(ctx context.Context, tools []message.Tool) (media.Estimate, error) {
	texts := make([]string, len(tools))
	for i := range tools {
		if raw := tools[i].Raw(); i == 0 || raw != tools[i-1].Raw() { // one object may have several tools
			texts[i] = raw
		}
	}
	counts, err := core.CountTexts(ctx, c.counts, texts)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return media.Tools(c.model, sum, len(tools)), err
}

func (c *Chain) assemble(ctx context.Context, s *agent.State, list []pipeline.Message, b agent.Budget) (*agent.Assembly, error) {
	t, ok := c.counts.(*pipeline.FallbackTokenizer)
	if !ok {
		return c.chain.Assemble(ctx, s, list, b)
	}
	before := s.Clone()
	result, err := c.chain.Assemble(ctx, s, list, b)
	failure := t.Failure()
	if failure == nil || ctx.Err() != nil {
		return result, err
	}
	*s = before
	result, err = c.standIn.assemble(ctx, s, list, b)
	result.Diagnostics.SkippedTokenizer = failure.Error()
	return result, err
}

// Budget returns the budget of the configuration for the messages.
func Budget(c *config.Config) agent.Budget {
	return agent.Budget{
		MaxTokens:   cmp.Or(c.Agent.MaxTokens, c.MaxTokens, pipeline.DefaultMaxTokens),
		MaxMessages: c.Agent.MaxMessages,
		Phase:       agent.PhaseLLM,
	}
}

func (b *builder) chainConfig() (cfg providers.Config, err error) {
	a := &b.config.Agent
	cfg = providers.Config{
		Observation: providers.ObservationConfig{Disabled: !config.On(a.Observation.Enabled)},
		Truncation:  providers.TruncationConfig{Disabled: !config.On(a.Truncation), BeginWithUser: a.Begin == "user"},
		Enforce:     config.On(a.Truncation), Plan: a.Plan, Timeout: time.Duration(a.Timeout), Memory: new(providers.Memory),
		Logger: slog.New(slog.DiscardHandler), // its records are in the diagnostics, too
	}
	if cfg.Counter, err = agent.NewCounter(agent.CounterConfig{Tokenizer: b.out.Tokenizer, Model: b.config.Model}); err != nil {
		return cfg, err
	}
	if cfg.Compaction, err = b.compaction(&a.Compaction); err != nil {
		return cfg, err
	}
	if cfg.Observing, err = b.observing(&a.Observation); err != nil {
		return cfg, err
	}
	for i := range b.config.Agent.Providers {
		p, err := b.provider(fmt.Sprintf("agent.providers[%d]", i), &b.config.Agent.Providers[i])
		if err != nil {
			return cfg, err
		}
		cfg.Extra = append(cfg.Extra, p)
	}
	return cfg, nil
}

// compaction returns the configuration of the compaction provider. If the compactor is not ready,
// each compaction fails.
func (b *builder) compaction(c *config.Compaction) (cfg providers.CompactionConfig, err error) {
	cfg = providers.CompactionConfig{
		Disabled:      !config.On(c.Enabled),
		TriggerTokens: c.HighWater, TriggerMessages: c.HighWaterMessages,
		KeepTokens: c.LowWater, KeepMessages: c.LowWaterMessages, Timeout: time.Duration(c.Timeout),
		Pauses: new(providers.Pauses), Logger: b.generation.options.Logger,
	}
	if c.Compact == nil || cfg.Disabled {
		return cfg, nil
	}
	cfg.Compactor, err = part(b, compactPath, abi.OpCompact, *c.Compact.Use(), steps.Compactor)
	if mistake(err) {
		return cfg, err
	}
	if err != nil {
		cfg.Compactor = failing{err}
	}
	return cfg, nil
}

// observing returns the configuration of the providers that make observations. If a distiller is
// not ready, each of its calls fails.
func (b *builder) observing(o *config.Observation) (cfg providers.ObservingConfig, err error) {
	cfg = providers.ObservingConfig{
		Enabled: o.Made(), HighWater: o.HighWater, LowWater: o.LowWater,
		ReflectHighWater: o.Reflect.HighWater, ReflectLowWater: o.Reflect.LowWater,
		Foreign: frames.OwnsObservation, Timeout: time.Duration(o.Timeout),
	}
	if !cfg.Enabled {
		return cfg, nil
	}
	if cfg.Observe, err = b.distiller(makePath, o.Make.Use); err != nil {
		return cfg, err
	}
	cfg.Reflect, err = b.distiller(reflectPath, o.Reflect.Use)
	return cfg, err
}

// distiller returns the distiller that a path of the configuration names, or nil if it names
// none.
func (b *builder) distiller(path string, u *config.Use) (agent.Distiller, error) {
	if u == nil {
		return nil, nil
	}
	d, err := part(b, path, abi.OpDistill, *u, steps.Distiller)
	if err != nil && !mistake(err) {
		return failing{err}, nil
	}
	return d, err
}

// waiting is the time that a provider gets beyond its own limit. Its call may have to wait for an
// instance, and then fails with a more precise error than that of the chain.
const waiting = time.Second

// provider makes a provider that calls a plugin.
func (b *builder) provider(path string, p *config.Provider) (agent.Provider, error) {
	if b.kind(&p.Use) != "" {
		return b.componentProvider(path, p), nil
	}
	plugin, _, err := b.get(use{Use: p.Use, path: path, op: abi.OpProvide})
	if err == nil {
		var made agent.Provider
		made, err = steps.Provider(plugin, steps.Options{
			Step: p.Title(), Priority: p.Priority, Settings: p.Settings, Timeout: time.Duration(p.Timeout),
		})
		if must := stated(b.config, &p.Use); err == nil && must != nil && *must {
			made = agent.RequireProvider(made)
		}
		if err == nil && p.Timeout > 0 {
			made = agent.LimitProvider(made, time.Duration(p.Timeout)+waiting)
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

// failingProvider replaces a provider whose plugin is not ready.
type failingProvider struct {
	failing
	name     string
	priority int
}

// Name returns the name in the chain.
func (f failingProvider) Name() string { return f.name }

// Priority returns the place in the chain.
func (f failingProvider) Priority() int { return f.priority }

// EstimateTokens returns 0, because the provider adds nothing.
func (f failingProvider) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 0, nil
}

// Apply fails.
func (f failingProvider) Apply(context.Context, *agent.State, []pipeline.Message, agent.Budget) ([]pipeline.Message, error) {
	return nil, f.err
}
