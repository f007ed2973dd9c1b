package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
)

// MaxEntity is the longest name of an entity or a relation in bytes.
const MaxEntity = 200

// Relation is one edge of a [Graph]: from an entity to another entity, or to a fact.
type Relation struct {
	// Source is the name of an entity.
	Source string `json:"source"`
	// Relation names the relation of the entity to another one, Target. Both are empty if
	// Fact is set.
	Relation string `json:"relation,omitempty"`
	Target   string `json:"target,omitempty"`
	// Fact is the ID of a fact about the entity.
	Fact string `json:"fact,omitempty"`
}

// Validate checks that names are short, printable and not blank, and that there is either
// a target or a fact.
func (r *Relation) Validate() error {
	switch {
	case r.Fact != "" && (r.Relation != "" || r.Target != ""):
		return fmt.Errorf("relation: fact excludes relation and target: %w", pipeline.ErrInvalid)
	case r.Fact != "":
		return cmp.Or(checkEntity("source", r.Source), checkEntity("fact", r.Fact))
	}
	return cmp.Or(checkEntity("source", r.Source), checkEntity("relation", r.Relation), checkEntity("target", r.Target))
}

func checkEntity(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("relation: %s: empty: %w (give a name)", what, pipeline.ErrInvalid)
	case len(name) > MaxEntity:
		return fmt.Errorf("relation: %s: %d bytes: %w (want %d or fewer)", what, len(name), pipeline.ErrInvalid, MaxEntity)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("relation: %s: %q: %w (want a text without control characters)", what, name, pipeline.ErrInvalid)
	}
	return nil
}

// Graph links entities to each other and to facts. Names of entities that differ only in
// case mean the same entity. All results are in the order of the relations. A Graph does
// not change and is safe for concurrent use.
type Graph struct {
	nodes map[string]*node // by the name in lower case
	order []*node
}

type node struct {
	name      string // as first written
	facts     []string
	neighbors []*node // over edges in both directions
}

// NewGraph returns the graph of relations, which must be valid.
func NewGraph(relations []Relation) *Graph {
	g := &Graph{nodes: make(map[string]*node)}
	type pair struct{ a, b *node }
	linked := make(map[pair]bool)
	known := make(map[*node]map[string]bool)
	for i := range relations {
		r := &relations[i]
		from := g.node(r.Source)
		if r.Fact != "" {
			if known[from] == nil {
				known[from] = make(map[string]bool)
			}
			if !known[from][r.Fact] {
				known[from][r.Fact] = true
				from.facts = append(from.facts, r.Fact)
			}
			continue
		}
		to := g.node(r.Target)
		if from == to || linked[pair{from, to}] {
			continue
		}
		linked[pair{from, to}], linked[pair{to, from}] = true, true
		from.neighbors, to.neighbors = append(from.neighbors, to), append(to.neighbors, from)
	}
	return g
}

// node returns the node of an entity. It adds the node if there is none.
func (g *Graph) node(name string) *node {
	key := strings.ToLower(name)
	n := g.nodes[key]
	if n == nil {
		n = &node{name: name}
		g.nodes[key] = n
		g.order = append(g.order, n)
	}
	return n
}

// Entities returns the names of the entities.
func (g *Graph) Entities() []string { return names(g.order) }

func names(nodes []*node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.name
	}
	return out
}

// Related returns the given entities that exist, and the entities within maxDepth relations
// of them, in either direction. It returns each once, the nearest first.
func (g *Graph) Related(maxDepth int, entities ...string) []string {
	return names(g.walk(maxDepth, entities))
}

// RelatedFacts returns the facts about the given entities, and about the entities within
// maxDepth relations of them. It returns each once, the facts of the nearest entities
// first, and at most limit of them; 0 means no limit.
func (g *Graph) RelatedFacts(maxDepth, limit int, entities ...string) []string {
	var out []string
	seen := make(map[string]bool)
	for _, n := range g.walk(maxDepth, entities) {
		for _, fact := range n.facts {
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
	return out
}

// walk returns entities and the entities around them, breadth first.
func (g *Graph) walk(maxDepth int, entities []string) []*node {
	var reached []*node
	seen := make(map[*node]bool)
	reach := func(n *node) {
		if n != nil && !seen[n] {
			seen[n] = true
			reached = append(reached, n)
		}
	}
	for _, entity := range entities {
		reach(g.nodes[strings.ToLower(entity)])
	}
	for from, depth := 0, 0; depth < maxDepth && from < len(reached); depth++ {
		ring := reached[from:]
		from = len(reached)
		for _, n := range ring {
			for _, next := range n.neighbors {
				reach(next)
			}
		}
	}
	return reached
}

// Mentioned returns the entities whose names are in a text as whole words, in upper or
// lower case. They are in the order of their first occurrence.
func (g *Graph) Mentioned(text string) []string {
	text = strings.ToLower(text)
	type found struct {
		node *node
		at   int
	}
	var all []found
	for key, n := range g.nodes {
		if at := wordIndex(text, key); at >= 0 {
			all = append(all, found{n, at})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(b.node.name), len(a.node.name)), cmp.Compare(a.node.name, b.node.name))
	})
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = f.node.name
	}
	return out
}

// wordIndex returns the first place where name is in text as whole words, -1 if there is
// none.
func wordIndex(text, name string) int {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return -1
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if (!spaced(before) || !spaced(first)) && (!spaced(last) || !spaced(after)) {
			return at
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
}

// spaced reports whether a character is part of a word in a script that has spaces between
// words.
func spaced(r rune) bool {
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
		return false
	}
	return !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
