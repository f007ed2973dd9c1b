package core

import (
	"context"
	"slices"
	"sync"
)

type losses struct {
	mu    sync.Mutex
	lines []string
}

type lossesKey struct{}

// NoteLosses returns a context in which [Lost] notes lines, and a function that returns those so
// far. Both are safe for concurrent use.
func NoteLosses(ctx context.Context) (context.Context, func() []string) {
	l := new(losses)
	return context.WithValue(ctx, lossesKey{}, l), func() []string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Clone(l.lines)
	}
}

// Lost notes that a build leaves something out, such as "turn-7: content[1]: call of look without
// its result". It does nothing in other contexts.
func Lost(ctx context.Context, line string) {
	if l, ok := ctx.Value(lossesKey{}).(*losses); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, line)
	}
}
