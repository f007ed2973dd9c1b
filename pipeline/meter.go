package pipeline

import (
	"context"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// AddFuel tells the step, or the provider of a chain, that ctx belongs to that a plugin
// used so many units of fuel for it: the measure of work in which a plugin host meters
// its guests. Diagnostics show the sum. Elsewhere, and when the step is over, it has no
// effect.
func AddFuel(ctx context.Context, units int64) { usedfuel.Add(ctx, units) }

// meter is a context that counts the fuel used under it. Plugins may call each other
// from several goroutines, and a step that is left behind may still run.
type meter struct {
	context.Context
	fuel atomic.Int64
}

// under returns the meter as a context under ctx.
func (m *meter) under(ctx context.Context) context.Context {
	m.Context = ctx
	return m
}

// Value implements context.Context.
func (m *meter) Value(key any) any {
	if key == (usedfuel.Key{}) {
		return m
	}
	return m.Context.Value(key)
}

// AddFuel implements usedfuel.Counter.
func (m *meter) AddFuel(units int64) { m.fuel.Add(units) }
