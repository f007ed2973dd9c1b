// Package usedfuel carries the fuel that calls of plugins use to whom they are made for. It
// is what a plugin host and a pipeline agree on, so that neither has to know the other.
package usedfuel

import "context"

// Key is the key under which a context has the [Counter] of those who act under it.
type Key struct{}

// Counter adds up the fuel of calls. It must be safe for concurrent use.
type Counter interface{ AddFuel(units int64) }

// Add tells the counter of ctx, if there is one, that a call used so many units.
func Add(ctx context.Context, units int64) {
	if c, ok := ctx.Value(Key{}).(Counter); ok {
		c.AddFuel(units)
	}
}
