package anchor

import (
	"context"
	"sync"
)

// pin is a generation that calls with a context use. mu guards the generation, which is nil once
// the pin is released.
type pin struct {
	app *App

	mu         sync.Mutex
	generation *generation
}

type pinKey struct{}

// Pin makes calls of this App that get the returned context use the current version of the
// configuration, also after a [App.Reload]: a program that makes several calls for one request sees
// one version. number is that of the version, as in [Status]. The version stays open until release
// is called, which must happen once; calls after it use the version that is current then.
func (a *App) Pin(ctx context.Context) (pinned context.Context, number int64, release func(), err error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	p := &pin{app: a, generation: g}
	return context.WithValue(ctx, pinKey{}, p), g.number, p.release, nil
}

// use returns the generation of the context, or else the current one, and registers a user. The
// generation stays open until all users are done.
func (a *App) use(ctx context.Context) (*generation, error) {
	if p, ok := ctx.Value(pinKey{}).(*pin); ok && p.app == a {
		if g := p.use(); g != nil {
			return g, nil
		}
	}
	return a.newest()
}

// newest returns the current generation and registers a user.
func (a *App) newest() (*generation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		return nil, errAppClosed
	}
	a.current.users.Add(1)
	return a.current, nil
}

// use returns the generation and registers a user. It returns nil if the pin is released.
func (p *pin) use() *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.generation != nil {
		p.generation.users.Add(1)
	}
	return p.generation
}

func (p *pin) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.generation != nil {
		p.generation.users.Done()
		p.generation = nil
	}
}
