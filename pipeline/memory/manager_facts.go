package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// Add remembers a fact. Only its content is required. Add fills in an ID, times, the type
// Semantic and DefaultRelevance if they are missing; a relevance of 0 counts as missing. If
// an unexpired fact of the same user and session has the same content, Add returns that
// fact unchanged, and added is false.
func (m *Manager) Add(ctx context.Context, e Entry) (stored Entry, added bool, err error) {
	if m.cfg.Facts == nil {
		return Entry{}, false, fmt.Errorf("memory: add: %w", ErrNoFacts)
	}
	fresh, err := m.fresh(e)
	if err != nil {
		return Entry{}, false, err
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	var same *Entry
	err = m.writeNew(ctx, nil, []*Entry{fresh}, func(existing []*Entry) (c FactChange, err error) {
		if same = equalContent(unexpired(existing, m.cfg.Now()), fresh); same != nil {
			return c, errSame
		}
		if slices.ContainsFunc(existing, func(e *Entry) bool { return e.ID == fresh.ID }) {
			return c, errTaken(fresh.ID)
		}
		return FactChange{Put: []*Entry{fresh}}, nil
	})
	switch {
	case errors.Is(err, errSame):
		return same.Clone(), false, nil
	case err != nil:
		return Entry{}, false, err
	}
	return fresh.Clone(), true, nil
}

// errSame ends the addition of a fact that is there.
var errSame = errors.New("the fact is there already")

// write makes the changes that decide returns for the entries with these IDs, or for all.
// Nobody else of this manager writes meanwhile, and nobody at all where the facts can see
// to that. The caller holds writing.
func (m *Manager) write(ctx context.Context, ids []string, decide func(existing []*Entry) (FactChange, error)) error {
	if f, ok := m.cfg.Facts.(ConditionalFacts); ok {
		return f.Change(ctx, ids, decide)
	}
	existing, err := m.cfg.Facts.List(ctx)
	if err != nil {
		return err
	}
	if ids != nil {
		existing = slices.DeleteFunc(slices.Clone(existing), func(e *Entry) bool { return !slices.Contains(ids, e.ID) })
	}
	c, err := decide(existing)
	if err == nil && len(c.Put) > 0 {
		err = m.cfg.Facts.Put(ctx, c.Put...)
	}
	if err == nil && len(c.Delete) > 0 {
		_, err = m.cfg.Facts.Delete(ctx, c.Delete...)
	}
	return err
}

// writeNew is write for new facts, with those that are given by ID, and those with the same
// content or the same ID as a new one.
func (m *Manager) writeNew(ctx context.Context, ids []string, fresh []*Entry, decide func(existing []*Entry) (FactChange, error)) error {
	f, ok := m.cfg.Facts.(*StoreFacts)
	if !ok {
		return m.write(ctx, nil, decide)
	}
	hashes := make([]string, len(fresh))
	for i, e := range fresh {
		hashes[i] = e.ContentHash
	}
	return f.changeSame(ctx, union(ids, entryIDs(fresh)), union(nil, hashes), decide)
}

// fresh returns a completed copy of an entry.
func (m *Manager) fresh(e Entry) (*Entry, error) {
	c := e.Clone()
	c.complete(m.cfg.NewID, m.cfg.Now())
	return &c, cmp.Or(checkOwner("user", c.UserID), checkOwner("session", c.SessionID), c.Validate())
}

// checkOwner refuses names that builds and stores refuse. Facts of before may have some, and are read.
func checkOwner(what, name string) error {
	if name != "" && (store.Key{Tenant: name, Kind: KindFact}).Validate() != nil {
		return fmt.Errorf("fact: %s: want a name of at most %d bytes without control characters, got %.100q: %w", what, store.MaxName, name, pipeline.ErrInvalid)
	}
	return nil
}

// unexpired returns the facts that have not expired at a time.
func unexpired(entries []*Entry, now time.Time) []*Entry {
	return (&Filter{}).apply(entries, now)
}

func errTaken(id string) error {
	return fmt.Errorf("fact %.100q: id is taken: %w (leave the id empty, or update the fact)", id, pipeline.ErrInvalid)
}

// equalContent returns the first entry of the same owner with the same content.
func equalContent(entries []*Entry, e *Entry) *Entry {
	for _, other := range entries {
		if other.ContentHash == e.ContentHash && sameOwner(other, e) {
			return other
		}
	}
	return nil
}

// Update replaces the content of a fact, and sets its hash and its time of update. The
// error is [ErrNotFound] if it does not exist or has expired.
func (m *Manager) Update(ctx context.Context, id, content string) (Entry, error) {
	return m.Edit(ctx, id, func(e *Entry) { e.Content = content })
}

// Edit has f change a fact, which gets a new hash and time of update. The ID stays. f must
// not use the manager, and is called again if somebody else changed the fact meanwhile. The
// error is [ErrNotFound] if the fact does not exist or has expired.
func (m *Manager) Edit(ctx context.Context, id string, f func(e *Entry)) (Entry, error) {
	var invalid error
	changed, err := m.change(ctx, []string{id}, true, func(e *Entry, now time.Time) *Entry {
		c := e.Clone()
		f(&c)
		c.ID, c.Content, c.UpdatedAt = e.ID, strings.ToValidUTF8(c.Content, "\uFFFD"), now
		c.ContentHash = ContentHash(c.Content)
		if invalid = c.Validate(); invalid != nil {
			return e
		}
		return &c
	})
	if err == nil {
		err = invalid
	}
	if err != nil {
		return Entry{}, err
	}
	return changed[0].Clone(), nil
}

// Touch notes that facts were used, which delays their decay. It ignores facts that do not
// exist or have expired.
func (m *Manager) Touch(ctx context.Context, ids ...string) error {
	_, err := m.change(ctx, ids, false, (*Entry).touched)
	return err
}

// Use is how often a fact was used, and when for the last time.
type Use struct {
	Times int
	Last  time.Time
}

// Used notes uses of facts by their IDs, as Touch does for one use each. A fact that was used
// later, as it says itself, keeps that time.
func (m *Manager) Used(ctx context.Context, uses map[string]Use) error {
	if len(uses) == 0 {
		return nil
	}
	_, err := m.change(ctx, slices.Sorted(maps.Keys(uses)), false, func(e *Entry, _ time.Time) *Entry {
		c, u := *e, uses[e.ID]
		c.AccessCount += min(max(u.Times, 0), math.MaxInt-c.AccessCount)
		if u.Last.After(c.LastAccessed) {
			c.LastAccessed = u.Last
		}
		return &c
	})
	return err
}

// change replaces facts by the results of f.
func (m *Manager) change(ctx context.Context, ids []string, all bool, f func(e *Entry, now time.Time) *Entry) ([]*Entry, error) {
	if m.cfg.Facts == nil {
		return nil, fmt.Errorf("memory: update: %w", ErrNoFacts)
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	now := m.cfg.Now()
	var changed []*Entry
	ids = union(nil, ids)
	err := m.write(ctx, ids, func(existing []*Entry) (FactChange, error) {
		changed = nil
		for _, id := range ids {
			var err error
			i := slices.IndexFunc(existing, func(e *Entry) bool { return e.ID == id })
			if i < 0 {
				err = fmt.Errorf("fact %.100q: %w", id, ErrNotFound)
			} else if e := existing[i]; e.Expired(now) {
				err = fmt.Errorf("fact %.100q: expired at %s: %w", id, e.ExpiresAt.Format(time.RFC3339), ErrNotFound)
			}
			switch {
			case err == nil:
				changed = append(changed, f(existing[i], now))
			case all:
				return FactChange{}, err
			}
		}
		return FactChange{Put: changed}, nil
	})
	return changed, err
}

// Get returns a fact. The error is [ErrNotFound] if it does not exist or has expired.
func (m *Manager) Get(ctx context.Context, id string) (Entry, error) {
	if m.cfg.Facts == nil {
		return Entry{}, fmt.Errorf("fact %.100q: %w", id, ErrNotFound)
	}
	e, err := m.cfg.Facts.Get(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	if e.Expired(m.cfg.Now()) {
		return Entry{}, fmt.Errorf("fact %.100q: expired at %s: %w", id, e.ExpiresAt.Format(time.RFC3339), ErrNotFound)
	}
	return e.Clone(), nil
}

// List returns the facts that the filter selects, the first added first. A manager
// without facts has none.
func (m *Manager) List(ctx context.Context, filter Filter) ([]Entry, error) {
	entries, err := m.list(ctx, filter, m.cfg.Now())
	return clones(entries), err
}

// Search returns the facts that the filter selects and whose content contains the query, in
// upper or lower case. The most relevant come first. It returns at most topK facts; 0 means
// DefaultTopK. Every fact contains an empty query.
func (m *Manager) Search(ctx context.Context, query string, topK int, filter Filter) ([]Entry, error) {
	if topK < 0 {
		return nil, fmt.Errorf("memory: top_k %d: %w (want 0 or more)", topK, pipeline.ErrInvalid)
	}
	entries, err := m.list(ctx, filter, m.cfg.Now())
	return clones(first(search(entries, query), topK)), err
}

// Relevant returns the facts that the filter selects and that matter most to a query by the
// scorer of the manager. It returns at most topK facts; 0 means DefaultTopK.
func (m *Manager) Relevant(ctx context.Context, q *pipeline.Query, topK int, filter Filter) ([]Scored, error) {
	if topK < 0 {
		return nil, fmt.Errorf("memory: top_k %d: %w (want 0 or more)", topK, pipeline.ErrInvalid)
	}
	ranked, err := m.ranked(ctx, q, filter, nil, topK)
	if err != nil {
		return nil, err
	}
	var out []Scored
	for _, r := range ranked {
		out = append(out, Scored{r.entry.Clone(), r.score})
	}
	return out, nil
}

// Delete deletes facts by ID, expired or not, and returns how many it deleted.
func (m *Manager) Delete(ctx context.Context, ids ...string) (int, error) {
	if m.cfg.Facts == nil || len(ids) == 0 {
		return 0, nil
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	return m.cfg.Facts.Delete(ctx, ids...)
}

// Forget deletes the facts that the filter selects, such as all of one user, and returns
// how many it deleted. Set Expired in the filter to delete expired facts as well.
func (m *Manager) Forget(ctx context.Context, filter Filter) (int, error) {
	if m.cfg.Facts == nil {
		return 0, nil
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	entries, err := m.list(ctx, filter, m.cfg.Now())
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return m.cfg.Facts.Delete(ctx, entryIDs(entries)...)
}

func (m *Manager) list(ctx context.Context, filter Filter, now time.Time) ([]*Entry, error) {
	if m.cfg.Facts == nil {
		return nil, nil
	}
	entries, err := m.cfg.Facts.List(ctx)
	if err != nil {
		return nil, err
	}
	return filter.apply(entries, now), nil
}

func clones(entries []*Entry) []Entry {
	out := make([]Entry, len(entries))
	for i, e := range entries {
		out[i] = e.Clone()
	}
	return out
}

func entryIDs(entries []*Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

// storing returns a context in which the vectors of the facts of a manager are stored with them.
func (m *Manager) storing(ctx context.Context) context.Context {
	if f, ok := m.cfg.Facts.(*StoreFacts); ok && f.index != nil {
		return context.WithValue(ctx, vectorsKey{}, vectorStore(f))
	}
	return ctx
}
