package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/store"
)

// KindFact is the kind under which facts are stored.
const KindFact = "fact"

// RecordStore is what [StoreFacts] needs of a [store.Store].
type RecordStore interface {
	Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error)
	Get(ctx context.Context, key store.Key, id string) (store.Record, error)
	Apply(ctx context.Context, changes ...store.Change) error
	Delete(ctx context.Context, key store.Key, ids ...string) (int, error)
	Clear(ctx context.Context, key store.Key) (int, error)
}

// StoreFacts is [Facts] in a store: one record per entry, under its ID. The next call sees
// the changes of other processes. A damaged entry is an error that names it; it can be
// deleted.
type StoreFacts struct {
	records RecordStore
	key     store.Key
	damaged func(id string, err error)

	mu      sync.Mutex
	decoded map[string]decodedEntry
}

// decodedEntry caches a decoded record until the record changes.
type decodedEntry struct {
	data  []byte
	entry *Entry
}

var _ ConditionalFacts = (*StoreFacts)(nil)

// NewStoreFacts returns the facts of a tenant in a store.
func NewStoreFacts(s RecordStore, tenant string) *StoreFacts {
	return &StoreFacts{records: s, key: store.Key{Tenant: tenant, Kind: KindFact}}
}

// SkipDamaged makes lists leave out damaged entries, and calls report for each of them, at
// every list. Without it, damaged entries are errors. Call it before any other method.
func (f *StoreFacts) SkipDamaged(report func(id string, err error)) { f.damaged = report }

// List implements [Facts]. It reads all records, but decodes only those that have
// changed since the last List.
func (f *StoreFacts) List(ctx context.Context) ([]*Entry, error) {
	entries, _, err := f.list(ctx)
	return entries, err
}

// list is List. It also returns the number of the newest record, 0 if there is none.
func (f *StoreFacts) list(ctx context.Context) (entries []*Entry, newest int64, err error) {
	records, newest, err := f.read(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("facts: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	entries = make([]*Entry, 0, len(records))
	decoded := make(map[string]decodedEntry, len(records))
	for _, r := range records {
		known := f.decoded[r.ID]
		if known.entry == nil || !bytes.Equal(known.data, r.Data) {
			known.entry, err = decodeRecord(r)
			switch {
			case err != nil && f.damaged == nil:
				return nil, 0, err
			case err != nil:
				f.damaged(r.ID, err)
				continue
			}
			known.data = r.Data
		}
		entries, decoded[r.ID] = append(entries, known.entry), known
	}
	f.decoded = decoded
	return entries, newest, nil
}

// read reads all records and the number of the newest, damaged or not.
func (f *StoreFacts) read(ctx context.Context) (records []store.Record, newest int64, err error) {
	for {
		more, err := f.records.Read(ctx, f.key, newest, 0)
		if records = append(records, more...); len(more) > 0 {
			newest = more[len(more)-1].Seq
		}
		var damaged *store.CorruptError
		if f.damaged == nil || !errors.As(err, &damaged) || damaged.Seq <= newest {
			return records, newest, err
		}
		f.damaged(damaged.ID, err)
		newest = damaged.Seq
	}
}

// PutIf implements [ConditionalFacts]. If another process adds facts between the check and
// the write, nothing is written, and the check is made again.
func (f *StoreFacts) PutIf(ctx context.Context, e *Entry, check func(existing []*Entry) error) error {
	change, err := f.change(e)
	if err != nil {
		return err
	}
	for {
		existing, newest, err := f.list(ctx)
		if err != nil {
			return err
		}
		if err := check(existing); err != nil {
			return err
		}
		change.IfNewest = &newest
		if err = f.records.Apply(ctx, change); !errors.Is(err, store.ErrConflict) {
			return storeError(1, err)
		}
	}
}

// Get implements [Facts].
func (f *StoreFacts) Get(ctx context.Context, id string) (*Entry, error) {
	r, err := f.records.Get(ctx, f.key, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("fact %.100q: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("fact %.100q: %w", id, err)
	}
	return decodeRecord(r)
}

func decodeRecord(r store.Record) (*Entry, error) {
	e := new(Entry)
	if err := json.Unmarshal(r.Data, e); err != nil {
		return nil, fmt.Errorf("facts: record %.100q: %w (delete it by this id)", r.ID, err)
	}
	// The ID of the record counts, and not the ID in its data, so that an entry that was
	// imported under another name is found by that name.
	e.ID = r.ID
	return e, nil
}

// Put implements [Facts]. All entries are stored, or none.
func (f *StoreFacts) Put(ctx context.Context, entries ...*Entry) error {
	change, err := f.change(entries...)
	if err != nil {
		return err
	}
	return storeError(len(entries), f.records.Apply(ctx, change))
}

func storeError(n int, err error) error {
	if err != nil {
		return fmt.Errorf("facts: store %d: %w", n, err)
	}
	return nil
}

// change returns the change that stores entries.
func (f *StoreFacts) change(entries ...*Entry) (store.Change, error) {
	change := store.Change{Key: f.key}
	if err := checkPut(entries); err != nil {
		return change, err
	}
	for _, e := range entries {
		data, err := json.Marshal(e)
		if err != nil {
			return change, fmt.Errorf("fact %.100q: encode: %w", e.ID, err)
		}
		change.Put = append(change.Put, store.Record{ID: e.ID, Data: data, Time: e.CreatedAt})
	}
	return change, nil
}

// Delete implements [Facts]. More than [store.MaxBatch] entries are deleted in several
// steps. If a step fails, some are deleted already, and Delete returns their number.
func (f *StoreFacts) Delete(ctx context.Context, ids ...string) (int, error) {
	deleted := 0
	for batch := range slices.Chunk(ids, store.MaxBatch) {
		n, err := f.records.Delete(ctx, f.key, batch...)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("facts: delete: %w", err)
		}
	}
	return deleted, nil
}

// Clear deletes all entries and returns how many it deleted. It decodes none, so that it
// also deletes damaged entries.
func (f *StoreFacts) Clear(ctx context.Context) (int, error) {
	n, err := f.records.Clear(ctx, f.key)
	if err != nil {
		return n, fmt.Errorf("facts: delete all: %w", err)
	}
	return n, nil
}
