package pipeline

import "context"

// MemoryProvider offers items from memory before any step runs.
type MemoryProvider interface {
	Items(ctx context.Context, q *Query) ([]Item, error)
}

// QueryEnricher rewrites the query text. It may use the memory items.
type QueryEnricher interface {
	Enrich(ctx context.Context, query string, items []Item) (string, error)
}

// Compactor condenses turns that leave a conversation into a summary. previous is the
// summary so far, empty at first. A Compactor must be safe for concurrent use and end with
// its context, because a call that exceeds its timeout may go on while the next one begins.
type Compactor interface {
	Compact(ctx context.Context, turns []Turn, previous string) (summary string, err error)
}
