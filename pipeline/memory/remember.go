package memory

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Remember stores new facts as the consolidator decides. Without a consolidator it stores
// the facts whose content is not stored yet, all or none of them. It returns the decisions
// in the order of the facts.
func (m *Manager) Remember(ctx context.Context, entries ...Entry) ([]Decision, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if m.cfg.Facts == nil {
		return nil, fmt.Errorf("memory: remember: %w", ErrNoFacts)
	}
	fresh := make([]*Entry, len(entries))
	for i := range entries {
		var err error
		if fresh[i], err = m.fresh(entries[i]); err != nil {
			return nil, err
		}
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	existing, err := m.list(ctx, Filter{}, m.cfg.Now())
	if err != nil {
		return nil, err
	}
	decisions, err := m.decide(ctx, fresh, existing)
	if err != nil {
		return nil, err
	}
	return decisions, m.carryOut(ctx, decisions)
}

// decide asks the consolidator, or compares contents if there is none.
func (m *Manager) decide(ctx context.Context, fresh, existing []*Entry) (decisions []Decision, err error) {
	if m.cfg.Consolidator == nil {
		for _, e := range fresh {
			if equalContent(existing, e) != nil {
				decisions = append(decisions, Decision{Action: ActionNone})
				continue
			}
			existing = append(existing, e)
			decisions = append(decisions, Decision{Action: ActionAdd, Entry: e})
		}
		return decisions, nil
	}
	err = core.Guard(func() (err error) {
		decisions, err = m.cfg.Consolidator.Consolidate(ctx, fresh, existing)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memory: consolidate %d facts: %w", len(fresh), err)
	}
	if len(decisions) != len(fresh) {
		return nil, fmt.Errorf("memory: consolidator: %d decisions for %d facts: %w", len(decisions), len(fresh), pipeline.ErrInvalid)
	}
	return decisions, nil
}

// carryOut applies the decisions.
func (m *Manager) carryOut(ctx context.Context, decisions []Decision) error {
	var put []*Entry
	var deleted []string
	for i, d := range decisions {
		switch {
		case d.Action == ActionNone:
		case d.Entry == nil:
			return fmt.Errorf("memory: consolidator: decision %d: no entry: %w", i, pipeline.ErrInvalid)
		case d.Action == ActionAdd:
			if err := m.free(ctx, d.Entry.ID); err != nil {
				return err
			}
			put = append(put, d.Entry)
		case d.Action == ActionUpdate:
			put = append(put, d.Entry)
		case d.Action == ActionDelete:
			deleted = append(deleted, d.Entry.ID)
		default:
			return fmt.Errorf("memory: consolidator: decision %d: action %q: %w (want add, update, delete or none)", i, d.Action, pipeline.ErrInvalid)
		}
	}
	if len(put) > 0 {
		if err := m.cfg.Facts.Put(ctx, put...); err != nil {
			return err
		}
	}
	if len(deleted) == 0 {
		return nil
	}
	_, err := m.cfg.Facts.Delete(ctx, deleted...)
	return err
}
