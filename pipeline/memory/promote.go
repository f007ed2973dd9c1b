package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Extractor takes facts from turns, and merges, shortens and removes facts. It may call a
// model or a plugin. The manager calls it without a lock. It must not change its arguments.
type Extractor interface {
	// Extract takes facts from turns, oldest first. known are facts of the same owner that
	// matter to the turns. If there are no turns, known are the facts to merge, shorten or
	// remove.
	Extract(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error)
}

// Extraction is the answer of an [Extractor].
type Extraction struct {
	// Add are new facts. Only their content is required; their owner is that of the turns.
	Add []Entry
	// Update are known facts with their new texts.
	Update []Edit
	// Remove are the IDs of known facts that are wrong, or that other facts contain.
	Remove []string
}

// Edit is the new text of a fact.
type Edit struct {
	ID      string
	Content string
	// Tags replace those of the fact. nil keeps them.
	Tags []string
}

// ExtractFunc makes a function an [Extractor].
type ExtractFunc func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error)

// Extract calls f.
func (f ExtractFunc) Extract(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
	return f(ctx, turns, known)
}

// DefaultKnownFacts is the default of Config.KnownFacts.
const DefaultKnownFacts = 20

// Promotion is the result of applying the answers of an [Extractor].
type Promotion struct {
	// Turns is how many turns the extractor received.
	Turns int `json:"turns"`
	// Added and Updated are the facts in their stored form.
	Added   []Entry `json:"added"`
	Updated []Entry `json:"updated"`
	// Removed is how many facts were deleted.
	Removed int `json:"removed"`
	// Known is how many of the extracted facts were stored already.
	Known int `json:"known"`
}

func (p *Promotion) add(q Promotion) {
	p.Turns += q.Turns
	p.Added, p.Updated = append(p.Added, q.Added...), append(p.Updated, q.Updated...)
	p.Removed += q.Removed
	p.Known += q.Known
}

// Promote asks the extractor for facts in turns, and stores them. The facts belong to the
// user and session of Filter; the extractor sees the facts of that owner that matter most
// to the turns. Without an extractor or turns Promote does nothing. After an error, the
// promotion lists what was stored before it.
func (m *Manager) Promote(ctx context.Context, turns []pipeline.Turn) (Promotion, error) {
	if m.cfg.Extractor == nil || len(turns) == 0 {
		return Promotion{}, nil
	}
	owner := &Entry{UserID: m.cfg.Filter.UserID, SessionID: m.cfg.Filter.SessionID}
	known, err := m.known(ctx, owner, turns)
	if err != nil {
		return Promotion{}, err
	}
	p, err := m.extract(ctx, owner, turns, known)
	p.Turns = len(turns)
	return p, err
}

// known returns the facts of an owner that matter most to turns.
func (m *Manager) known(ctx context.Context, owner *Entry, turns []pipeline.Turn) ([]Entry, error) {
	limit := m.cfg.KnownFacts
	if limit == 0 {
		limit = DefaultKnownFacts
	}
	if limit < 0 {
		return nil, nil
	}
	now := m.cfg.Now()
	entries, err := m.list(ctx, Filter{UserID: owner.UserID, SessionID: owner.SessionID}, now)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e *Entry) bool { return !sameOwner(e, owner) })
	texts := make([]string, len(turns))
	for i := range turns {
		texts[i] = turns[i].Content
	}
	ranked, err := m.cfg.Scorer.rank(ctx, &pipeline.Query{Text: strings.Join(texts, "\n")}, entries, now)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	var known []Entry
	for _, r := range first(ranked, limit) {
		known = append(known, r.entry.Clone())
	}
	return known, nil
}

// MaxConsolidated is how many facts of one owner Consolidate handles in one call.
const MaxConsolidated = 500

// Consolidate asks the extractor to merge, shorten and remove the facts that the filter
// selects, separately for each owner. It handles the oldest [MaxConsolidated] facts of an
// owner. Without an extractor it does nothing.
func (m *Manager) Consolidate(ctx context.Context, filter Filter) (Promotion, error) {
	var all Promotion
	if m.cfg.Extractor == nil {
		return all, nil
	}
	entries, err := m.list(ctx, filter, m.cfg.Now())
	if err != nil {
		return all, err
	}
	for len(entries) > 0 {
		owner := entries[0]
		var own, others []*Entry
		for _, e := range entries {
			if len(own) < MaxConsolidated && sameOwner(e, owner) {
				own = append(own, e)
			} else {
				others = append(others, e)
			}
		}
		p, err := m.extract(ctx, owner, nil, clones(own))
		all.add(p)
		if err != nil {
			return all, err
		}
		entries = others
	}
	return all, nil
}

// extract asks the extractor and stores its answer. It stores new facts first, so that an
// error does not lose any.
func (m *Manager) extract(ctx context.Context, owner *Entry, turns []pipeline.Turn, known []Entry) (p Promotion, err error) {
	var found Extraction
	err = core.Guard(func() (err error) {
		found, err = m.cfg.Extractor.Extract(ctx, turns, known)
		return err
	})
	if err == nil {
		err = found.check(known)
	}
	if err != nil {
		return p, fmt.Errorf("memory: extract from %d turns and %d facts: %w", len(turns), len(known), err)
	}
	sources := turnNames(turns)
	for i := range found.Add {
		e := &found.Add[i]
		e.UserID, e.SessionID = owner.UserID, owner.SessionID
		if len(e.SourceTurns) == 0 {
			e.SourceTurns = sources
		}
	}
	decisions, err := m.Remember(ctx, found.Add...)
	if err != nil {
		return p, err
	}
	for _, d := range decisions {
		switch d.Action {
		case ActionAdd:
			p.Added = append(p.Added, d.Entry.Clone())
		case ActionUpdate:
			p.Updated = append(p.Updated, d.Entry.Clone())
		case ActionDelete:
			p.Removed++
		case ActionNone:
			p.Known++
		}
	}
	for _, edit := range found.Update {
		changed, err := m.change(ctx, []string{edit.ID}, false, func(e *Entry, now time.Time) *Entry { return edit.of(e, sources, now) })
		if err != nil {
			return p, err
		}
		p.Updated = append(p.Updated, clones(changed)...)
	}
	removed, err := m.Delete(ctx, found.Remove...)
	p.Removed += removed
	return p, err
}

// check refuses changes to facts that the extractor did not receive.
func (x *Extraction) check(known []Entry) error {
	given := make(map[string]bool, len(known))
	for i := range known {
		given[known[i].ID] = true
	}
	var ids []string
	for _, e := range x.Update {
		if strings.TrimSpace(e.Content) == "" {
			return fmt.Errorf("fact %.100q: no content: %w", e.ID, pipeline.ErrInvalid)
		}
		ids = append(ids, e.ID)
	}
	for _, id := range append(ids, x.Remove...) {
		if !given[id] {
			return fmt.Errorf("fact %.100q: %w (only known facts can be changed, each once)", id, pipeline.ErrInvalid)
		}
		delete(given, id)
	}
	return nil
}

// of returns the edited fact.
func (d *Edit) of(e *Entry, sources []string, now time.Time) *Entry {
	c := e.Clone()
	c.Content = strings.ToValidUTF8(d.Content, "\uFFFD")
	c.ContentHash, c.UpdatedAt = ContentHash(c.Content), now
	if d.Tags != nil {
		c.Tags = slices.Clone(d.Tags)
	}
	c.SourceTurns = union(c.SourceTurns, sources)
	return &c
}

// turnNames names turns by their numbers, or by their times if they have none.
func turnNames(turns []pipeline.Turn) []string {
	names := make([]string, len(turns))
	for i := range turns {
		if t := &turns[i]; t.Sequence > 0 {
			names[i] = "turn-" + strconv.FormatInt(t.Sequence, 10)
		} else {
			names[i] = t.CreatedAt.Format(time.RFC3339Nano)
		}
	}
	return names
}

// promoteTurns is how many turns an extractor receives at a time.
const promoteTurns = 50

// PromoteLog promotes the turns of a stored conversation that have not been promoted yet,
// and notes the last turn that it promoted. After a failure, the next call begins with the
// turns that failed. Two calls at the same time may promote the same turns; even then a
// fact with the same content is stored once.
func (m *Manager) PromoteLog(ctx context.Context, l *Log) (Promotion, error) {
	var all Promotion
	if m.cfg.Extractor == nil {
		return all, nil
	}
	through, err := l.Promoted(ctx)
	if err != nil {
		return all, err
	}
	for {
		turns, err := l.Turns(ctx, through, promoteTurns)
		if err != nil || len(turns) == 0 {
			return all, err
		}
		p, err := m.Promote(ctx, turns)
		all.add(p)
		if err == nil {
			through = turns[len(turns)-1].Sequence
			err = l.SetPromoted(ctx, through)
		}
		if err != nil {
			return all, err
		}
	}
}
