package memory

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Priorities of facts that a step retrieves.
const (
	retrievedPriority = 7
	graphPriority     = 6
)

// Retriever is a [pipeline.Retriever] of the facts that matter most to a query: by
// recency, relevance and importance, see [Scorer].
type Retriever struct {
	// Manager is required.
	Manager *Manager
	// Filter selects facts.
	Filter Filter
	// Scored gives items the score by which they were chosen. By default they have the
	// relevance of the fact itself, as in the seed.
	Scored bool
	// Touch notes the use of what is found, so that it decays more slowly.
	Touch bool
}

// Retrieve implements [pipeline.Retriever].
func (r *Retriever) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if topK <= 0 {
		return nil, nil
	}
	found, err := r.Manager.Relevant(ctx, q, topK, r.Filter)
	if err != nil {
		return nil, err
	}
	items := make([]pipeline.Item, len(found))
	ids := make([]string, len(found))
	for i := range found {
		e := &found[i].Entry
		score := e.Relevance
		if r.Scored {
			score = found[i].Score
		}
		items[i], ids[i] = e.item(retrievedPriority, score, 0), e.ID
	}
	if r.Touch && len(ids) > 0 {
		err = r.Manager.Touch(ctx, ids...)
	}
	return items, err
}

// The defaults of [GraphRetriever].
const (
	DefaultGraphDepth = 2
	DefaultGraphItems = 5
)

// GraphRetriever is a [pipeline.Retriever] of the facts linked to the entities in a
// query and to those around them. Use it with [pipeline.Skip], as the seed does.
type GraphRetriever struct {
	// Manager, Graph and Entities are required. Entities finds entities in the text
	// of a query.
	Manager  *Manager
	Graph    *Graph
	Entities func(query string) []string
	// Filter selects facts.
	Filter Filter
	// MaxDepth is how far to go: DefaultGraphDepth when 0; -1 stays with the entities
	// themselves.
	MaxDepth int
	// MaxItems bounds the facts beside topK. 0 means DefaultGraphItems.
	MaxItems int
}

// Retrieve implements [pipeline.Retriever].
func (r *GraphRetriever) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	var entities []string
	if err := core.Guard(func() error { entities = r.Entities(q.Text); return nil }); err != nil {
		return nil, fmt.Errorf("graph: find entities: %w", err)
	}
	depth, limit := r.MaxDepth, r.MaxItems
	if depth == 0 {
		depth = DefaultGraphDepth
	}
	if limit == 0 {
		limit = DefaultGraphItems
	}
	ids := r.Graph.RelatedFacts(depth, 0, entities...)
	if len(ids) == 0 {
		return nil, nil
	}
	entries, err := r.Manager.list(ctx, r.Filter, r.Manager.cfg.Now())
	if err != nil {
		return nil, err
	}
	known := make(map[string]*Entry, len(entries))
	for _, e := range entries {
		known[e.ID] = e
	}
	var items []pipeline.Item
	for _, id := range ids {
		if e := known[id]; e != nil && len(items) < min(limit, topK) {
			it := e.item(graphPriority, e.Relevance, 0)
			it.Metadata["memory_id"] = e.ID
			it.Metadata["source"] = "graph_retrieval"
			delete(it.Metadata, "memory_entry_id")
			items = append(items, it)
		}
	}
	return items, nil
}
