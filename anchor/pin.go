package anchor

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/internal/assemble"
)

// pin is a generation that calls with a context use. mu guards the generation, which is nil once
// the pin is released.
type pin struct {
	app       *App
	candidate bool // whether the generation was a candidate when it was pinned

	mu         sync.Mutex
	generation *assemble.Generation
}

type pinKey struct{}

// Pin makes calls of this App that get the returned context use the current version of the
// configuration, also after a [App.Reload]: a program that makes several calls for one request sees
// one version. number is that of the version, as in [Status]. The version stays open until release
// is called, which must happen once; calls after it use the version that is current then.
func (a *App) Pin(ctx context.Context) (pinned context.Context, number int64, release func(), err error) {
	g, candidate, err := a.usedBy(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	p := &pin{app: a, generation: g, candidate: candidate}
	return context.WithValue(ctx, pinKey{}, p), g.Number, p.release, nil
}

// use returns the generation of the context, or else the current one, and holds it.
func (a *App) use(ctx context.Context) (*assemble.Generation, error) {
	g, _, err := a.usedBy(ctx)
	return g, err
}

// usedBy is use. candidate says that the generation is or was one.
func (a *App) usedBy(ctx context.Context) (g *assemble.Generation, candidate bool, err error) {
	if p, ok := ctx.Value(pinKey{}).(*pin); ok && p.app == a {
		if g := p.use(); g != nil {
			return g, p.candidate, nil
		}
	}
	if g := a.tries(ctx); g != nil {
		return g, true, nil
	}
	g, err = a.newest()
	return g, false, err
}

// newest returns the current generation and holds it.
func (a *App) newest() (*assemble.Generation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		return nil, errAppClosed
	}
	a.current.Hold()
	return a.current, nil
}

// use returns the generation and holds it. It is nil if the pin is released.
func (p *pin) use() *assemble.Generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.generation != nil {
		p.generation.Hold()
	}
	return p.generation
}

func (p *pin) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.generation != nil {
		p.generation.Release()
		p.generation = nil
	}
}
