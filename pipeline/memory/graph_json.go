package memory

import (
	"encoding/json"
	"fmt"

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
	err := decodeObject(data, func(key string, raw json.RawMessage) error {
		switch key {
		case "entities":
			return decodeList(raw, doc.decodeEntity)
		case "relationships":
			return decodeList(raw, doc.decodeRelationship)
		}
		return fmt.Errorf("unknown key: %w (want entities or relationships)", pipeline.ErrInvalid)
	})
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

func decodeList(raw json.RawMessage, element func(raw json.RawMessage) error) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return fmt.Errorf("%.20s: %w (want a list)", raw, pipeline.ErrInvalid)
	}
	for i := range list {
		if err := element(list[i]); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func (g *Graph) decodeEntity(raw json.RawMessage) error {
	var w wireEntity
	hasID := false
	err := decodeObject(raw, func(key string, raw json.RawMessage) error {
		switch key {
		case "id":
			hasID = true
			return decodeField(raw, &w.ID)
		case "metadata":
			return decodeField(raw, &w.Metadata)
		case "facts":
			return decodeField(raw, &w.Facts)
		}
		return fmt.Errorf("unknown key: %w (want id, metadata or facts)", pipeline.ErrInvalid)
	})
	switch {
	case err != nil:
		return err
	case !hasID:
		return fmt.Errorf("id: missing: %w", pipeline.ErrInvalid)
	case g.nodes[w.ID] != nil:
		return fmt.Errorf("entity %.100q: given twice: %w", w.ID, pipeline.ErrInvalid)
	}
	n := g.node(w.ID)
	n.metadata, n.facts = w.Metadata, union(nil, w.Facts)
	return nil
}

func (g *Graph) decodeRelationship(raw json.RawMessage) error {
	var r Relationship
	keys := 0
	err := decodeObject(raw, func(key string, raw json.RawMessage) error {
		keys++
		switch key {
		case "source":
			return decodeField(raw, &r.Source)
		case "relation":
			return decodeField(raw, &r.Relation)
		case "target":
			return decodeField(raw, &r.Target)
		}
		return fmt.Errorf("unknown key: %w (want source, relation and target)", pipeline.ErrInvalid)
	})
	if err == nil && keys < 3 {
		err = fmt.Errorf("want source, relation and target: %w", pipeline.ErrInvalid)
	}
	g.edges = append(g.edges, r)
	return err
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
