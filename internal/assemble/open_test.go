package assemble

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Opened is a compiled pipeline with a generation of its own, and the overrides of its builds.
type Opened struct {
	pipeline  *Pipeline
	g         *Generation
	overrides Overrides
}

// LoadedOf returns a configuration that is in no file.
func LoadedOf(c *config.Config) *config.Loaded { return &config.Loaded{Config: *c} }

// New compiles the pipeline at the top level of a configuration.
func New(ctx context.Context, l *config.Loaded, o Options, with Overrides) (*Opened, error) {
	g, err := Open(l, o)
	if err != nil {
		return nil, err
	}
	p, err := g.Pipeline(ctx, "")
	if err != nil {
		g.Close(ctx)
		return nil, err
	}
	with.Config = &l.Config
	return &Opened{p, g, with}, nil
}

// Build runs one build.
func (o *Opened) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	b, err := o.pipeline.Build(ctx, q, &o.overrides)
	if err != nil {
		return nil, err
	}
	return b.Result, nil
}

// Close ends the plugins.
func (o *Opened) Close(ctx context.Context) error { return o.g.Close(ctx) }
