package memory

import (
	"context"
	"fmt"
	"slices"

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
	if err := m.prepare(ctx, fresh); err != nil {
		return nil, err
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	var decisions []Decision
	write := m.writeNew
	if m.cfg.Consolidator != nil { // which compares with all facts
		write = m.writeAll
	}
	err := write(ctx, nil, fresh, func(existing []*Entry) (c FactChange, err error) {
		if decisions, err = m.decide(ctx, fresh, unexpired(existing, m.cfg.Now())); err != nil {
			return c, err
		}
		return carriedOut(decisions, existing)
	})
	return decisions, err
}

// writeAll is write with all facts.
func (m *Manager) writeAll(ctx context.Context, _ []string, _ []*Entry, decide func(existing []*Entry) (FactChange, error)) error {
	return m.write(ctx, nil, decide)
}

// prepare lets the consolidator embed facts before others wait for the lock of those who write.
func (m *Manager) prepare(ctx context.Context, fresh []*Entry) error {
	c, ok := m.cfg.Consolidator.(*SimilarityConsolidator)
	if !ok || len(fresh) == 0 {
		return nil
	}
	existing, err := m.cfg.Facts.List(ctx)
	if err != nil {
		return err
	}
	err = core.Guard(func() error { return c.prepare(m.storing(ctx), append(unexpired(existing, m.cfg.Now()), fresh...)) })
	if err != nil {
		return fmt.Errorf("memory: consolidate %d facts: %w", len(fresh), err)
	}
	return nil
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
		decisions, err = m.cfg.Consolidator.Consolidate(m.storing(ctx), fresh, existing)
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

// carriedOut returns the changes that were decided.
func carriedOut(decisions []Decision, existing []*Entry) (c FactChange, err error) {
	for i, d := range decisions {
		switch {
		case d.Action == ActionNone:
		case d.Entry == nil:
			return c, fmt.Errorf("memory: consolidator: decision %d: no entry: %w", i, pipeline.ErrInvalid)
		case d.Action == ActionAdd:
			if slices.ContainsFunc(existing, func(e *Entry) bool { return e.ID == d.Entry.ID }) {
				return c, errTaken(d.Entry.ID)
			}
			c.Put = append(c.Put, d.Entry)
		case d.Action == ActionUpdate:
			c.Put = append(c.Put, d.Entry)
		case d.Action == ActionDelete:
			c.Delete = append(c.Delete, d.Entry.ID)
		default:
			return c, fmt.Errorf("memory: consolidator: decision %d: action %q: %w (want add, update, delete or none)", i, d.Action, pipeline.ErrInvalid)
		}
	}
	return c, nil
}
