package pipeline

import "context"

// MemoryProvider offers what is remembered before any step runs.
type MemoryProvider interface {
	Items(ctx context.Context, q *Query) ([]Item, error)
}

// QueryEnricher rewrites the query text with the memory items at hand.
type QueryEnricher interface {
	Enrich(ctx context.Context, query string, items []Item) (string, error)
}

// Compactor condenses turns that leave a conversation. previous is the summary
// so far, empty at first. Where calls have a timeout, one that outlasts it may still be
// running during the next: a Compactor is then safe for concurrent use, and ends with its
// context.
type Compactor interface {
	Compact(ctx context.Context, turns []Turn, previous string) (summary string, err error)
}
