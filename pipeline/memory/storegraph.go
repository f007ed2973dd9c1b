package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// KindRelation is the kind under which the relations of a graph are stored.
const KindRelation = "relation"

// StoreGraph keeps the relations of a tenant's graph in a store. It is safe for concurrent
// use.
type StoreGraph struct {
	records RecordStore
	key     store.Key
}

// NewStoreGraph returns the graph of a tenant in a store.
func NewStoreGraph(s RecordStore, tenant string) *StoreGraph {
	return &StoreGraph{s, store.Key{Tenant: tenant, Kind: KindRelation}}
}

// RelationID returns the ID of the record of a relation. Relations that differ only in the
// case of their entities have the same ID.
func RelationID(r *Relation) string {
	parts, _ := json.Marshal([]string{strings.ToLower(r.Source), r.Relation, strings.ToLower(r.Target), r.Fact}) // texts always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// Add adds relations, all or none. A relation that is stored already keeps its place.
func (g *StoreGraph) Add(ctx context.Context, relations ...Relation) error {
	change := store.Change{Key: g.key}
	ids := make(map[string]bool, len(relations))
	for i := range relations {
		r := &relations[i]
		if err := r.Validate(); err != nil {
			return err
		}
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("relation: encode: %w", err)
		}
		if id := RelationID(r); !ids[id] {
			ids[id] = true
			change.Put = append(change.Put, store.Record{ID: id, Data: data})
		}
	}
	if len(change.Put) == 0 {
		return nil
	}
	if err := g.records.Apply(ctx, change); err != nil {
		return fmt.Errorf("graph: store %d relations: %w", len(relations), err)
	}
	return nil
}

// Relations returns all relations in the order in which they were added.
func (g *StoreGraph) Relations(ctx context.Context) ([]Relation, error) {
	records, err := g.records.Read(ctx, g.key, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
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

// Graph returns the graph of all relations.
func (g *StoreGraph) Graph(ctx context.Context) (*Graph, error) {
	relations, err := g.Relations(ctx)
	if err != nil {
		return nil, err
	}
	return NewGraph(relations), nil
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
	return g.removeIf(ctx, func(r *Relation) bool { return strings.EqualFold(r.Source, name) || strings.EqualFold(r.Target, name) })
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
	if depth == 0 {
		depth = DefaultGraphDepth
	}
	if limit == 0 {
		limit = DefaultGraphItems
	}
	ids := g.RelatedFacts(depth, 0, g.Mentioned(q.Text)...)
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
