package assemble

import (
	"cmp"
	"context"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
)

// memories are the memory providers of one build, in order.
type memories []pipeline.MemoryProvider

// Items returns the items of all providers, without duplicate ids. If a provider fails, the items
// of the others are returned with the error.
func (m memories) Items(ctx context.Context, q *pipeline.Query) (all []pipeline.Item, err error) {
	known := map[string]bool{}
	for _, p := range m {
		items, failed := p.Items(ctx, q)
		err = cmp.Or(err, failed)
		for _, it := range items {
			if it.ID == "" || !known[it.ID] {
				known[it.ID] = true
				all = append(all, it)
			}
		}
	}
	return all, err
}

// frameMemory returns the frames of the run that the configuration names. It returns nil if no
// run is named or the run has no frames yet.
func (r *Recipe) frameMemory(ctx context.Context, b *Build) (pipeline.MemoryProvider, error) {
	c := b.Config.Frames
	if c == nil {
		return nil, nil
	}
	run := agentstore.Run{Store: b.Store, Tenant: b.Config.TenantName(), ID: c.Run}
	p, err := run.Frames(ctx, frames.Limits{})
	if err != nil {
		return nil, err
	}
	if p == nil {
		r.generation.options.Logger.Warn("run has no frames", "run", c.Run)
		return nil, nil
	}
	return frames.NewFrameMemory(p, frames.MemoryConfig{Limits: frameLimits(c.MaxFrames, c.MaxTokens), WithData: c.Data})
}

func frameLimits(maxFrames, maxTokens int) frames.Limits {
	return frames.Limits{MaxFrames: uint32(maxFrames), MaxTokens: uint64(maxTokens)}
}
