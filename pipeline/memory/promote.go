package memory

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// Extractor takes facts from turns. Only the content of an entry is needed. A model
// or a plugin may be behind it; it is called with no lock held and may use the
// manager.
type Extractor interface {
	Extract(ctx context.Context, turns []pipeline.Turn) ([]Entry, error)
}

// ExtractFunc makes a function an [Extractor].
type ExtractFunc func(ctx context.Context, turns []pipeline.Turn) ([]Entry, error)

// Extract calls f.
func (f ExtractFunc) Extract(ctx context.Context, turns []pipeline.Turn) ([]Entry, error) {
	return f(ctx, turns)
}

// Promote takes facts from turns with the extractor and remembers them. An entry that
// names no source turns gets all of them. Without an extractor, turns or entries it
// does nothing.
func (m *Manager) Promote(ctx context.Context, turns []pipeline.Turn) ([]Decision, error) {
	if m.cfg.Extractor == nil || len(turns) == 0 {
		return nil, nil
	}
	var entries []Entry
	err := core.Guard(func() (err error) {
		entries, err = m.cfg.Extractor.Extract(ctx, turns)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memory: extract from %d turns: %w", len(turns), err)
	}
	sources := make([]string, len(turns))
	for i := range turns {
		sources[i] = turnName(&turns[i])
	}
	for i := range entries {
		if len(entries[i].SourceTurns) == 0 {
			entries[i].SourceTurns = sources
		}
	}
	return m.Remember(ctx, entries...)
}

// turnName names a turn by its number, or by its time if it has none.
func turnName(t *pipeline.Turn) string {
	if t.Sequence > 0 {
		return "turn-" + strconv.FormatInt(t.Sequence, 10)
	}
	return t.CreatedAt.Format(time.RFC3339Nano)
}

// promoteEvicted promotes turns that have left the conversation. A failure is logged
// at WARN: it must not keep the conversation from going on.
func (m *Manager) promoteEvicted(ctx context.Context, evicted []pipeline.Turn) {
	if _, err := m.Promote(ctx, evicted); err != nil {
		warn.Log(ctx, m.cfg.Logger, "evicted turns not promoted", err)
	}
}

// Remember stores new facts as the consolidator decides, or, without one, those whose
// content is not known yet, all or none of them. It returns the decisions in the
// order of the facts.
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

// carryOut writes what was decided.
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

// PromotionStep returns a step that promotes the memories and turns among the items,
// and leaves the items as they are. Use it with [pipeline.Skip]: remembering is no
// reason to fail a build.
func (m *Manager) PromotionStep() pipeline.Step {
	return pipeline.StepFunc(func(ctx context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
		var turns []pipeline.Turn
		for i := range items {
			if s := items[i].Source; s == pipeline.SourceMemory || s == pipeline.SourceConversation {
				turns = append(turns, turnOf(&items[i]))
			}
		}
		_, err := m.Promote(ctx, turns)
		return items, err
	})
}

// turnOf returns an item as a turn. What says no role it may have is the user's.
func turnOf(it *pipeline.Item) pipeline.Turn {
	t := pipeline.Turn{Role: pipeline.RoleUser, Content: it.Content, TokenCount: it.TokenCount, CreatedAt: it.CreatedAt, Sequence: it.Sequence}
	if role, ok := it.Metadata["role"].(string); ok && pipeline.Role(role).Valid() {
		t.Role = pipeline.Role(role)
	}
	return t
}
