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

// StoreFacts is [Facts] in a store: one record per entry, under its ID. The next call sees
// the changes of other processes. A damaged entry is an error that names it; it can be
// deleted.
//
// Vectors that an [EmbeddingCache] makes of the contents for a [Manager] are stored with the
// entries, up to 64 MiB for each tenant, and deleted with them.
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
	entries, _, _, err := f.list(ctx)
	return entries, err
}

// list also returns the entries as they are stored, and the number of the newest record, 0
// for none.
func (f *StoreFacts) list(ctx context.Context) (entries []*Entry, stored map[string]decodedEntry, newest int64, err error) {
	records, newest, err := f.read(ctx)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("facts: %w", err)
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
				return nil, nil, 0, err
			case err != nil:
				f.damaged(r.ID, err)
				continue
			}
			known.data = r.Data
		}
		entries, decoded[r.ID] = append(entries, known.entry), known
	}
	f.decoded = decoded
	return entries, decoded, newest, nil
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

// changeTries is how often a change is decided anew while others change the same facts.
const changeTries = 100

// Change implements [ConditionalFacts]. Where somebody else was faster, nothing is written,
// and decide is asked again, up to 100 times. Then the error is [store.ErrConflict].
func (f *StoreFacts) Change(ctx context.Context, ids []string, decide func(existing []*Entry) (FactChange, error)) error {
	for try := 1; ; try++ {
		existing, stored, condition, err := f.stored(ctx, ids)
		if err != nil {
			return err
		}
		c, err := decide(existing)
		if err != nil {
			return err
		}
		change, err := f.change(c.Put...)
		if err != nil {
			return err
		}
		change.Delete, change.IfNewest = c.Delete, condition
		for _, id := range union(entryIDs(c.Put), c.Delete) {
			if e, ok := stored[id]; ok {
				change.If = append(change.If, store.Record{ID: id, Data: e.data})
			}
		}
		if len(c.Put)+len(c.Delete)+len(c.With) == 0 {
			return nil
		}
		if err := f.forgetVectors(ctx, replaced(&c, stored)); err != nil {
			return err
		}
		err = f.apply(ctx, c.With, change)
		if !errors.Is(err, store.ErrConflict) || try == changeTries {
			return storeError(len(c.Put), err)
		}
		if err := f.records.Apply(ctx, conditions(c.With)...); err != nil {
			return storeError(len(c.Put), err)
		}
	}
}

// replaced returns the IDs of the entries whose contents a change deletes or replaces.
func replaced(c *FactChange, stored map[string]decodedEntry) []string {
	ids := slices.Clone(c.Delete)
	for _, e := range c.Put {
		if old, ok := stored[e.ID]; ok && old.entry.Content != e.Content {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// apply makes changes together, and deletes the relations that lead to deleted facts with them.
func (f *StoreFacts) apply(ctx context.Context, with []store.Change, change store.Change) error {
	changes := append(with[:len(with):len(with)], change)
	if len(change.Delete) == 0 {
		return f.records.Apply(ctx, changes...)
	}
	links, err := f.links(ctx, amongst(change.Delete))
	if err != nil {
		return err
	}
	n := min(len(links), max(0, store.MaxBatch-len(change.Put)-len(change.Delete)-len(with)))
	if n > 0 {
		changes = append(changes, store.Change{Key: f.relations(), Delete: links[:n]})
	}
	if err = f.records.Apply(ctx, changes...); err == nil && n < len(links) { // more than one call may delete
		err = f.deleteLinks(ctx, amongst(change.Delete))
	}
	return err
}

// amongst returns a function that reports whether an ID is one of ids.
func amongst(ids []string) func(string) bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return func(id string) bool { return set[id] }
}

// relations is the key of the tenant's graph.
func (f *StoreFacts) relations() store.Key { return NewStoreGraph(f.records, f.key.Tenant).key }

// links returns the IDs of the relations that lead to selected facts. Damaged relations lead to
// none, because they must not keep a fact from being deleted.
func (f *StoreFacts) links(ctx context.Context, selected func(id string) bool) ([]string, error) {
	var ids []string
	for after := int64(0); ; {
		records, err := f.records.Read(ctx, f.relations(), after, 0)
		for _, rec := range records {
			var r Relation
			if json.Unmarshal(rec.Data, &r) == nil && r.Fact != "" && selected(r.Fact) {
				ids = append(ids, rec.ID)
			}
		}
		var damaged *store.CorruptError
		if !errors.As(err, &damaged) || damaged.Seq <= after {
			return ids, err
		}
		after = damaged.Seq
	}
}

// deleteLinks deletes the relations that lead to selected facts.
func (f *StoreFacts) deleteLinks(ctx context.Context, selected func(id string) bool) error {
	ids, err := f.links(ctx, selected)
	for batch := range slices.Chunk(ids, store.MaxBatch) {
		if err == nil {
			_, err = f.records.Delete(ctx, f.relations(), batch...)
		}
	}
	if err != nil {
		return fmt.Errorf("facts: delete relations: %w", err)
	}
	return nil
}

// stored returns the entries with these IDs, or all, as entries and as they are stored. The
// condition, where all were read, is the number of the newest.
func (f *StoreFacts) stored(ctx context.Context, ids []string) (entries []*Entry, stored map[string]decodedEntry, condition *int64, err error) {
	if ids == nil {
		entries, stored, newest, err := f.list(ctx)
		return entries, stored, &newest, err
	}
	stored = make(map[string]decodedEntry, len(ids))
	for _, id := range ids {
		r, err := f.records.Get(ctx, f.key, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		var e *Entry
		if err == nil {
			e, err = decodeRecord(r)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("fact %.100q: %w", id, err)
		}
		entries, stored[id] = append(entries, e), decodedEntry{r.Data, e}
	}
	return entries, stored, nil, nil
}

// conditions returns changes that change nothing and have the conditions of others.
func conditions(changes []store.Change) []store.Change {
	out := make([]store.Change, len(changes))
	for i, c := range changes {
		out[i] = store.Change{Key: c.Key, IfNewest: c.IfNewest, If: c.If}
	}
	return out
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

// Delete implements [Facts]. It also deletes the relations of the graph that lead to the
// entries. More than [store.MaxBatch] entries are deleted in several
// steps. If a step fails, some are deleted already, and Delete returns their number.
func (f *StoreFacts) Delete(ctx context.Context, ids ...string) (int, error) {
	if err := f.forgetVectors(ctx, ids); err != nil {
		return 0, err
	}
	// Links go first: who deletes the facts again after an error does not find their IDs any more.
	if err := f.deleteLinks(ctx, amongst(ids)); err != nil {
		return 0, err
	}
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
// also deletes damaged entries. The relations of the graph that lead to facts are deleted too.
func (f *StoreFacts) Clear(ctx context.Context) (int, error) {
	if err := f.deleteLinks(ctx, func(string) bool { return true }); err != nil {
		return 0, err
	}
	if _, err := f.records.Clear(ctx, f.vectors()); err != nil {
		return 0, fmt.Errorf("facts: delete vectors: %w", err)
	}
	n, err := f.records.Clear(ctx, f.key)
	if err != nil {
		return n, fmt.Errorf("facts: delete all: %w", err)
	}
	return n, nil
}

// vectors is the key of the tenant's vectors.
func (f *StoreFacts) vectors() store.Key { return store.Key{Tenant: f.key.Tenant, Kind: KindVector} }

// hasVectors reports whether the tenant has stored vectors.
func (f *StoreFacts) hasVectors(ctx context.Context) bool {
	some, err := f.records.Read(ctx, f.vectors(), 0, 1)
	return err != nil || len(some) > 0
}

// forgetVectors deletes the vectors of the contents of entries.
func (f *StoreFacts) forgetVectors(ctx context.Context, ids []string) error {
	if !f.hasVectors(ctx) {
		return nil
	}
	var gone []string
	for _, id := range ids {
		r, err := f.records.Get(ctx, f.key, id)
		if err != nil {
			continue // it is deleted or damaged
		}
		if e, err := decodeRecord(r); err == nil {
			gone = append(gone, vectorID(e.Content))
		}
	}
	for batch := range slices.Chunk(gone, store.MaxBatch) {
		if _, err := f.records.Delete(ctx, f.vectors(), batch...); err != nil {
			return fmt.Errorf("facts: delete vectors: %w", err)
		}
	}
	return nil
}
