package assemble

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

func (b *builder) setPluginTokenizer(context.Context) error {
	if b.late == nil {
		return nil
	}
	t, err := part(b, tokenizerPath, abi.OpCountTokens, *b.config.Tokenizer.Use, steps.Tokenizer)
	switch {
	case err == nil:
	case mistake(err) || !replaceable(&b.config.Tokenizer):
		return err
	default:
		t = unready(err)
	}
	b.late.set(t)
	return nil
}

func (b *builder) setFormatter(context.Context) (err error) {
	c := b.config.Format
	if c.Use == nil {
		b.out.Formatter = builtinFormatter(b.config, c.Name)
		return nil
	}
	b.out.FormatterOnError, b.out.FormatterFallback = policy(c.Use.Must, pipeline.Raise), builtinFormatter(b.config, c.Fallback)
	if b.kind(c.Use) != "" {
		b.out.FormatterTimeout = time.Duration(c.Use.Timeout)
		b.out.Formatter, err = componentPart(b, "format", func(m made) (pipeline.Formatter, error) { return m.Formatter() })
	} else {
		b.out.Formatter, err = part(b, "format", abi.OpFormat, *c.Use, steps.Formatter)
	}
	switch {
	case err == nil:
	case mistake(err) || !replaceable(&c):
		return err
	default:
		b.out.Formatter = unready(err)
	}
	return nil
}

// builtinFormatter returns the formatter of a name, with the options of a configuration. The
// empty name means the default.
func builtinFormatter(c *config.Config, name string) pipeline.Formatter {
	o := c.FormatOptions
	options := format.Options{
		Params:  format.Params{Model: c.Model, MaxOutputTokens: o.MaxOutput},
		Caching: o.Caching, Breakpoints: o.Marks(), CacheModel: o.Model, Cite: o.Cite == config.CiteNative,
	}
	if b, err := BudgetOf(c); err == nil { // setWindow has returned the error
		options.Demanded, _ = answerTokens(c, b)
	}
	return format.New(name, options)
}

func (b *builder) setEnricher(context.Context) (err error) {
	e := b.config.Enricher
	switch {
	case e == nil:
		return nil
	case e.Name == "":
		b.out.Enricher, b.out.EnricherOnError = pipeline.TemplateEnricher{MaxItems: e.MaxItems, Template: e.Template}, policy(e.Must, pipeline.Raise)
		return nil
	}
	b.out.EnricherOnError = policy(stated(b.config, &e.Use), pipeline.Skip)
	b.out.Enricher, err = part(b, "enricher", abi.OpEnrichQuery, e.Use, steps.Enricher)
	if err == nil || mistake(err) {
		return err
	}
	b.out.Enricher = unready(err)
	return nil
}

// setCallbacks adds the observers. An observer that is not ready is left out with a warning,
// because observers never fail a build.
func (b *builder) setCallbacks(context.Context) error {
	for i, u := range b.config.Callbacks {
		path := fmt.Sprintf("callbacks[%d]", i)
		c, err := part(b, path, abi.OpObserve, *u.Use(), steps.Callback)
		switch {
		case mistake(err):
			return err
		case err != nil:
			b.generation.options.Logger.Warn("callback left out", "error", err)
		default:
			b.out.Callbacks = append(b.out.Callbacks, c)
		}
	}
	return nil
}
