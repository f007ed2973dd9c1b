package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/store"
)

// KindFact is the kind under which facts are stored.
const KindFact = store.KindFact

// StoreFacts is [Facts] in a store: one record per entry, under its ID. The next call sees
// the changes of other processes. A damaged entry is an error that names it; it can be
// deleted.
//
// If the store is a [store.FactIndex], a [Manager] finds facts through its index and reads only
// those. Vectors that an [EmbeddingCache] makes of the contents are then stored in the index, for
// one model at a time, and deleted with the entries.
type StoreFacts struct {
	records RecordStore
	index   store.FactIndex // nil if the store has none
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
	index, _ := s.(store.FactIndex)
	return &StoreFacts{records: s, index: index, key: store.Key{Tenant: tenant, Kind: KindFact}}
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
	return f.changing(ctx, func() (factsRead, error) { return f.stored(ctx, ids) }, decide)
}

// factsRead are entries that were read for a change, also as they are stored. The condition, if
// the change must not overlook a new entry, is the number of the newest.
type factsRead struct {
	entries   []*Entry
	stored    map[string]decodedEntry
	condition *int64
}

func (f *StoreFacts) changing(ctx context.Context, read func() (factsRead, error), decide func(existing []*Entry) (FactChange, error)) error {
	for try := 1; ; try++ {
		got, err := read()
		if err != nil {
			return err
		}
		existing, stored, condition := got.entries, got.stored, got.condition
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
		err = f.apply(ctx, c.With, change)
		if !errors.Is(err, store.ErrConflict) || try == changeTries {
			return storeError(len(c.Put), err)
		}
		if err := f.records.Apply(ctx, conditions(c.With)...); err != nil {
			return storeError(len(c.Put), err)
		}
	}
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
		_, err = f.deleteLinks(ctx, amongst(change.Delete))
		err = store.Partly(true, err)
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

// deleteLinks deletes the relations that lead to selected facts, and returns how many there were.
func (f *StoreFacts) deleteLinks(ctx context.Context, selected func(id string) bool) (deleted int, err error) {
	ids, err := f.links(ctx, selected)
	for batch := range slices.Chunk(ids, store.MaxBatch) {
		if err == nil {
			var n int
			n, err = f.records.Delete(ctx, f.relations(), batch...)
			deleted += n
		}
	}
	if err != nil {
		return deleted, fmt.Errorf("facts: delete relations: %w", store.Partly(deleted > 0, err))
	}
	return deleted, nil
}

// stored returns the entries with these IDs, or all, with the condition that none was added.
func (f *StoreFacts) stored(ctx context.Context, ids []string) (factsRead, error) {
	if ids == nil {
		entries, stored, newest, err := f.list(ctx)
		return factsRead{entries, stored, &newest}, err
	}
	got := factsRead{stored: make(map[string]decodedEntry, len(ids))}
	for _, id := range ids {
		r, err := f.records.Get(ctx, f.key, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			err = got.add(r)
		}
		if err != nil {
			return got, fmt.Errorf("fact %.100q: %w", id, err)
		}
	}
	return got, nil
}

// add decodes a record, unless it is there already.
func (g *factsRead) add(r store.Record) error {
	if _, there := g.stored[r.ID]; there {
		return nil
	}
	e, err := decodeRecord(r)
	if err == nil {
		g.entries, g.stored[r.ID] = append(g.entries, e), decodedEntry{r.Data, e}
	}
	return err
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
	// Links go first: who deletes the facts again after an error does not find their IDs any more.
	links, err := f.deleteLinks(ctx, amongst(ids))
	if err != nil {
		return 0, err
	}
	deleted := 0
	for batch := range slices.Chunk(ids, store.MaxBatch) {
		n, err := f.records.Delete(ctx, f.key, batch...)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("facts: delete: %w", store.Partly(links+deleted > 0, err))
		}
	}
	return deleted, nil
}

// Clear deletes all entries and returns how many it deleted. It decodes none, so that it
// also deletes damaged entries. The relations of the graph that lead to facts are deleted too.
func (f *StoreFacts) Clear(ctx context.Context) (int, error) {
	links, err := f.deleteLinks(ctx, func(string) bool { return true })
	if err != nil {
		return 0, err
	}
	n, err := f.records.Clear(ctx, f.key)
	if err != nil {
		return n, fmt.Errorf("facts: delete all: %w", store.Partly(links > 0, err))
	}
	return n, nil
}
