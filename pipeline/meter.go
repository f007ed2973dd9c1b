package pipeline

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// AddFuel tells the step, or the provider of a chain, that ctx belongs to that a plugin
// used so many units of fuel for it: the measure of work in which a plugin host meters
// its guests. Diagnostics show the sum. Elsewhere, and when the step is over, it has no
// effect.
func AddFuel(ctx context.Context, units int64) { usedfuel.Add(ctx, units) }
