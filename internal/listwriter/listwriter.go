// Package listwriter has the interface between a build and the steps that run plugins, by
// which a build lends memory for the list that a step returns. It serves speed alone.
package listwriter

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Step is an isolated step that can write the list it returns into memory that it is
// lent. RunInto is Run with such memory: spare is an empty list that shares nothing with
// items. The step may append to it and return all that it appended; or it writes nothing
// to it and returns another list, as from Run. A build calls RunInto instead of Run and
// uses the memory again when nobody sees the list any more.
type Step interface {
	Run(ctx context.Context, q *core.Query, items []core.Item) ([]core.Item, error)
	RunInto(ctx context.Context, q *core.Query, items, spare []core.Item) ([]core.Item, error)
	Isolated()
}
