package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/usage"
)

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
	// Services says what was used of models and embedders.
	Services []usage.Line `json:"services,omitempty"`
}

func (p *Promotion) add(q Promotion) {
	p.Turns += q.Turns
	p.Added, p.Updated = append(p.Added, q.Added...), append(p.Updated, q.Updated...)
	p.Removed += q.Removed
	p.Known += q.Known
}

// Promote asks the extractor for facts in turns, and stores them. The facts belong to the
// user and session of Filter; the extractor sees the facts of that owner that matter most
// to the turns. Without an extractor or turns Promote does nothing. If there is an error,
// nothing is stored.
func (m *Manager) Promote(ctx context.Context, turns []pipeline.Turn) (Promotion, error) {
	return m.promote(ctx, turns, nil)
}

// promote promotes turns and makes other changes together with those of the facts.
func (m *Manager) promote(ctx context.Context, turns []pipeline.Turn, with []store.Change) (Promotion, error) {
	if m.cfg.Extractor == nil || len(turns) == 0 {
		return Promotion{}, nil
	}
	owner := m.owner()
	known, err := m.known(ctx, owner, turns)
	if err != nil {
		return Promotion{}, err
	}
	p, err := m.extract(ctx, owner, turns, known, with)
	p.Turns = len(turns)
	return p, err
}

// owner returns an entry with the user and the session that own promoted facts.
func (m *Manager) owner() *Entry {
	return &Entry{UserID: m.cfg.Filter.UserID, SessionID: m.cfg.Filter.SessionID}
}

// known returns the facts of an owner that matter most to turns.
func (m *Manager) known(ctx context.Context, owner *Entry, turns []pipeline.Turn) ([]Entry, error) {
	limit := cmp.Or(m.cfg.KnownFacts, DefaultKnownFacts)
	if limit < 0 {
		return nil, nil
	}
	texts := make([]string, len(turns))
	for i := range turns {
		texts[i] = turns[i].Content
	}
	q := &pipeline.Query{Text: strings.Join(texts, "\n")}
	ranked, err := m.ranked(ctx, q, Filter{UserID: owner.UserID, SessionID: owner.SessionID}, owner, limit)
	if err != nil {
		return nil, err
	}
	chosen := make([]*Entry, 0, limit)
	for _, r := range ranked {
		chosen = append(chosen, r.entry)
	}
	return clones(bounded(chosen)), nil
}

// MaxKnownBytes is the greatest size of the facts that an extractor receives in one call, in
// bytes of their JSON.
const MaxKnownBytes = 256 << 10

// bounded returns the newest entries that have at most [MaxKnownBytes] together, in the given
// order.
func bounded(entries []*Entry) []*Entry {
	newest := slices.Clone(entries)
	slices.SortStableFunc(newest, func(a, b *Entry) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	fits, total := make(map[*Entry]bool, len(entries)), 0
	for _, e := range newest {
		if n := size(e); total+n <= MaxKnownBytes {
			fits[e] = true
			total += n
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return !fits[e] })
}

// size returns the size of an entry in bytes.
func size(e *Entry) int {
	data, err := json.Marshal(e)
	if err != nil {
		return MaxKnownBytes + 1
	}
	return len(data)
}

// MaxConsolidated is how many facts of one owner Consolidate handles in one call.
const MaxConsolidated = 500

// Consolidate asks the extractor to merge, shorten and remove the facts that the filter
// selects, separately for each owner. One call of the extractor handles at most
// [MaxConsolidated] facts of at most [MaxKnownBytes] together. A fact that is larger stays as it
// is. Without an extractor Consolidate does nothing.
func (m *Manager) Consolidate(ctx context.Context, filter Filter) (Promotion, error) {
	var all Promotion
	if m.cfg.Extractor == nil {
		return all, nil
	}
	entries, err := m.list(ctx, filter, m.cfg.Now())
	if err != nil {
		return all, err
	}
	type owner struct{ user, session string }
	byOwner := make(map[owner]int)
	var groups [][]*Entry
	var sizes []int
	for _, e := range entries {
		n := size(e)
		if n > MaxKnownBytes {
			continue
		}
		key := owner{e.UserID, e.SessionID}
		at, ok := byOwner[key]
		if !ok || len(groups[at]) == MaxConsolidated || sizes[at]+n > MaxKnownBytes {
			at = len(groups)
			byOwner[key], groups, sizes = at, append(groups, nil), append(sizes, 0)
		}
		groups[at], sizes[at] = append(groups[at], e), sizes[at]+n
	}
	for _, own := range groups {
		p, err := m.extract(ctx, own[0], nil, clones(own), nil)
		all.add(p)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// extract asks the extractor and stores all that it finds, or nothing. A known fact that
// was changed while the extractor worked stays as it is. If one was deleted, the answer may
// say the same again: nothing is stored, and the error is [store.ErrConflict].
func (m *Manager) extract(ctx context.Context, owner *Entry, turns []pipeline.Turn, known []Entry, with []store.Change) (p Promotion, err error) {
	if m.cfg.Facts == nil {
		return p, fmt.Errorf("memory: promote: %w", ErrNoFacts)
	}
	sources := turnNames(turns)
	found, fresh, err := m.ask(ctx, owner, turns, known)
	if err != nil {
		return p, &extractError{err}
	}
	if err := m.prepare(ctx, fresh); err != nil {
		return p, err
	}
	write := m.writeNew
	if m.cfg.Consolidator != nil { // which compares with all facts
		write = m.writeAll
	}
	ids := make([]string, len(known))
	for i := range known {
		ids[i] = known[i].ID
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	err = write(ctx, ids, fresh, func(existing []*Entry) (c FactChange, err error) {
		p, c, err = m.merge(ctx, &found, fresh, known, existing, sources)
		c.With = with
		return c, err
	})
	if err != nil {
		return Promotion{}, err
	}
	return p, nil
}

// extractError says that the extractor failed, or that its answer cannot be used.
type extractError struct{ error }

func (e *extractError) Unwrap() error { return e.error }

// ask returns a checked answer of the extractor, with its new facts as they are to be stored.
func (m *Manager) ask(ctx context.Context, owner *Entry, turns []pipeline.Turn, known []Entry) (found Extraction, fresh []*Entry, err error) {
	ctx = observe.WithOwner(ctx, observe.Owner{User: owner.UserID}) // who asks may keep what fails, until the user is deleted
	err = core.Guard(func() (err error) {
		found, err = m.cfg.Extractor.Extract(ctx, turns, known)
		return err
	})
	if err == nil {
		err = found.check(known)
	}
	if err != nil {
		return found, nil, fmt.Errorf("memory: extract from %d turns and %d facts: %w", len(turns), len(known), err)
	}
	sources := turnNames(turns)
	fresh = make([]*Entry, len(found.Add))
	for i := range found.Add {
		e := &found.Add[i]
		e.UserID, e.SessionID = owner.UserID, owner.SessionID
		if len(e.SourceTurns) == 0 {
			e.SourceTurns = sources
		}
		if fresh[i], err = m.fresh(*e); err != nil {
			return found, nil, err
		}
	}
	return found, fresh, nil
}

// merge returns the changes by which what was found is stored. New facts are compared with
// those that stay and with the edited ones.
func (m *Manager) merge(ctx context.Context, found *Extraction, fresh []*Entry, known []Entry, existing []*Entry, sources []string) (p Promotion, c FactChange, err error) {
	now := m.cfg.Now()
	byID := make(map[string]*Entry, len(existing))
	for _, e := range existing {
		byID[e.ID] = e
	}
	changed := make(map[string]bool)
	for i := range known {
		e := byID[known[i].ID]
		if e == nil {
			return p, c, fmt.Errorf("memory: fact %.100q was deleted while facts were extracted: %w (extract again)", known[i].ID, store.ErrConflict)
		}
		changed[e.ID] = !e.UpdatedAt.Equal(known[i].UpdatedAt) || e.Content != known[i].Content
	}
	left := make(map[string]bool) // facts that others replace
	var edited []*Entry
	for i := range found.Update {
		if edit := &found.Update[i]; !changed[edit.ID] {
			left[edit.ID] = true
			edited = append(edited, edit.of(byID[edit.ID], sources, now))
		}
	}
	for _, id := range found.Remove {
		if !changed[id] {
			left[id] = true
			c.Delete = append(c.Delete, id)
		}
	}
	stay := slices.DeleteFunc(unexpired(existing, now), func(e *Entry) bool { return left[e.ID] })
	decisions, err := m.decide(ctx, fresh, append(stay, edited...))
	if err != nil {
		return p, c, err
	}
	decided, err := carriedOut(decisions, existing)
	if err != nil {
		return p, c, err
	}
	for _, d := range decisions {
		switch d.Action {
		case ActionAdd:
			p.Added = append(p.Added, d.Entry.Clone())
		case ActionUpdate:
			p.Updated = append(p.Updated, d.Entry.Clone())
		case ActionNone:
			p.Known++
		}
	}
	p.Updated = append(p.Updated, clones(edited)...)
	c.Delete = append(c.Delete, decided.Delete...)
	c.Put = slices.DeleteFunc(append(edited, decided.Put...), func(e *Entry) bool { return slices.Contains(decided.Delete, e.ID) })
	p.Removed = len(c.Delete)
	return p, c, nil
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
