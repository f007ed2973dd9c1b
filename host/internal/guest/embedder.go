package guest

import (
	"context"

	"github.com/anchor-host/anchor-host/host/internal/guard"
)

// Beside runs f, which is code of the embedder, within the time of the call; see guard.Run.
func Beside[T any](c *Call, name string, f func(context.Context) (T, error), late func(T)) (T, error) {
	ctx, cancel := c.Bounded()
	defer cancel()
	return guard.Run(ctx, c.Instance.Env.Guard, name, f, late)
}
