package assemble

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/config"
)

// Opened is one build with a generation of its own.
type Opened struct {
	*Assembly
	g *Generation
}

// New opens a generation for one build.
func New(ctx context.Context, c *config.Config, o Options, b Build) (*Opened, error) {
	g := Open(c, o)
	b.Config = c
	r, err := g.Recipe(ctx, c)
	if err != nil {
		g.Close(ctx)
		return nil, err
	}
	a, err := r.Assembly(ctx, b)
	if err != nil {
		g.Close(ctx)
		return nil, err
	}
	return &Opened{a, g}, nil
}

// Close ends the plugins.
func (o *Opened) Close(ctx context.Context) error { return o.g.Close(ctx) }
