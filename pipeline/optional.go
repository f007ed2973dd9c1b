package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/listwriter"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// This file declares the optional interfaces of steps and of their parts. A build finds them
// by type assertion. The steps of this package that wrap a retriever, a filter or another
// step pass on what the wrapped value implements.

// An Appender is a [Step] that only adds items: Run returns the items that it received,
// followed by those that Append returns. A build calls Append instead of Run, and runs
// neighboring Appenders of equal priority at the same time. Each of them then receives
// the items from before the first of them.
type Appender interface {
	Step
	Append(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// Isolated marks a [Step], or the [Retriever], [Filter] and so on that a step wraps. An
// isolated value never changes the query and the items that it receives, keeps no reference
// to them after it has returned, does not touch the list that it returned, and returns soon
// after its context has ended. The build therefore needs neither copies nor a goroutine to
// protect itself. Steps that run plugins are isolated.
type Isolated interface{ Isolated() }

// A listWriter is an [Isolated] step that borrows memory for the list it returns.
type listWriter = listwriter.Step

// A ModuleNamer is a [Step], or the [Retriever], [Filter] and so on that a step wraps, that
// knows which plugin it runs. Traces show the name.
type ModuleNamer interface{ Module() explain.ModuleInfo }

// moduleOf returns the plugin of a step, or the plugins of its parts.
func moduleOf(v any) explain.ModuleInfo {
	if t, ok := v.(ModuleNamer); ok {
		return t.Module()
	}
	a, ok := v.(adapter)
	if !ok {
		return explain.ModuleInfo{}
	}
	var known []explain.ModuleInfo
	for _, part := range a.parts() {
		if m := moduleOf(part); m != (explain.ModuleInfo{}) && !slices.Contains(known, m) {
			known = append(known, m)
		}
	}
	slices.SortFunc(known, func(a, b explain.ModuleInfo) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Module, b.Module))
	})
	var plugins, modules []string
	for _, m := range known {
		plugins, modules = append(plugins, m.Plugin), append(modules, m.Module)
	}
	return explain.ModuleInfo{Plugin: strings.Join(plugins, "+"), Module: strings.Join(modules, "+")}
}

// adapter is a Step of this package that wraps parts written by others.
type adapter interface {
	parts() []any
	// showsItems reports whether the parts receive the items.
	showsItems() bool
}

// isolated reports whether v, or every part of v, is [Isolated].
func isolated(v any) bool {
	a, ok := v.(adapter)
	if !ok {
		_, marked := v.(Isolated)
		return marked
	}
	for _, part := range a.parts() {
		if !isolated(part) {
			return false
		}
	}
	return true
}
