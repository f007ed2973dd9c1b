package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/tokens"
)

// Pipeline is a compiled pipeline of a configuration: its plugins are loaded, and its steps and the other
// parts that builds share are made. It has a noun of its own beside [pipeline.Pipeline] because the memory
// of a build, and the tokenizer with which the host counts, come from the configuration too. It is safe for
// concurrent use.
type Pipeline struct {
	generation *Generation
	config     *config.Config
	// parts have what all builds share, without memory from the store. compiled is made of them.
	parts     pipeline.Config
	compiled  *pipeline.Pipeline
	compactor pipeline.Compactor
	plugins   *plugins
}

// Overrides are what one build has in the place of the compiled pipeline's own, or in addition to it.
type Overrides struct {
	// Config is the configuration of the pipeline, or a copy with other values. The copy must name
	// the same plugins, but tokenizer and format may name built-in ones instead.
	Config *config.Config
	// Reshaped says that window, counting or format of Config are not those of the pipeline, so that a
	// part of it is compiled again for the build.
	Reshaped bool
	// Items are appended by a first step named [ItemsStep]. nil: there is no such step.
	Items []pipeline.Item
	// Turns replace those of the conversation of Config, unless they are nil.
	Turns []pipeline.Turn
	// Only names the steps that run; nil means all steps. Skip names steps that do not run. The
	// step of Items always runs.
	Only, Skip []string
	// Formatter replaces the format of Config. It may be nil.
	Formatter pipeline.Formatter
	// Overrides are those that the compiled pipeline takes as they are, but for Memory, which the configuration says.
	pipeline.Overrides
	// Store keeps the conversation and the facts that the configuration names.
	Store store.Store
	// Compactions coordinates the compactions of stored conversations, which run in the
	// background and may outlive the build. nil: the build waits for its compaction.
	Compactions *conversation.Compactions
	// Repeats is set if the build must leave the conversation in the store as it is: what leaves its
	// window is neither condensed nor noted.
	Repeats bool
}

// Built is a build that has ended well.
type Built struct {
	*pipeline.Result
	// Tokenizer is that of the build. A tokenizer plugin can be used as long as its generation is held.
	Tokenizer pipeline.Tokenizer
	host      *hostTokenizer
	memory    *memory.Manager // the conversation with its facts; nil if there is neither
}

// Remember adds a turn to the conversation of the build.
func (b *Built) Remember(ctx context.Context, t pipeline.Turn) error {
	if b.memory == nil {
		return fmt.Errorf("%w: no conversation (set memory.conversation.id)", config.ErrInvalid)
	}
	return b.memory.AddTurn(b.host.counting(ctx, b.Tokenizer), t)
}

// Build runs one build; see [pipeline.Pipeline.Build]. It loads no plugin, but may call the plugin that
// condenses the conversation.
func (p *Pipeline) Build(ctx context.Context, q pipeline.Query, o *Overrides) (*Built, error) {
	if UsesStore(o.Config) && o.Store == nil {
		return nil, errNoStore
	}
	compiled, counts, err := p.overridden(o)
	if err != nil {
		return nil, err
	}
	ctx = p.generation.tokenizer.counting(ctx, counts)
	own, err := p.remembers(ctx, o, counts)
	if err != nil {
		return nil, err
	}
	with := o.Overrides
	if with.Memory, err = p.memory(ctx, o, own); err != nil {
		return nil, err
	}
	result, err := compiled.With(with).Build(ctx, q)
	if err != nil {
		return nil, err
	}
	return &Built{result, counts, p.generation.tokenizer, own}, nil
}

// overridden returns the compiled pipeline for a build, with the tokenizer that it counts with. What the
// build overrides is compiled again.
func (p *Pipeline) overridden(o *Overrides) (*pipeline.Pipeline, pipeline.Tokenizer, error) {
	c, own := o.Config, p.config
	if !o.Reshaped && o.Items == nil && o.Only == nil && o.Skip == nil && !replaceable(&own.Tokenizer) {
		return p.compiled, p.parts.Tokenizer, nil
	}
	parts := p.parts
	var err error
	if o.Reshaped {
		if err := setWindow(&parts, c); err != nil {
			return nil, nil, err
		}
		if c.Model != own.Model || c.Tokenizer != own.Tokenizer {
			if parts.Tokenizer, err = p.generation.Counter(c); err != nil {
				return nil, nil, err
			}
		}
		if c.Format.Use == nil || o.Formatter != nil {
			parts.FormatterTimeout, parts.FormatterOnError = 0, ""
			parts.Formatter = cmp.Or(o.Formatter, builtinFormatter(c, c.Format.Name))
		} else {
			parts.FormatterFallback = builtinFormatter(c, c.Format.Fallback)
		}
	}
	if parts.Tokenizer, err = fallible(c, parts.Tokenizer); err != nil {
		return nil, nil, err
	}
	if parts.Steps, err = chosen(parts.Steps, o, p.plugins); err != nil {
		return nil, nil, err
	}
	compiled, err := pipeline.New(cited(parts, c))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return compiled, parts.Tokenizer, nil
}

// Compile loads the plugins that the builds of a configuration call, and makes its parts. c is
// a configuration of the generation, or another one with the same instances. It must have passed
// its Check.
func (g *Generation) Compile(ctx context.Context, c *config.Config) (*Pipeline, error) {
	b := g.builder(c)
	b.out.Logger, b.out.SkipsReported, b.out.Times = g.options.Logger, true, &g.times
	var compiled *pipeline.Pipeline
	if err := b.run(ctx,
		b.setTokenizer, func(context.Context) error { return setWindow(&b.out, c) }, b.load(jobBuild), b.setSteps, b.setPluginTokenizer, b.setFormatter,
		b.setMemory, b.setEnricher, b.setEmbedder, b.setCallbacks,
		func(context.Context) (err error) {
			if compiled, err = pipeline.New(cited(b.out, c)); err != nil {
				err = fmt.Errorf("%w: %w", config.ErrInvalid, err)
			}
			return err
		},
	); err != nil {
		return nil, err
	}
	return &Pipeline{generation: g, config: c, parts: b.out, compiled: compiled, compactor: b.compactor, plugins: b.plugins}, nil
}

// builder is the state of a compilation, of a pipeline or of an agent.
type builder struct {
	*plugins
	generation *Generation
	out        pipeline.Config
	late       *lateTokenizer
	compactor  pipeline.Compactor
	// takeBack removes the tokenizer that the compilation set for the whole generation.
	takeBack func()
}

func (g *Generation) builder(c *config.Config) *builder {
	return &builder{generation: g, plugins: &plugins{config: c}}
}

// loadedFor returns a builder that has the plugins of a job of a configuration and its tokenizer, and no pipeline.
func (g *Generation) loadedFor(ctx context.Context, c *config.Config, j job) (*builder, error) {
	b := g.builder(c)
	return b, b.run(ctx, b.setTokenizer, b.load(j), b.setPluginTokenizer)
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

// load returns the stage that loads the plugins of a job.
func (b *builder) load(j job) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		b.takeBack = b.generation.tokenizer.begin(b.out.Tokenizer)
		warm := b.out.Tokenizer
		if b.late != nil {
			warm = nil
		}
		b.plugins, err = b.generation.load(ctx, b.config, j, warm)
		return err
	}
}

func (b *builder) setSteps(context.Context) (err error) {
	b.out.Steps, err = b.steps()
	return err
}

// chosen returns the steps of a build: the step of the given items, then the selected steps of
// the pipeline, which has plugins. Steps that must answer cannot be left out.
func chosen(all []pipeline.StepConfig, o *Overrides, p *plugins) ([]pipeline.StepConfig, error) {
	if o.Items == nil && o.Only == nil && o.Skip == nil {
		return all, nil
	}
	if err := known(all, o); err != nil {
		return nil, err
	}
	only, skip := setOf(o.Only), setOf(o.Skip)
	var list []pipeline.StepConfig
	if o.Items != nil {
		s, err := itemsStep(o.Items)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	for i, s := range all {
		if s.Name == ItemsStep && o.Items != nil {
			return nil, fmt.Errorf("%w: steps[%d]: the name %q is reserved for the step that appends the given items (choose another)", config.ErrInvalid, i, s.Name)
		}
		if (o.Only == nil || only[s.Name]) && !skip[s.Name] {
			list = append(list, s)
		} else if p.mustRun(s.Name) {
			return nil, fmt.Errorf("%w: step %q has must: true, so no build may leave it out (set must: false to allow it)", config.ErrInvalid, s.Name)
		}
	}
	return list, nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// known refuses names of steps that do not exist.
func known(all []pipeline.StepConfig, o *Overrides) error {
	names := make([]string, len(all), len(all)+1)
	for i, s := range all {
		names[i] = s.Name
	}
	if o.Items != nil {
		names = append(names, ItemsStep)
	}
	exist := setOf(names)
	for _, list := range []struct {
		option string
		names  []string
	}{{"only", o.Only}, {"skip", o.Skip}} {
		for _, name := range list.names {
			if !exist[name] {
				return fmt.Errorf("%w: %s: no step %q%s", config.ErrInvalid, list.option, name, strict.Hint(name, names))
			}
		}
	}
	if o.Items != nil && slices.Contains(o.Skip, ItemsStep) {
		return fmt.Errorf("%w: skip: %q is the step of the given items (give none)", config.ErrInvalid, ItemsStep)
	}
	return nil
}

// setTokenizer sets the tokenizer that host and pipeline share. A tokenizer plugin is set later,
// when it is loaded.
func (b *builder) setTokenizer(context.Context) (err error) {
	if b.config.Model == "" && b.config.Tokenizer.Use != nil {
		b.late = new(lateTokenizer)
		b.out.Tokenizer = b.late
		return nil
	}
	b.out.Tokenizer, err = b.generation.Counter(b.config)
	return err
}

// Counter returns the tokenizer of a configuration, but the default instead of a plugin. It counts the texts of
// conversations and runs, too.
func (g *Generation) Counter(c *config.Config) (pipeline.Tokenizer, error) {
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

// part makes a part of the pipeline from the plugin that a path of the configuration names.
func part[T any](b *builder, path string, op abi.Operation, u config.Use, get func(*host.Plugin, steps.Options) (T, error)) (T, error) {
	var none T
	plugin, _, err := b.get(use{Use: u, path: path, op: op})
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	t, err := get(plugin, steps.Options{Step: path, Settings: u.Settings, Timeout: time.Duration(u.Timeout)})
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, asUnavailable(plugin.Name(), op, err))
	}
	return t, nil
}
