package assemble

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// Options are what a configuration does not say.
type Options struct {
	// PluginDir is the plugin folder, CacheDir that of compiled plugins (see
	// [host.Config]).
	PluginDir, CacheDir string
	// Path resolves the paths of file grants. nil leaves them as they are.
	Path func(string) string
	// Logger receives log lines, those of plugins included. nil discards them.
	Logger *slog.Logger
	// Items are appended by a first step named [ItemsStep]. nil: there is no
	// such step.
	Items []pipeline.Item
	// OnCompile is told of each module that is compiled; see [host.Config].
	OnCompile func(plugin string, done bool, took time.Duration)
	// Explain records the story of every item; see [pipeline.Config].
	Explain bool
	// Callbacks observe every build, beside those of the configuration.
	Callbacks []pipeline.Callback
	// Store keeps the conversation and the facts that the configuration names.
	Store store.Store
	// Frames, if set, are offered by a provider chain as observations. A build does
	// not look at them.
	Frames *frames.Pipeline
}

// Assembly is a pipeline with its plugins. It is safe for concurrent use. Close ends
// its plugins.
type Assembly struct {
	pipeline  *pipeline.Pipeline
	tokenizer pipeline.Tokenizer
	host      *host.Host
	// memory is the conversation with its facts, nil where there is neither.
	memory *memory.Manager
	// LoadTime is how long loading the plugins took, Loads how long each did.
	// Plugins are loaded side by side.
	LoadTime time.Duration
	Loads    []Load
}

// Load is how long it took to compile and start one plugin, its init included.
type Load struct {
	Name string
	Took time.Duration
}

// New loads the plugins of a configuration and makes its pipeline. The
// configuration must have passed its Check.
func New(ctx context.Context, c *config.Config, o Options) (*Assembly, error) {
	b := newBuilder(c, o, jobBuild)
	a, err := b.build(ctx)
	if err != nil {
		if b.host != nil {
			_ = b.host.Close(ctx) // the first error is the one to report
		}
		return nil, err
	}
	return a, nil
}

// Build runs one build; see [pipeline.Pipeline.Build].
func (a *Assembly) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	return a.pipeline.Build(ctx, q)
}

// Tokenizer returns the tokenizer of the builds. One that is a plugin ends with Close.
func (a *Assembly) Tokenizer() pipeline.Tokenizer { return a.tokenizer }

// Remember adds a turn to the conversation of the configuration.
func (a *Assembly) Remember(ctx context.Context, t pipeline.Turn) error {
	if a.memory == nil {
		return fmt.Errorf("%w: no conversation (set conversation.id)", config.ErrInvalid)
	}
	return a.memory.AddTurn(ctx, t)
}

// Close ends the plugins, waiting for running calls.
func (a *Assembly) Close(ctx context.Context) error {
	if a.host == nil {
		return nil
	}
	return a.host.Close(ctx)
}

// builder is the state of one [New].
type builder struct {
	plugins
	out    pipeline.Config
	late   *lateTokenizer
	memory *memory.Manager
}

func newBuilder(c *config.Config, o Options, j job) *builder {
	if o.Path == nil {
		o.Path = func(p string) string { return p }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &builder{plugins: plugins{config: c, job: j, options: o, loaded: map[string]*loaded{}}}
}

func (b *builder) build(ctx context.Context) (*Assembly, error) {
	c := b.config
	b.out = pipeline.Config{
		MaxTokens: c.MaxTokens, SystemPrompts: systemPrompts(c.SystemPrompts), Logger: quiet(b.options.Logger),
	}
	start := time.Now()
	for _, stage := range []func(context.Context) error{
		b.setTokenizer, b.checkWindow, b.openHost, b.load, b.lateStages,
	} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	loadTime := time.Since(start)
	b.out.Callbacks = append(b.out.Callbacks, b.options.Callbacks...)
	b.out.Explain = b.options.Explain
	p, err := pipeline.New(b.out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return &Assembly{pipeline: p, tokenizer: b.out.Tokenizer, host: b.host, memory: b.memory, LoadTime: loadTime, Loads: b.loads()}, nil
}

// setTokenizer sets the tokenizer that host and pipeline share. One that is a
// plugin takes its place when it is loaded.
func (b *builder) setTokenizer(context.Context) error {
	name := b.config.Tokenizer.Name
	switch {
	case b.config.Model != "":
		t, err := pipeline.ModelTokenizer(b.config.Model)
		if err != nil {
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		if e, ok := t.(*tokens.Estimator); ok && b.config.Calibration != "" {
			if err := b.calibrate(e); err != nil {
				return err
			}
		}
		b.out.Tokenizer, b.tokenizer = t, t
		return nil
	case b.config.Tokenizer.Use != nil:
		b.late = new(lateTokenizer)
		b.out.Tokenizer = b.late
		return nil
	case name == "":
		name = pipeline.DefaultEncoding
	}
	t, err := pipeline.EncodingTokenizer(name)
	if err != nil {
		return fmt.Errorf("%w: tokenizer: %w", config.ErrInvalid, err)
	}
	b.out.Tokenizer, b.tokenizer = t, t
	return nil
}

// checkWindow finds budgets that leave no room before any plugin is opened.
func (b *builder) checkWindow(context.Context) (err error) {
	if b.out.Budget, err = budget(b.config.Budget, b.config.MaxTokens); err != nil {
		return err
	}
	if err := b.setFit(); err != nil {
		return err
	}
	if _, err := pipeline.New(b.out); err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return nil
}

// openHost opens a plugin host if there is anything for it to run.
func (b *builder) openHost(ctx context.Context) (err error) {
	if len(b.wanted()) == 0 {
		return nil
	}
	var share float64
	if s := b.config.Plugins.PluginShare; s != nil {
		share = *s
	}
	b.host, err = host.New(host.Config{
		Logger: b.options.Logger, CacheDir: b.options.CacheDir, ImageCache: host.DefaultImageCache,
		Tokenizer: b.out.Tokenizer, OnCompile: b.options.OnCompile,
		Memory: int64(b.config.Plugins.Memory), MaxInstances: b.config.Plugins.MaxInstances, PluginShare: share,
	})
	return err
}

// lateStages fills in the parts that may be plugins.
func (b *builder) lateStages(ctx context.Context) (err error) {
	if b.out.Steps, err = b.steps(); err != nil {
		return err
	}
	for _, stage := range []func(context.Context) error{
		b.setPluginTokenizer, b.setFormatter, b.setMemory, b.setEnricher, b.setCallbacks,
	} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// part makes a part of the pipeline of the plugin at a place.
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

// quiet returns a logger that leaves out the records of skipped steps: the
// diagnostics name them, and the caller says so once.
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
