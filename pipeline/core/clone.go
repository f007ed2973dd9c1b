package core

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// Clone returns a copy of the item that shares no map and no slice with it.
func (it Item) Clone() Item {
	it.Metadata = values.Clone(it.Metadata)
	return it
}

// CloneItems returns a deep copy of items; nil stays nil.
func CloneItems(items []Item) []Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Metadata = values.Clone(out[i].Metadata)
	}
	return out
}

// Clone returns a copy of the query that shares no map and no slice with it.
func (q Query) Clone() Query {
	q.Embedding = slices.Clone(q.Embedding)
	q.Metadata = values.Clone(q.Metadata)
	q.ChatHistory = CloneTurns(q.ChatHistory)
	return q
}

// CloneTurns returns a copy of turns that shares no map with them. nil stays nil. The whole
// messages are shared, because nobody changes them.
func CloneTurns(turns []Turn) []Turn {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Metadata = values.Clone(out[i].Metadata)
	}
	return out
}
