package memory

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Graph links entities to each other and to facts. Everything it returns is in the
// order in which it was put in. The zero value is an empty graph; it is safe for
// concurrent use.
type Graph struct {
	mu       sync.RWMutex
	entities []string
	nodes    map[string]*node
	edges    []Relationship
}

type node struct {
	metadata  map[string]any
	facts     []string
	neighbors []string // over edges in both directions
}

// Relationship is a directed edge of a [Graph].
type Relationship struct {
	Source   string `json:"source"`
	Relation string `json:"relation"`
	Target   string `json:"target"`
}

// AddEntity adds an entity, or adds metadata to one that exists.
func (g *Graph) AddEntity(id string, metadata map[string]any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.node(id)
	n.metadata = merged(n.metadata, pipeline.Item{Metadata: metadata}.Clone().Metadata)
}

// Relate adds a relationship, and its entities if they do not exist. One that exists
// is not added again.
func (g *Graph) Relate(source, relation, target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	edge := Relationship{source, relation, target}
	from, to := g.node(source), g.node(target)
	linked := slices.Contains(from.neighbors, target)
	if linked && slices.Contains(g.edges, edge) {
		return
	}
	g.edges = append(g.edges, edge)
	if !linked {
		from.neighbors = append(from.neighbors, target)
		if source != target {
			to.neighbors = append(to.neighbors, source)
		}
	}
}

// Link links a fact to an entity. The entity must exist.
func (g *Graph) Link(entity, factID string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[entity]
	if n == nil {
		return fmt.Errorf("graph: entity %.100q: does not exist: %w (add it first)", entity, pipeline.ErrInvalid)
	}
	if !slices.Contains(n.facts, factID) {
		n.facts = append(n.facts, factID)
	}
	return nil
}

// node returns the node of an entity, which it adds if there is none.
func (g *Graph) node(id string) *node {
	n := g.nodes[id]
	if n == nil {
		if g.nodes == nil {
			g.nodes = make(map[string]*node)
		}
		n = new(node)
		g.nodes[id] = n
		g.entities = append(g.entities, id)
	}
	return n
}

// Remove removes an entity with its relationships and links.
func (g *Graph) Remove(entity string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[entity]
	if n == nil {
		return
	}
	is := func(id string) bool { return id == entity }
	delete(g.nodes, entity)
	for _, other := range n.neighbors {
		if is(other) {
			continue // related to itself
		}
		g.nodes[other].neighbors = slices.DeleteFunc(g.nodes[other].neighbors, is)
	}
	g.entities = slices.DeleteFunc(g.entities, is)
	g.edges = slices.DeleteFunc(g.edges, func(e Relationship) bool { return is(e.Source) || is(e.Target) })
}

// Unlink removes the links to facts, such as those that were deleted.
func (g *Graph) Unlink(factIDs ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		n.facts = slices.DeleteFunc(n.facts, func(id string) bool { return slices.Contains(factIDs, id) })
	}
}

// Entities returns the entities.
func (g *Graph) Entities() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.entities)
}

// Relationships returns the relationships.
func (g *Graph) Relationships() []Relationship {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.edges)
}

// Metadata returns a copy of the metadata of an entity, and whether it exists.
func (g *Graph) Metadata(entity string) (map[string]any, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n := g.nodes[entity]
	if n == nil {
		return nil, false
	}
	return maps.Clone(pipeline.Item{Metadata: n.metadata}.Clone().Metadata), true
}

// Related returns the entities within maxDepth relationships of one, whatever their
// direction, the nearest first and without the one itself.
func (g *Graph) Related(entity string, maxDepth int) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	reached := g.walk(entity, maxDepth)
	if len(reached) == 0 {
		return nil
	}
	return reached[1:]
}

// RelatedFacts returns the facts linked to the given entities and to those within
// maxDepth relationships of them, each once: all around the first entity, then all
// around the second. limit bounds them; 0 is no bound.
func (g *Graph) RelatedFacts(maxDepth, limit int, entities ...string) []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var out []string
	seen := make(map[string]bool)
	for _, entity := range entities {
		for _, id := range g.walk(entity, maxDepth) {
			for _, fact := range g.nodes[id].facts {
				if seen[fact] {
					continue
				}
				seen[fact] = true
				out = append(out, fact)
				if len(out) == limit {
					return out
				}
			}
		}
	}
	return out
}

// walk returns an entity and those around it, breadth first; nothing if it does not
// exist.
func (g *Graph) walk(entity string, maxDepth int) []string {
	if g.nodes[entity] == nil {
		return nil
	}
	reached := []string{entity}
	seen := map[string]bool{entity: true}
	for from, depth := 0, 0; depth < maxDepth && from < len(reached); depth++ {
		ring := reached[from:]
		from = len(reached)
		for _, id := range ring {
			for _, next := range g.nodes[id].neighbors {
				if !seen[next] {
					seen[next] = true
					reached = append(reached, next)
				}
			}
		}
	}
	return reached
}

// AddEntries makes each entry an entity of its own ID, linked to itself, and relates
// it to the entries in its Links.
func (g *Graph) AddEntries(entries ...Entry) {
	for i := range entries {
		e := &entries[i]
		g.AddEntity(e.ID, nil)
		_ = g.Link(e.ID, e.ID) // the entity exists
		for _, other := range e.Links {
			g.Relate(e.ID, "links", other)
		}
	}
}
