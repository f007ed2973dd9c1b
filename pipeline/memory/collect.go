package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// DefaultRetention is the default of Collector.Threshold.
const DefaultRetention = 0.1

// Collector describes a garbage collection of facts. The zero value deletes the facts that
// have expired.
type Collector struct {
	// Decay, if not nil, makes the collection also delete facts whose retention is below
	// Threshold.
	Decay Decay
	// Threshold is a retention, see [Decay]. 0 means DefaultRetention. A fact whose
	// retention equals it stays.
	Threshold float64
	// OnExpired and OnDecayed receive the deleted facts after the collection. In a dry run
	// they receive the facts that would be deleted. They may use the manager. Panics are
	// logged at WARN.
	OnExpired func(ctx context.Context, entries []Entry)
	OnDecayed func(ctx context.Context, entries []Entry, threshold float64)
}

// Collection is the outcome of a garbage collection.
type Collection struct {
	Expired   int  `json:"expired_pruned"`
	Decayed   int  `json:"decayed_pruned"`
	Remaining int  `json:"total_remaining"`
	DryRun    bool `json:"dry_run"`
}

// Collect deletes facts that have expired, and then those that have decayed. A dry run
// deletes nothing, and returns the numbers that a collection would return.
func (m *Manager) Collect(ctx context.Context, c Collector, dryRun bool) (Collection, error) {
	c.Threshold = cmp.Or(c.Threshold, DefaultRetention)
	if !(c.Threshold > 0) || math.IsInf(c.Threshold, 0) {
		return Collection{}, fmt.Errorf("memory: collect: threshold %v: %w (want above 0)", c.Threshold, pipeline.ErrInvalid)
	}
	if m.cfg.Facts == nil {
		return Collection{DryRun: dryRun}, nil
	}
	expired, decayed, remaining, err := m.collect(ctx, c, dryRun)
	if err != nil {
		return Collection{}, err
	}
	m.tell(ctx, len(expired) > 0 && c.OnExpired != nil, func() { c.OnExpired(ctx, clones(expired)) })
	m.tell(ctx, len(decayed) > 0 && c.OnDecayed != nil, func() { c.OnDecayed(ctx, clones(decayed), c.Threshold) })
	return Collection{len(expired), len(decayed), remaining, dryRun}, nil
}

func (m *Manager) collect(ctx context.Context, c Collector, dryRun bool) (expired, decayed []*Entry, remaining int, err error) {
	m.writing.Lock()
	defer m.writing.Unlock()
	entries, err := m.cfg.Facts.List(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	now := m.cfg.Now()
	err = core.Guard(func() error {
		for _, e := range entries {
			if e.Expired(now) {
				expired = append(expired, e)
			} else if c.Decay != nil && unit(c.Decay.Retention(e, now)) < c.Threshold {
				decayed = append(decayed, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, 0, fmt.Errorf("memory: collect: decay: %w", err)
	}
	remaining = len(entries) - len(expired) - len(decayed)
	if ids := append(entryIDs(expired), entryIDs(decayed)...); !dryRun && len(ids) > 0 {
		_, err = m.cfg.Facts.Delete(ctx, ids...)
	}
	return expired, decayed, remaining, err
}

// tell calls a callback if the list of facts is not empty.
func (m *Manager) tell(ctx context.Context, something bool, callback func()) {
	if !something {
		return
	}
	if err := core.Guard(func() error { callback(); return nil }); err != nil {
		warn.Log(ctx, m.cfg.Logger, "collection callback failed", err)
	}
}
