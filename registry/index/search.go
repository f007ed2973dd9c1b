package index

import (
	"cmp"
	"slices"
	"strings"
)

// Query is what Search looks for.
type Query struct {
	// Text are words. Each must be in the name, the description, the reference or the
	// operations; letter case does not matter. "" matches all plugins.
	Text string
	// Operation, if not "", must be one of the operations.
	Operation string
}

// Search returns the plugins that match, the best first: a name that is equal to the text, one
// that begins with it, one that contains all of the words, then all others; equal ones by name.
// Deprecated plugins come last.
func (x *Index) Search(q Query) (found []Plugin) {
	words := strings.Fields(strings.ToLower(q.Text))
	type hit struct {
		plugin Plugin
		rank   int
	}
	var hits []hit
	for _, p := range x.Plugins {
		if q.Operation != "" && !slices.Contains(p.Operations, q.Operation) {
			continue
		}
		if rank, ok := p.rank(words); ok {
			hits = append(hits, hit{p, rank})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.plugin.Name, b.plugin.Name))
	})
	for _, h := range hits {
		found = append(found, h.plugin)
	}
	return found
}

// The ranks of matches, the best first.
const (
	nameIs = iota
	nameBegins
	nameHas
	elsewhere
	deprecated
)

// rank says whether all words are in a plugin, and how good the match is.
func (p *Plugin) rank(words []string) (rank int, ok bool) {
	text := strings.ToLower(strings.Join([]string{p.Name, p.Description, p.Reference, strings.Join(p.Operations, " ")}, "\n"))
	inName := true
	for _, w := range words {
		if !strings.Contains(text, w) {
			return 0, false
		}
		inName = inName && strings.Contains(p.Name, w)
	}
	joined := strings.Join(words, "-")
	switch {
	case p.Deprecated != "":
		return deprecated, true
	case p.Name == joined:
		return nameIs, true
	case strings.HasPrefix(p.Name, joined):
		return nameBegins, true
	case inName:
		return nameHas, true
	}
	return elsewhere, true
}
