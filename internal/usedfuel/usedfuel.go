// Package usedfuel carries the fuel that calls of plugins use, and the time that they take, to whom
// they are made for. It is what a plugin host and a pipeline agree on, so that neither has to know
// the other.
//
// The counter is in the context, because only the context knows the step that a call serves: a
// step may call several plugins, and a plugin may serve several steps.
package usedfuel

import (
	"context"
	"sync/atomic"
	"time"
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

// TimerOf returns the meter that wants to know how long calls under ctx take, nil if there is none.
func TimerOf(ctx context.Context) *Meter {
	if m, ok := ctx.Value(Key{}).(*Meter); ok && m.Timed {
		return m
	}
	return nil
}

// Meter is a context that counts the fuel used under it, and the time. Plugins may call each other
// from several goroutines, and an abandoned step may still run.
type Meter struct {
	context.Context
	// Timed says that times count. It is set before the meter is used.
	Timed bool

	fuel, waited, ran atomic.Int64 // times in nanoseconds
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

// AddTime adds how long a call waited for an instance and a processor, and how long it ran.
func (m *Meter) AddTime(waited, ran time.Duration) {
	m.waited.Add(int64(waited))
	m.ran.Add(int64(ran))
}

// Times returns the times so far. Those of calls at the same time add up.
func (m *Meter) Times() (waited, ran time.Duration) {
	return time.Duration(m.waited.Load()), time.Duration(m.ran.Load())
}

// Fuel returns the fuel so far.
func (m *Meter) Fuel() int64 { return m.fuel.Load() }
