package memory

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// wireGraph is the JSON form of a graph.
type wireGraph struct {
	Entities      []wireEntity   `json:"entities"`
	Relationships []Relationship `json:"relationships"`
}

type wireEntity struct {
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Facts    []string       `json:"facts,omitempty"`
}

// MarshalJSON writes entities and relationships in their order.
func (g *Graph) MarshalJSON() ([]byte, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	w := wireGraph{Entities: []wireEntity{}, Relationships: []Relationship{}}
	for _, id := range g.entities {
		n := g.nodes[id]
		w.Entities = append(w.Entities, wireEntity{id, n.metadata, n.facts})
	}
	w.Relationships = append(w.Relationships, g.edges...)
	return json.Marshal(w)
}

// UnmarshalJSON replaces the graph by what MarshalJSON wrote. Unknown and repeated
// keys are errors, and so are entities given twice and relationships of entities that
// are not given. On an error the graph is unchanged.
func (g *Graph) UnmarshalJSON(data []byte) error {
	var doc Graph
	var entities []graphEntity
	var relationships []graphRelationship
	err := decode.Object(data, decode.Optional("entities", &entities), decode.Optional("relationships", &relationships))
	for i := 0; i < len(entities) && err == nil; i++ {
		if err = doc.enter(entities[i]); err != nil {
			err = fmt.Errorf("entities[%d]: %w", i, err)
		}
	}
	for _, r := range relationships {
		doc.edges = append(doc.edges, Relationship(r))
	}
	if err == nil {
		err = doc.complete()
	}
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entities, g.nodes, g.edges = doc.entities, doc.nodes, doc.edges
	return nil
}

// graphEntity is an entity of a document.
type graphEntity wireEntity

// UnmarshalJSON decodes an entity, of which the id is required.
func (e *graphEntity) UnmarshalJSON(data []byte) error {
	return decode.Object(data, decode.Required("id", &e.ID), decode.Optional("metadata", &e.Metadata), decode.Optional("facts", &e.Facts))
}

// graphRelationship is a relationship of a document.
type graphRelationship Relationship

// UnmarshalJSON decodes a relationship, all of which is required.
func (r *graphRelationship) UnmarshalJSON(data []byte) error {
	return decode.Object(data, decode.Required("source", &r.Source), decode.Required("relation", &r.Relation), decode.Required("target", &r.Target))
}

// enter adds a decoded entity.
func (g *Graph) enter(e graphEntity) error {
	if g.nodes[e.ID] != nil {
		return fmt.Errorf("entity %.100q: given twice: %w", e.ID, pipeline.ErrInvalid)
	}
	n := g.node(e.ID)
	n.metadata, n.facts = e.Metadata, union(nil, e.Facts)
	return nil
}

// complete relates the decoded entities by the decoded edges.
func (g *Graph) complete() error {
	edges := g.edges
	g.edges = nil
	for _, e := range edges {
		for _, id := range []string{e.Source, e.Target} {
			if g.nodes[id] == nil {
				return fmt.Errorf("relationship of entity %.100q, which is not given: %w", id, pipeline.ErrInvalid)
			}
		}
		g.Relate(e.Source, e.Relation, e.Target)
	}
	return nil
}
