package guest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// A function of the embedder may call plugins. Its context tells which guest's call it serves.
// The time and fuel of that call bound every call within it. A call within a call does not
// wait for an instance while all are lent, because its own callers may have them.

// Nest is what the calls within one call share. Functions of the embedder may make several at
// the same time.
type Nest struct {
	// Depth is how many calls lie around those of the nest.
	Depth int
	// left is the fuel that the calls may still use, Spent the fuel that they used.
	left, Spent atomic.Int64
}

// nestKey is the key of the nest in a context.
type nestKey struct{}

// NestOf returns the nest that a call under ctx lies in, nil if it lies in no other call.
func NestOf(ctx context.Context) *Nest {
	n, _ := ctx.Value(nestKey{}).(*Nest)
	return n
}

// Nested returns a context for calls within this one.
func (c *Call) Nested(ctx context.Context) (context.Context, *Nest) {
	n := &Nest{Depth: c.depth + 1}
	n.left.Store(max(0, c.Fuel-c.used()))
	return context.WithValue(ctx, nestKey{}, n), n
}

// ChargeFuel charges the fuel of a call that ended. A call within a call is charged to the call
// that it lies in, which reports the fuel as its own. Any other call is charged to the step of
// its build, if there is one.
func ChargeFuel(ctx context.Context, fuel int64) {
	n := NestOf(ctx)
	if n == nil {
		usedfuel.Add(ctx, fuel)
		return
	}
	n.left.Add(-fuel)
	n.Spent.Add(fuel)
}

// Stopwatch measures a call for the step of a build that is explained. Its zero value measures
// nothing: nobody asks, or the call lies in another one, whose time it is part of.
type Stopwatch struct {
	meter *usedfuel.Meter
	began time.Duration
}

// Watch begins to measure a call.
func Watch(ctx context.Context) Stopwatch {
	m := usedfuel.TimerOf(ctx)
	if m == nil || NestOf(ctx) != nil {
		return Stopwatch{}
	}
	return Stopwatch{m, Clock()}
}

// Stop ends the measurement. in is nil for a call that got no instance, and only waited.
func (w Stopwatch) Stop(in *Instance) {
	if w.meter == nil {
		return
	}
	now := Clock()
	if in == nil {
		w.meter.AddTime(now-w.began, 0)
		return
	}
	waited := in.Call.Began - w.began + in.Call.Waited
	w.meter.AddTime(waited, now-w.began-waited)
}
