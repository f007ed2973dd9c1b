package memory

import (
	"context"
	"fmt"

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

// NewFacts returns empty facts that exist as long as the process.
func NewFacts() *StoreFacts { return NewStoreFacts(store.NewMemory(), "local") }

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
