// Package listwriter has an interface between a build and the steps that run plugins. With it
// a build lends a step memory for the list that the step returns. It only saves time.
package listwriter

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Step is an isolated step that can write its list into borrowed memory. RunInto is like Run
// with such memory: spare is an empty list that shares nothing with items. The step may append
// to it and return all that it appended, or write nothing to it and return another list, as
// from Run. A build calls RunInto instead of Run, and reuses the memory when nobody can see
// the list.
type Step interface {
	Run(ctx context.Context, q *core.Query, items []core.Item) ([]core.Item, error)
	RunInto(ctx context.Context, q *core.Query, items, spare []core.Item) ([]core.Item, error)
	Isolated()
}
