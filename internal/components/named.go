package components

import (
	"context"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// The wrappers of a component are equal for all builds, whatever the component is: a build counts the
// calls of each that it abandoned.

// Module implements [pipeline.ModuleNamer].
func (m *Made) Module() explain.ModuleInfo { return explain.ModuleInfo{Plugin: m.name} }

// isolated passes on the promise of [pipeline.Isolated].
type isolated struct{}

// Isolated implements [pipeline.Isolated].
func (isolated) Isolated() {}

type step struct{ *Made }

// Run implements [pipeline.Step].
func (s step) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return call(s.name, func() ([]pipeline.Item, error) { return s.value.(pipeline.Step).Run(ctx, q, items) })
}

type appender struct{ step }

// Append implements [pipeline.Appender].
func (a appender) Append(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return call(a.name, func() ([]pipeline.Item, error) { return a.value.(pipeline.Appender).Append(ctx, q, items) })
}

// Step returns the component as a step whose errors name it. adds says whether it may stay a
// [pipeline.Appender].
func (m *Made) Step(adds bool) pipeline.Step {
	s := step{m}
	_, promises := m.value.(pipeline.Isolated)
	_, ok := m.value.(pipeline.Appender)
	switch adds = adds && ok; {
	case adds && promises:
		return struct {
			appender
			isolated
		}{appender: appender{s}}
	case adds:
		return appender{s}
	case promises:
		return struct {
			step
			isolated
		}{step: s}
	}
	return s
}

// Placement says how the items of a retriever are placed in a build.
type Placement struct {
	// Source replaces their source, unless it is empty.
	Source pipeline.Source
	// Highest is the highest priority that they may have. 0: there is no bound.
	Highest int
	// Timeout ends the context of a call. 0: nothing does.
	Timeout time.Duration
}

type retriever struct {
	*Made
	place Placement
}

// Retrieve implements [pipeline.Retriever].
func (r retriever) Retrieve(ctx context.Context, q *pipeline.Query, topK int) ([]pipeline.Item, error) {
	if r.place.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.place.Timeout)
		defer cancel()
	}
	items, err := call(r.name, func() ([]pipeline.Item, error) { return r.value.(pipeline.Retriever).Retrieve(ctx, q, topK) })
	if err != nil || r.place.Source == "" && r.place.Highest == 0 {
		return items, err
	}
	items = slices.Clone(items) // the retriever may keep its list
	for i := range items {
		it := &items[i]
		switch {
		case r.place.Source != "":
			it.Source, it.Priority = r.place.Source, r.place.Source.DefaultPriority()
		case it.Priority == 0 && it.Source == "":
			it.Priority = pipeline.SourceRetrieval.DefaultPriority()
		case it.Priority == 0:
			it.Priority = it.Source.DefaultPriority()
		}
		if r.place.Highest > 0 {
			it.Priority = min(it.Priority, r.place.Highest)
		}
	}
	return items, nil
}

// Retriever returns the component as a retriever whose errors name it.
func (m *Made) Retriever(p Placement) pipeline.Retriever {
	r := retriever{m, p}
	if _, ok := m.value.(pipeline.Isolated); ok {
		return struct {
			retriever
			isolated
		}{retriever: r}
	}
	return r
}

type memory struct{ *Made }

// Items implements [pipeline.MemoryProvider].
func (m memory) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	return call(m.name, func() ([]pipeline.Item, error) { return m.value.(pipeline.MemoryProvider).Items(ctx, q) })
}

// Memory returns the component as a memory provider whose errors name it.
func (m *Made) Memory() pipeline.MemoryProvider { return memory{m} }

type formatter struct {
	*Made
	makes string
}

// FormatType implements [pipeline.Formatter].
func (f formatter) FormatType() string { return f.makes }

// Format implements [pipeline.Formatter].
func (f formatter) Format(ctx context.Context, w *pipeline.Window) (any, error) {
	return call(f.name, func() (any, error) { return f.value.(pipeline.Formatter).Format(ctx, w) })
}

// Formatter returns the component as a formatter whose errors name it. It asks for the type of the
// format.
func (m *Made) Formatter() (pipeline.Formatter, error) {
	makes, err := call(m.name, func() (string, error) { return m.value.(pipeline.Formatter).FormatType(), nil })
	return formatter{m, makes}, err
}

type provider struct {
	*Made
	title    string
	priority int
}

// Name implements [agent.Provider].
func (p provider) Name() string { return p.title }

// Priority implements [agent.Provider].
func (p provider) Priority() int { return p.priority }

// EstimateTokens implements [agent.Provider].
func (p provider) EstimateTokens(ctx context.Context, s *agent.State) (int, error) {
	return call(p.name, func() (int, error) { return p.value.(agent.Provider).EstimateTokens(ctx, s) })
}

// Apply implements [agent.Provider].
func (p provider) Apply(ctx context.Context, s *agent.State, list []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	return call(p.name, func() ([]pipeline.Message, error) { return p.value.(agent.Provider).Apply(ctx, s, list, b) })
}

type lossy struct{}

// LeavesOut implements [agent.Lossy].
func (lossy) LeavesOut() {}

// Provider returns the component as a provider with the title and the priority of the configuration,
// whose errors name it.
func (m *Made) Provider(title string, priority int) agent.Provider {
	p := provider{m, title, priority}
	if _, ok := m.value.(agent.Lossy); ok {
		return struct {
			provider
			lossy
		}{provider: p}
	}
	return p
}
