package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

func (b *builder) setPluginTokenizer(context.Context) error {
	if b.late == nil {
		return nil
	}
	t, err := part(b, "tokenizer", abi.OpCountTokens, *b.config.Tokenizer.Use, steps.Tokenizer)
	if err != nil {
		return err
	}
	b.late.set(t)
	return nil
}

func (b *builder) setFormatter(context.Context) (err error) {
	options := b.config.FormatOptions
	switch b.config.Format.Name {
	case "anthropic":
		b.out.Formatter = format.Anthropic{
			Caching: options.Caching, CacheControl: options.CacheControl, Breakpoints: options.Breakpoints,
			Model: cmp.Or(options.Model, b.config.Model),
		}
	case "openai":
		b.out.Formatter = format.OpenAI{}
	default:
		b.out.Formatter = format.Generic{}
	}
	if u := b.config.Format.Use; u != nil {
		b.out.Formatter, err = part(b, "format", abi.OpFormat, *u, steps.Formatter)
	}
	return err
}

func (b *builder) setEnricher(context.Context) (err error) {
	e := b.config.Enricher
	switch {
	case e == nil:
		return nil
	case e.Plugin == "" && e.Instance == "":
		b.out.Enricher, b.out.EnricherOnError = pipeline.TemplateEnricher{MaxItems: e.MaxItems, Template: e.Template}, pipeline.OnError(e.OnError)
		return nil
	}
	b.out.EnricherOnError = cmp.Or(pipeline.OnError(e.OnError), pipeline.Skip)
	b.out.Enricher, err = part(b, "enricher", abi.OpEnrichQuery, e.Use(), steps.Enricher)
	if err == nil || mistake(err) {
		return err
	}
	b.out.Enricher = unready(err)
	return nil
}

// setCallbacks adds the observers. One that is not ready is left out with a
// warning: observing never breaks a build.
func (b *builder) setCallbacks(context.Context) error {
	for i, u := range b.config.Callbacks {
		path := fmt.Sprintf("callbacks[%d]", i)
		c, err := part(b, path, abi.OpObserve, u, steps.Callback)
		switch {
		case mistake(err):
			return err
		case err != nil:
			b.options.Logger.Warn("callback left out", "error", err)
		default:
			b.out.Callbacks = append(b.out.Callbacks, c)
		}
	}
	return nil
}

// errTokenizer is the error of counting before the tokenizer is loaded: a
// plugin counted tokens in its init.
var errTokenizer = errors.New("tokenizer plugin is not loaded yet")

// lateTokenizer is a tokenizer that is set after the host was opened with it.
type lateTokenizer struct {
	current atomic.Pointer[pipeline.Tokenizer]
}

func (l *lateTokenizer) set(t pipeline.Tokenizer) { l.current.Store(&t) }

// Name names the tokenizer.
func (l *lateTokenizer) Name() string {
	if t := l.current.Load(); t != nil {
		return (*t).Name()
	}
	return "plugin"
}

// Count counts with the tokenizer.
func (l *lateTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if t := l.current.Load(); t != nil {
		return (*t).Count(ctx, texts...)
	}
	return nil, errTokenizer
}

// Truncate truncates with the tokenizer.
func (l *lateTokenizer) Truncate(ctx context.Context, text string, max int) (string, error) {
	if t := l.current.Load(); t != nil {
		return (*t).Truncate(ctx, text, max)
	}
	return "", errTokenizer
}
