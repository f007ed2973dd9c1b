package assemble

import (
	"cmp"
	"context"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
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

// memory returns what a build remembers in the place of a memory plugin, or beside it. It returns nil for the
// memory of the pipeline alone. own is the conversation with its facts, nil if there is neither.
func (p *Pipeline) memory(ctx context.Context, o *Overrides, own *memory.Manager) (pipeline.MemoryProvider, error) {
	frames, err := p.frameMemory(ctx, o)
	if err != nil {
		return nil, err
	}
	var all memories
	if frames != nil {
		all = append(all, frames)
	}
	if own != nil {
		all = append(all, own)
		if graph := graphMemory(o, own); graph != nil {
			all = append(all, graph)
		}
	} else if p.parts.Memory != nil && frames != nil {
		all = append(all, p.parts.Memory)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	return all, nil
}

// frameMemory returns the frames of the run that the configuration names. It returns nil if no
// run is named or the run has no frames yet.
func (p *Pipeline) frameMemory(ctx context.Context, o *Overrides) (pipeline.MemoryProvider, error) {
	c := o.Config.Frames
	if c == nil {
		return nil, nil
	}
	run := agentstore.Run{Store: o.Store, Tenant: o.Config.TenantName(), ID: c.Run}
	kept, err := run.Frames(ctx, frames.Limits{})
	if err != nil {
		return nil, err
	}
	if kept == nil {
		p.generation.options.Logger.Warn("run has no frames", "run", c.Run)
		return nil, nil
	}
	return frames.NewFrameMemory(kept, frames.MemoryConfig{Limits: frameLimits(c.MaxFrames, c.MaxTokens), WithData: c.Data})
}

func frameLimits(maxFrames, maxTokens int) frames.Limits {
	return frames.Limits{MaxFrames: uint32(maxFrames), MaxTokens: uint64(maxTokens)}
}
