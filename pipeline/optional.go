package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/listwriter"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// This file has all that a step, or a part of one, may be beside what its interface asks
// for. A build finds it by a type assertion, also behind the steps of this package that
// wrap a retriever, a filter or another step.

// An Appender is a [Step] that only adds items: Run returns the items it was given
// followed by what Append returns. A build calls Append instead of Run, and runs
// neighboring Appenders of equal priority at the same time; each is then given
// the items from before the first of them.
type Appender interface {
	Step
	Append(ctx context.Context, q *Query, items []Item) ([]Item, error)
}

// Isolated marks a [Step], or the [Retriever], [Filter] and so on behind one, that
// never changes the query and the items it is given, keeps no reference to them
// when it has returned, leaves the list that it returned alone, and returns soon after
// its context has ended. The build then needs neither copies nor a goroutine to protect
// itself. Steps that run plugins are isolated.
type Isolated interface{ Isolated() }

// A listWriter is an [Isolated] step that is lent memory for the list it returns.
type listWriter = listwriter.Step

// A ModuleNamer is a [Step], or the [Retriever], [Filter] and so on behind one, that
// knows which plugin it runs. Traces name it.
type ModuleNamer interface{ Module() explain.ModuleInfo }

// moduleOf returns the plugin of a step, or those of its parts.
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

// adapter is a Step of this package around parts that others wrote.
type adapter interface {
	parts() []any
	// showsItems reports whether the parts get to see the items.
	showsItems() bool
}

// isolated reports whether v, or everything that v is made of, is [Isolated].
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
