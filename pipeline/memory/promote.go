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

// Extractor takes facts from turns, and puts facts in order. A model or a plugin may be
// behind it. It is called with no lock held, and must not change what it is given.
type Extractor interface {
	// Extract takes facts from turns, oldest first. known are facts of the same owner
	// that matter to the turns. Without turns, known are facts to put in order.
	Extract(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error)
}

// Extraction is what an [Extractor] finds.
type Extraction struct {
	// Add are new facts. Only their content is needed; their owner is that of the turns.
	Add []Entry
	// Update are facts among the known ones that get another text.
	Update []Edit
	// Remove are the IDs of known facts that are wrong, or that others say.
	Remove []string
}

// Edit gives a fact another text.
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

// DefaultKnownFacts is how many known facts an extractor sees that states no number.
const DefaultKnownFacts = 20

// Promotion is what became of the answers of an [Extractor].
type Promotion struct {
	// Turns is how many turns were looked at.
	Turns int `json:"turns"`
	// Added and Updated are the facts as they are stored now.
	Added   []Entry `json:"added"`
	Updated []Entry `json:"updated"`
	// Removed is how many facts were deleted.
	Removed int `json:"removed"`
	// Known is how many of the facts that were found were known already.
	Known int `json:"known"`
}

func (p *Promotion) add(q Promotion) {
	p.Turns += q.Turns
	p.Added, p.Updated = append(p.Added, q.Added...), append(p.Updated, q.Updated...)
	p.Removed += q.Removed
	p.Known += q.Known
}

// Promote takes facts from turns with the extractor and stores what it finds. The facts
// belong to the user and session of Filter; the extractor sees the facts of that owner
// that matter most to the turns. Without an extractor or turns Promote does nothing.
// What was stored before an error stays, and is in the promotion.
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

// MaxConsolidated is how many facts of one owner are put in order at a time.
const MaxConsolidated = 500

// Consolidate puts the facts that the filter selects in order with the extractor: facts
// of one owner are merged, shortened and removed, the oldest [MaxConsolidated] first.
// Without an extractor it does nothing.
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

// extract asks the extractor and stores what it finds: what is new first, so that an
// error on the way loses nothing.
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

// check refuses changes of facts that the extractor was not given.
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

// promoteTurns is how many turns an extractor sees at a time.
const promoteTurns = 50

// PromoteLog promotes the turns of a stored conversation that have not been promoted yet,
// and notes how far it came: what fails is done again the next time. Two who do it at the same time look at the same turns; facts
// with the same content are stored once all the same.
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
