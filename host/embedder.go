package host

import (
	"context"

	"github.com/anchor-host/anchor-host/host/internal/guard"
)

// beside runs f, which is code of the embedder, within the time of the call; see guard.Run.
func beside[T any](c *callState, name string, f func(context.Context) (T, error), late func(T)) (T, error) {
	ctx, cancel := c.context()
	defer cancel()
	return guard.Run(ctx, c.inst.env.guard, name, f, late)
}
