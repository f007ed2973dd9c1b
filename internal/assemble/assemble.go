package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/tokens"
)

// Recipe holds the parts that all builds of one configuration share: the steps, and the other
// parts that may be plugins. Each is made once. It is safe for concurrent use.
type Recipe struct {
	generation *Generation
	config     *config.Config
	// out is the common configuration of all pipelines of the recipe.
	out       pipeline.Config
	compactor pipeline.Compactor
	plugins   *plugins
	// LoadTime is the time to make the recipe. Loads has the time to load each plugin. Plugins
	// are loaded in parallel. A plugin that was loaded before is listed with the time of that
	// load.
	LoadTime time.Duration
	Loads    []Load
}

// Build has the options of one build.
type Build struct {
	// Config is the configuration of the recipe, or a copy with other values. The copy must name
	// the same plugins, but tokenizer and format may name built-in ones instead.
	Config *config.Config
	// Items are appended by a first step named [ItemsStep]. nil: there is no such step.
	Items []pipeline.Item
	// Turns replace those of the conversation of Config, unless they are nil.
	Turns []pipeline.Turn
	// Only names the steps that run; nil means all steps. Skip names steps that do not run. The
	// step of Items always runs.
	Only, Skip []string
	// Formatter replaces the format of Config. It may be nil.
	Formatter pipeline.Formatter
	// Partial leaves out steps because of the time, and Explain records a trace of every item; see
	// [pipeline.Config].
	Partial, Explain bool
	// Callbacks observe the build, after those of the configuration.
	Callbacks []pipeline.Callback
	// Now is the clock; see [pipeline.Config]. nil: the system's.
	Now func() time.Time
	// Store keeps the conversation and the facts that the configuration names.
	Store store.Store
	// Compactions coordinates the compactions of stored conversations, which run in the
	// background and may outlive the build. nil: the build waits for its compaction.
	Compactions *conversation.Compactions
	// Repeats is set if the build must leave the conversation in the store as it is: what leaves its
	// window is neither condensed nor noted.
	Repeats bool
	// Hold, if not nil, is called when a compaction begins, and what it returns when it has
	// ended. Until then the generation must not be closed.
	Hold func() (release func())
}

// Recipe loads the plugins that the builds of a configuration call, and makes its parts. c is the
// configuration of the generation, or another one with the same instances. It must have passed
// its Check.
func (g *Generation) Recipe(ctx context.Context, c *config.Config) (*Recipe, error) {
	b := &builder{generation: g, plugins: &plugins{config: c}}
	start := time.Now()
	if err := b.run(ctx,
		b.setTokenizer, b.checkWindow, b.load, b.setSteps, b.setPluginTokenizer, b.setFormatter, b.setMemory, b.setEnricher, b.setEmbedder, b.setCallbacks,
	); err != nil {
		return nil, err
	}
	return &Recipe{
		generation: g, config: c, out: b.out, compactor: b.compactor, plugins: b.plugins, LoadTime: time.Since(start), Loads: b.loads(),
	}, nil
}

// builder is the state of one [Generation.Recipe] or [Generation.ChainRecipe].
type builder struct {
	*plugins
	generation *Generation
	out        pipeline.Config
	late       *lateTokenizer
	compactor  pipeline.Compactor
	// takeBack removes the tokenizer that this recipe set for the whole generation.
	takeBack func()
}

// run runs stages until one fails.
func (b *builder) run(ctx context.Context, stages ...func(context.Context) error) error {
	for _, stage := range stages {
		if err := stage(ctx); err != nil {
			if b.takeBack != nil {
				b.takeBack()
			}
			return err
		}
	}
	return nil
}

// load loads the plugins that builds call.
func (b *builder) load(ctx context.Context) error { return b.loadFor(ctx, jobBuild) }

func (b *builder) loadFor(ctx context.Context, j job) (err error) {
	b.takeBack = b.generation.tokenizer.begin(b.out.Tokenizer)
	warm := b.out.Tokenizer
	if b.late != nil {
		warm = nil
	}
	b.plugins, err = b.generation.load(ctx, b.config, j, warm)
	return err
}

func (b *builder) setSteps(context.Context) (err error) {
	b.out.Steps, err = b.steps()
	return err
}

// setTokenizer sets the tokenizer that host and pipeline share. A tokenizer plugin is set later,
// when it is loaded.
func (b *builder) setTokenizer(context.Context) (err error) {
	if b.config.Model == "" && b.config.Tokenizer.Use != nil {
		b.late = new(lateTokenizer)
		b.out.Tokenizer = b.late
		return nil
	}
	b.out.Tokenizer, err = b.generation.builtinTokenizer(b.config)
	return err
}

// builtinTokenizer returns the built-in tokenizer that a configuration names.
func (g *Generation) builtinTokenizer(c *config.Config) (pipeline.Tokenizer, error) {
	if c.Tokenizer.File != "" {
		return g.fileTokenizer(c.Tokenizer.File)
	}
	if c.Model == "" {
		t, err := pipeline.EncodingTokenizer(cmp.Or(c.Tokenizer.Name, pipeline.DefaultEncoding))
		if err != nil {
			return nil, fmt.Errorf("%w: tokenizer: %w", config.ErrInvalid, err)
		}
		return t, nil
	}
	t, err := pipeline.ModelTokenizer(c.Model)
	if err != nil && !errors.Is(err, tokens.ErrUnknownModel) {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	if e, ok := t.(*tokens.Estimator); ok && c.Calibration != "" {
		return g.calibrated(c, e)
	}
	return t, nil
}

// fallible returns t. If t is a plugin that may be skipped, the result has a fallback.
func fallible(c *config.Config, t pipeline.Tokenizer) (pipeline.Tokenizer, error) {
	if c.Model != "" || c.Tokenizer.Use == nil || !replaceable(&c.Tokenizer) {
		return t, nil
	}
	second, err := pipeline.EncodingTokenizer(cmp.Or(c.Tokenizer.Fallback, pipeline.DefaultEncoding))
	if err != nil {
		return nil, fmt.Errorf("%w: tokenizer.fallback: %w", config.ErrInvalid, err)
	}
	return pipeline.NewFallbackTokenizer(t, second), nil
}

// Counter returns the tokenizer of a configuration for the texts of conversations and runs: that
// of its builds, but the default instead of a plugin.
func (g *Generation) Counter(c *config.Config) (pipeline.Tokenizer, error) {
	return g.builtinTokenizer(c)
}

// checkWindow refuses budgets that leave no room, before any plugin is opened.
func (b *builder) checkWindow(context.Context) error {
	out := b.out
	if err := setWindow(&out, b.config); err != nil {
		return err
	}
	if _, err := pipeline.New(out); err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return nil
}

// part makes a part of the pipeline from the plugin that a path of the configuration names.
func part[T any](b *builder, path string, op abi.Operation, u config.Use, get func(*host.Plugin, steps.Options) (T, error)) (T, error) {
	var none T
	plugin, _, err := b.get(use{Use: u, path: path, op: op})
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	t, err := get(plugin, steps.Options{Step: path, Settings: u.Settings, Reads: u.Reads, Timeout: time.Duration(u.Timeout)})
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, asUnavailable(plugin.Name(), op, err))
	}
	return t, nil
}

// quiet returns a logger that leaves out the records of skipped steps. The diagnostics name those
// steps, and the caller reports them once.
func quiet(l *slog.Logger) *slog.Logger { return drop(l, "step skipped") }

// drop returns a logger that leaves out the records of some messages.
func drop(l *slog.Logger, messages ...string) *slog.Logger {
	return slog.New(dropHandler{l.Handler(), messages})
}

type dropHandler struct {
	slog.Handler
	messages []string
}

// Handle implements slog.Handler.
func (d dropHandler) Handle(ctx context.Context, r slog.Record) error {
	if slices.Contains(d.messages, r.Message) {
		return nil
	}
	return d.Handler.Handle(ctx, r)
}
