package pipeline

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// AddFuel adds units of fuel to the step, or the provider of a chain, whose context ctx is.
// A plugin host calls it for the work of its guests, which it measures in fuel. Diagnostics
// show the sum. With any other context, and after the step has ended, AddFuel has no effect.
func AddFuel(ctx context.Context, units int64) { usedfuel.Add(ctx, units) }
