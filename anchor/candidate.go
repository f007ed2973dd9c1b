package anchor

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

type candidateKey struct{}

// WithCandidate makes calls of an App that get the returned context use its candidate, if it has one; see
// [App.Follow].
func WithCandidate(ctx context.Context) context.Context {
	return context.WithValue(ctx, candidateKey{}, true)
}

// UsesCandidate reports whether a context of [App.Pin] uses a candidate.
func UsesCandidate(ctx context.Context) bool {
	p, ok := ctx.Value(pinKey{}).(*pin)
	return ok && p.candidate
}

// Follow makes the App use other configurations: stable for all calls, as after a [App.Reload], and candidate
// beside it for those that [WithCandidate] marks. Both are loaded at the same time, and share the store and
// what is compiled. stable may be nil, which changes nothing, or what the candidate was, which costs nothing.
// A candidate that is nil ends the one before. After an error there is no candidate, and a stable version that
// cannot be loaded changes nothing. The errors are those of [App.Reload].
func (a *App) Follow(ctx context.Context, stable, candidate Configuration) error {
	if err := take(ctx, a.reloading); err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer func() { <-a.reloading }()
	err := a.follow(ctx, stable, candidate)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = Attempt{Time: time.Now(), Err: err}
	return err
}

func (a *App) follow(ctx context.Context, stable, candidate Configuration) error {
	tried := a.takeCandidate()
	switch {
	case stable == nil:
	case tried != nil && Configuration(tried.Loaded) == stable:
		if err := a.replace(tried, func() {}); err != nil {
			return err
		}
		tried = nil
	default:
		g, err := a.other(ctx, stable)
		if err == nil {
			err = a.replace(g, func() {})
		}
		if err != nil {
			a.retire(tried)
			return err
		}
	}
	a.retire(tried)
	if candidate == nil {
		return nil
	}
	g, err := a.other(ctx, candidate)
	if err != nil {
		return err
	}
	a.mu.Lock()
	closed := a.current == nil
	if !closed {
		a.number(g)
		a.candidate = g
	}
	a.mu.Unlock()
	if closed {
		a.retire(g)
		return errAppClosed
	}
	return nil
}

// Shadows compares the second versions of steps with the first ones, since the configuration was loaded, and those of
// the candidate after those of the stable version.
func (a *App) Shadows() (list []shadows.Comparison) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range []*assemble.Generation{a.current, a.candidate} {
		if g != nil {
			list = append(list, g.Shadows.Reports()...)
		}
	}
	return list
}

// other loads another configuration than that of the file.
func (a *App) other(ctx context.Context, c Configuration) (*assemble.Generation, error) {
	loaded, ok := c.(*config.Loaded)
	if !ok {
		return nil, fmt.Errorf("%w: a configuration of type %T", ErrInvalid, c)
	}
	old, err := a.newest()
	if err != nil {
		return nil, err
	}
	defer old.Release()
	return a.successor(ctx, old, loaded)
}

// takeCandidate ends the use of the candidate by new calls. It may be nil.
func (a *App) takeCandidate() *assemble.Generation {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.candidate
	a.candidate = nil
	return g
}

// number gives a generation the next number. a.mu is held, and a.current is not nil.
func (a *App) number(g *assemble.Generation) {
	a.numbers = max(a.numbers, a.current.Number) + 1
	g.Number = a.numbers
}

// retire closes a generation when its last user is done. g may be nil.
func (a *App) retire(g *assemble.Generation) {
	if g == nil {
		return
	}
	a.mu.Lock()
	a.draining++
	a.retired.Add(1)
	a.mu.Unlock()
	go func() {
		defer a.retired.Done()
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.draining--
		}()
		if err := g.Close(context.Background()); err != nil {
			a.options.Logger.Warn("plugins do not close", "error", err)
		}
	}()
}

// tries returns the candidate and holds it, nil if the context does not ask for it or there is none.
func (a *App) tries(ctx context.Context) *assemble.Generation {
	if ctx.Value(candidateKey{}) == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.candidate != nil {
		a.candidate.Hold()
	}
	return a.candidate
}
