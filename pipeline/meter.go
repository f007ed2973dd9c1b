package pipeline

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// AddFuel adds units of fuel to the step that runs with the context ctx, or to the provider
// of a chain. A plugin host calls it for the work of its guests, which it measures in fuel.
// Diagnostics show the sum. With any other context, and after the step has ended, AddFuel
// has no effect.
func AddFuel(ctx context.Context, units int64) { usedfuel.Add(ctx, units) }
