package assemble

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Assembly is the pipeline of one build, or of several with the same options. It is safe
// for concurrent use.
type Assembly struct {
	pipeline *pipeline.Pipeline
	host     *hostTokenizer
	counts   pipeline.Tokenizer
	// memory is the conversation with its facts. It is nil if there is neither.
	memory *memory.Manager
}

// Assembly makes the pipeline of a build. It loads no plugin, but may call the plugin that
// condenses the conversation.
func (r *Recipe) Assembly(ctx context.Context, b Build) (*Assembly, error) {
	if UsesStore(b.Config) && b.Store == nil {
		return nil, errNoStore
	}
	out, err := r.tailored(&b)
	if err != nil {
		return nil, err
	}
	ctx = r.generation.tokenizer.counting(ctx, out.Tokenizer)
	own, err := r.remembers(ctx, &b, out.Tokenizer)
	if err != nil {
		return nil, err
	}
	if own != nil {
		out.Memory = own
		if graph := graphMemory(&b, own); graph != nil {
			out.Memory = memories{own, graph}
		}
	}
	frames, err := r.frameMemory(ctx, &b)
	switch {
	case err != nil:
		return nil, err
	case frames != nil && out.Memory != nil:
		out.Memory = memories{frames, out.Memory}
	case frames != nil:
		out.Memory = frames
	}
	p, err := pipeline.New(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return &Assembly{pipeline: p, host: r.generation.tokenizer, counts: out.Tokenizer, memory: own}, nil
}

// tailored returns the pipeline configuration of the recipe with the options of a build, without
// memory.
func (r *Recipe) tailored(b *Build) (out pipeline.Config, err error) {
	out = r.out
	out.Logger, out.Explain = quiet(r.generation.options.Logger), b.Explain
	out.Partial, out.Times = b.Partial, &r.generation.times
	out.Callbacks, out.Now = slices.Concat(out.Callbacks, b.Callbacks), b.Now
	if err := setWindow(&out, b.Config); err != nil {
		return out, err
	}
	if c, own := b.Config, r.config; c.Model != own.Model || c.Tokenizer != own.Tokenizer {
		if out.Tokenizer, err = r.generation.builtinTokenizer(c); err != nil {
			return out, err
		}
	}
	if out.Tokenizer, err = fallible(b.Config, out.Tokenizer); err != nil {
		return out, err
	}
	format := b.Config.Format
	switch {
	case b.Formatter != nil:
		out.Formatter, out.FormatterTimeout = b.Formatter, 0
	case format.Use == nil:
		out.FormatterTimeout = 0
		out.Formatter = builtinFormatter(b.Config, format.Name)
	default:
		out.FormatterOnError, out.FormatterFallback = policy(format.Use.Must, pipeline.Raise), builtinFormatter(b.Config, format.Fallback)
	}
	out.Steps, err = chosen(out.Steps, b, r.plugins)
	return out, err
}

// chosen returns the steps of a build: the step of the given items, then the selected steps of
// the recipe, which has plugins. Steps that must answer cannot be left out.
func chosen(all []pipeline.StepConfig, b *Build, p *plugins) ([]pipeline.StepConfig, error) {
	if b.Items == nil && b.Only == nil && b.Skip == nil {
		return all, nil
	}
	if err := known(all, b); err != nil {
		return nil, err
	}
	only, skip := setOf(b.Only), setOf(b.Skip)
	var list []pipeline.StepConfig
	if b.Items != nil {
		list = append(list, itemsStep(b.Items))
	}
	for i, s := range all {
		if s.Name == ItemsStep && b.Items != nil {
			return nil, fmt.Errorf("%w: steps[%d]: the name %q is reserved for the step that appends the given items (choose another)", config.ErrInvalid, i, s.Name)
		}
		if (b.Only == nil || only[s.Name]) && !skip[s.Name] {
			list = append(list, s)
		} else if p.mustRun(s.Name) {
			return nil, fmt.Errorf("%w: only, skip: step %q must answer, so no build may leave it out (set must: false to allow it)", config.ErrInvalid, s.Name)
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
func known(all []pipeline.StepConfig, b *Build) error {
	names := make([]string, len(all), len(all)+1)
	for i, s := range all {
		names[i] = s.Name
	}
	if b.Items != nil {
		names = append(names, ItemsStep)
	}
	exist := setOf(names)
	for _, list := range []struct {
		option string
		names  []string
	}{{"only", b.Only}, {"skip", b.Skip}} {
		for _, name := range list.names {
			if !exist[name] {
				return fmt.Errorf("%w: %s: no step %q%s", config.ErrInvalid, list.option, name, strict.Hint(name, names))
			}
		}
	}
	if b.Items != nil && slices.Contains(b.Skip, ItemsStep) {
		return fmt.Errorf("%w: skip: %q is the step of the given items (give none)", config.ErrInvalid, ItemsStep)
	}
	return nil
}

// Build runs one build; see [pipeline.Pipeline.Build].
func (a *Assembly) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	return a.pipeline.Build(a.host.counting(ctx, a.counts), q)
}

// Tokenizer returns the tokenizer of the build. A tokenizer plugin can be used until its
// generation is closed.
func (a *Assembly) Tokenizer() pipeline.Tokenizer { return a.counts }

// Remember adds a turn to the conversation of the configuration.
func (a *Assembly) Remember(ctx context.Context, t pipeline.Turn) error {
	if a.memory == nil {
		return fmt.Errorf("%w: no conversation (set memory.conversation.id)", config.ErrInvalid)
	}
	return a.memory.AddTurn(a.host.counting(ctx, a.counts), t)
}
