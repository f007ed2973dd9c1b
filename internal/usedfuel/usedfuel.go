// Package usedfuel carries the fuel that calls of plugins use to whom they are made for. It
// is what a plugin host and a pipeline agree on, so that neither has to know the other.
package usedfuel

import (
	"context"
	"sync/atomic"
)

// Key is the key under which a context has the [Counter] of those who act under it.
type Key struct{}

// Counter adds up the fuel of calls. It must be safe for concurrent use.
type Counter interface{ AddFuel(units int64) }

// Add adds units to the counter of ctx, if there is one.
func Add(ctx context.Context, units int64) {
	if c, ok := ctx.Value(Key{}).(Counter); ok {
		c.AddFuel(units)
	}
}

// Meter is a context that counts the fuel used under it. Plugins may call each other
// from several goroutines, and an abandoned step may still run.
type Meter struct {
	context.Context
	fuel atomic.Int64
}

// Under returns the meter as a context under ctx.
func (m *Meter) Under(ctx context.Context) context.Context {
	m.Context = ctx
	return m
}

// Value implements context.Context.
func (m *Meter) Value(key any) any {
	if key == (Key{}) {
		return m
	}
	return m.Context.Value(key)
}

// AddFuel implements Counter.
func (m *Meter) AddFuel(units int64) { m.fuel.Add(units) }

// Fuel returns the fuel so far.
func (m *Meter) Fuel() int64 { return m.fuel.Load() }
