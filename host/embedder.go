package host

import (
	"context"

	"github.com/anchor-host/anchor-host/host/internal/guard"
)

// beside runs f, which is code of the embedder, within the time of the call; see guard.Run.
func beside[T any](c *callState, name string, f func(context.Context) (T, error), late func(T)) (T, error) {
	ctx, cancel := c.context()
	defer cancel()
	return guard.Run(ctx, c.inst.plugin.guard, name, f, late)
}

// away runs f while others have the processor. The call ends if its time is over then.
func (c *callState) away(f func()) {
	c.leave()
	f()
	c.rejoin()
}
