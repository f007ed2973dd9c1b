package store

import "context"

type staleKey struct{}

// Stale returns a context whose reads may be some seconds old. A store with a replica reads there. Only
// callers that show sums and lists to people should use it: a conversation would miss its last turn.
func Stale(ctx context.Context) context.Context { return context.WithValue(ctx, staleKey{}, true) }

// IsStale reports whether reads may be some seconds old.
func IsStale(ctx context.Context) bool {
	stale, _ := ctx.Value(staleKey{}).(bool)
	return stale
}
