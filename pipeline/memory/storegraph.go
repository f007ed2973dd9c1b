package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// KindRelation is the kind under which the relations of a graph are stored.
const KindRelation = "relation"

// MaxRelations is how many relations the graph of a tenant may have.
const MaxRelations = 50_000

// StoreGraph keeps the relations of a tenant's graph in a store. It is safe for concurrent
// use. What another process changes is seen by the next call.
type StoreGraph struct {
	records RecordStore
	key     store.Key

	mu    sync.Mutex
	known []store.Record // those of graph
	graph *Graph         // nil before the first use
}

// NewStoreGraph returns the graph of a tenant in a store.
func NewStoreGraph(s RecordStore, tenant string) *StoreGraph {
	return &StoreGraph{records: s, key: store.Key{Tenant: tenant, Kind: KindRelation}}
}

// RelationID returns the ID of the record of a relation. Relations that differ only in case,
// or in the space around their names, have the same ID.
func RelationID(r *Relation) string {
	parts, _ := json.Marshal([]string{fold(r.Source), fold(r.Relation), fold(r.Target), r.Fact}) // texts always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// Add adds relations, all or none. It removes the space around names. A relation that is
// stored already stays as it is. A graph has at most [MaxRelations].
func (g *StoreGraph) Add(ctx context.Context, relations ...Relation) error {
	records := make([]store.Record, len(relations))
	for i, r := range relations {
		if err := r.Validate(); err != nil {
			return err
		}
		r.Source, r.Relation, r.Target = strings.TrimSpace(r.Source), strings.TrimSpace(r.Relation), strings.TrimSpace(r.Target)
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("relation: encode: %w", err)
		}
		records[i] = store.Record{ID: RelationID(&r), Data: data}
	}
	for {
		err := g.add(ctx, records)
		if !errors.Is(err, store.ErrConflict) { // otherwise another process added some
			return err
		}
	}
}

// add adds the records whose IDs are new. It returns [store.ErrConflict] if others were
// added meanwhile.
func (g *StoreGraph) add(ctx context.Context, records []store.Record) error {
	existing, err := g.read(ctx, 0)
	if err != nil {
		return err
	}
	newest := int64(0)
	ids := make(map[string]bool, len(existing)+len(records))
	for _, r := range existing {
		newest, ids[r.ID] = r.Seq, true
	}
	change := store.Change{Key: g.key, IfNewest: &newest}
	for _, r := range records {
		if !ids[r.ID] {
			ids[r.ID] = true
			change.Put = append(change.Put, r)
		}
	}
	switch total := len(existing) + len(change.Put); {
	case len(change.Put) == 0:
		return nil
	case total > MaxRelations:
		return tooMany(total)
	}
	if err := g.records.Apply(ctx, change); err != nil {
		return fmt.Errorf("graph: store %d relations: %w", len(change.Put), err)
	}
	return nil
}

func tooMany(n int) error {
	return fmt.Errorf("graph: %d relations or more: %w (a tenant may have %d: remove some)", n, pipeline.ErrInvalid, MaxRelations)
}

// read returns the first records, all for limit 0.
func (g *StoreGraph) read(ctx context.Context, limit int) ([]store.Record, error) {
	records, err := g.records.Read(ctx, g.key, 0, limit)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return records, nil
}

// Relations returns all relations in the order in which they were added.
func (g *StoreGraph) Relations(ctx context.Context) ([]Relation, error) {
	records, err := g.read(ctx, 0)
	if err != nil {
		return nil, err
	}
	return decodeRelations(records)
}

func decodeRelations(records []store.Record) ([]Relation, error) {
	relations := make([]Relation, len(records))
	for i, rec := range records {
		err := json.Unmarshal(rec.Data, &relations[i])
		if err == nil {
			err = relations[i].Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("graph: record %.100q: %w", rec.ID, err)
		}
	}
	return relations, nil
}

// Graph returns the graph of all relations. It decodes them only when they have changed
// since the last call. More than [MaxRelations] are an error.
func (g *StoreGraph) Graph(ctx context.Context) (*Graph, error) {
	records, err := g.read(ctx, MaxRelations+1)
	if err != nil {
		return nil, err
	}
	if len(records) > MaxRelations {
		return nil, tooMany(len(records))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	same := func(a, b store.Record) bool { return a.Seq == b.Seq && bytes.Equal(a.Data, b.Data) }
	if g.graph != nil && slices.EqualFunc(g.known, records, same) {
		return g.graph, nil
	}
	relations, err := decodeRelations(records)
	if err != nil {
		return nil, err
	}
	g.known, g.graph = records, NewGraph(relations)
	return g.graph, nil
}

// Remove removes relations and returns how many it removed.
func (g *StoreGraph) Remove(ctx context.Context, relations ...Relation) (int, error) {
	removed := 0
	for batch := range slices.Chunk(relations, store.MaxBatch) {
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = RelationID(&batch[i])
		}
		n, err := g.records.Delete(ctx, g.key, ids...)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("graph: remove: %w", err)
		}
	}
	return removed, nil
}

// RemoveEntity removes the relations of an entity and returns how many it removed.
func (g *StoreGraph) RemoveEntity(ctx context.Context, name string) (int, error) {
	key := fold(name)
	return g.removeIf(ctx, func(r *Relation) bool { return fold(r.Source) == key || (r.Target != "" && fold(r.Target) == key) })
}

// RemoveFact removes the relations to a fact and returns how many it removed.
func (g *StoreGraph) RemoveFact(ctx context.Context, id string) (int, error) {
	return g.removeIf(ctx, func(r *Relation) bool { return r.Fact == id })
}

func (g *StoreGraph) removeIf(ctx context.Context, match func(*Relation) bool) (int, error) {
	relations, err := g.Relations(ctx)
	if err != nil {
		return 0, err
	}
	return g.Remove(ctx, slices.DeleteFunc(relations, func(r Relation) bool { return !match(&r) })...)
}

// The defaults of [GraphMemory].
const (
	DefaultGraphDepth = 2
	DefaultGraphItems = 5
)

// graphPriority is the priority of facts that are found through a graph.
const graphPriority = 6

// GraphMemory is a [pipeline.MemoryProvider]. It offers the facts about the entities that a
// query mentions, and about related entities.
type GraphMemory struct {
	// Manager has the facts, and Graph links entities to them. Both are required.
	Manager *Manager
	Graph   *StoreGraph
	// Filter selects facts.
	Filter Filter
	// MaxDepth is how many relations to follow. 0 means DefaultGraphDepth, and -1 only the
	// entities themselves.
	MaxDepth int
	// MaxItems bounds the facts. 0 means DefaultGraphItems.
	MaxItems int
}

// Items implements [pipeline.MemoryProvider]. Facts that no longer exist are left out.
func (m *GraphMemory) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	g, err := m.Graph.Graph(ctx)
	if err != nil {
		return nil, err
	}
	depth, limit := m.MaxDepth, m.MaxItems
	depth = cmp.Or(depth, DefaultGraphDepth)
	limit = cmp.Or(limit, DefaultGraphItems)
	mentioned, err := g.Mentioned(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	ids := g.RelatedFacts(depth, 0, mentioned...)
	if len(ids) == 0 {
		return nil, nil
	}
	entries, err := m.Manager.list(ctx, m.Filter, m.Manager.cfg.Now())
	if err != nil {
		return nil, err
	}
	known := make(map[string]*Entry, len(entries))
	for _, e := range entries {
		known[e.ID] = e
	}
	var items []pipeline.Item
	for _, id := range ids {
		if e := known[id]; e != nil && len(items) < limit {
			it := e.item(graphPriority, e.Relevance, 0)
			it.Metadata["retrieval_method"] = "graph"
			items = append(items, it)
		}
	}
	return items, nil
}
