package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// Facts keeps entries: [NewFacts] in memory, [NewStoreFacts] durably. A [Manager] uses it,
// and does all that is more than keeping. Facts are safe for concurrent use.
//
// Entries are shared. Do not change an entry after it was given to Facts, or one that came
// from it.
type Facts interface {
	// List returns all entries, including expired ones, in the order of their first Put.
	List(ctx context.Context) ([]*Entry, error)
	// Get returns the entry with that ID, or [ErrNotFound].
	Get(ctx context.Context, id string) (*Entry, error)
	// Put inserts entries. An entry with the ID of a stored one replaces it, in its place.
	// Every entry has an ID.
	Put(ctx context.Context, entries ...*Entry) error
	// Delete removes entries by ID and returns how many it removed.
	Delete(ctx context.Context, ids ...string) (int, error)
}

// ConditionalFacts are [Facts] that others may write to at the same time, such as
// another process.
type ConditionalFacts interface {
	Facts
	// Change makes the changes that decide returns, together or not at all. decide is
	// given the entries with these IDs, or, where ids is nil, all entries as List returns
	// them. Nobody else changed or removed an entry that is written between the decision
	// and the change, and where ids is nil, nobody added one. decide may be called
	// several times; its error is returned.
	Change(ctx context.Context, ids []string, decide func(existing []*Entry) (FactChange, error)) error
}

// FactChange is a change of facts.
type FactChange struct {
	// Put are entries to insert, or to replace by ID.
	Put []*Entry
	// Delete are the IDs of entries to delete.
	Delete []string
	// With are changes of other records that are made together with these. Only
	// [StoreFacts] makes them. If one of their conditions does not hold, nothing is
	// changed, and the error is [store.ErrConflict].
	With []store.Change
}

// RecordStore is what [StoreFacts] needs of a [store.Store].
type RecordStore interface {
	Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error)
	Get(ctx context.Context, key store.Key, id string) (store.Record, error)
	Apply(ctx context.Context, changes ...store.Change) error
	Delete(ctx context.Context, key store.Key, ids ...string) (int, error)
	Clear(ctx context.Context, key store.Key) (int, error)
}

// LocalFacts are [Facts] that exist as long as the process.
type LocalFacts struct {
	mu sync.RWMutex
	// Readers may hold entries. So the code only appends to it, and makes a copy for any
	// other change.
	entries []*Entry
	places  map[string]int
}

var _ Facts = (*LocalFacts)(nil)

// NewFacts returns empty facts in memory.
func NewFacts() *LocalFacts { return &LocalFacts{places: make(map[string]int)} }

// List implements [Facts].
func (f *LocalFacts) List(ctx context.Context) ([]*Entry, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Clip(f.entries), ctx.Err()
}

// Get implements [Facts].
func (f *LocalFacts) Get(ctx context.Context, id string) (*Entry, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at, ok := f.places[id]
	if !ok {
		return nil, fmt.Errorf("fact %.100q: %w", id, ErrNotFound)
	}
	return f.entries[at], ctx.Err()
}

// Put implements [Facts].
func (f *LocalFacts) Put(ctx context.Context, entries ...*Entry) error {
	if err := checkPut(entries); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	copied := false
	for _, e := range entries {
		at, ok := f.places[e.ID]
		if !ok {
			f.places[e.ID] = len(f.entries)
			f.entries = append(f.entries, e)
			continue
		}
		if !copied {
			f.entries, copied = slices.Clone(f.entries), true
		}
		f.entries[at] = e
	}
	return nil
}

// Delete implements [Facts].
func (f *LocalFacts) Delete(ctx context.Context, ids ...string) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	gone := 0
	for _, id := range ids {
		if _, ok := f.places[id]; ok {
			delete(f.places, id)
			gone++
		}
	}
	if gone == 0 {
		return 0, nil
	}
	left := make([]*Entry, 0, len(f.entries)-gone)
	for _, e := range f.entries {
		if _, ok := f.places[e.ID]; ok {
			f.places[e.ID] = len(left)
			left = append(left, e)
		}
	}
	f.entries = left
	return gone, nil
}

func checkPut(entries []*Entry) error {
	for _, e := range entries {
		if e.ID == "" {
			return fmt.Errorf("fact: id: missing: %w", pipeline.ErrInvalid)
		}
		if err := e.Validate(); err != nil {
			return err
		}
	}
	return nil
}
