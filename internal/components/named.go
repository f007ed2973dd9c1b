package components

import (
	"context"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// The wrappers of a component are equal for all builds, whatever the component is: a build counts the
// calls of each that it abandoned.

// Module implements [pipeline.ModuleNamer].
func (m *Made) Module() explain.ModuleInfo { return explain.ModuleInfo{Plugin: m.name} }

// isolated passes on the promise of [pipeline.Isolated].
type isolated struct{}

func (isolated) Isolated() {}

type step struct{ *Made }

func (s step) Run(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return call(s.name, func() ([]pipeline.Item, error) { return s.value.(pipeline.Step).Run(ctx, q, items) })
}

type appender struct{ step }

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

func (m memory) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	return call(m.name, func() ([]pipeline.Item, error) { return m.value.(pipeline.MemoryProvider).Items(ctx, q) })
}

// Memory returns the component as a memory provider whose errors name it.
func (m *Made) Memory() pipeline.MemoryProvider { return memory{m} }

type formatter struct {
	*Made
	makes string
}

func (f formatter) FormatType() string { return f.makes }

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

func (p provider) Name() string { return p.title }

func (p provider) Priority() int { return p.priority }

func (p provider) EstimateTokens(ctx context.Context, s *agent.State) (int, error) {
	return call(p.name, func() (int, error) { return p.value.(agent.Provider).EstimateTokens(ctx, s) })
}

func (p provider) Apply(ctx context.Context, s *agent.State, list []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	return call(p.name, func() ([]pipeline.Message, error) { return p.value.(agent.Provider).Apply(ctx, s, list, b) })
}

type lossy struct{}

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

type embedder struct{ *Made }

// Model implements [retrieve.Embedder].
func (e embedder) Model(ctx context.Context) (retrieve.Model, error) {
	return call(e.name, func() (retrieve.Model, error) { return e.value.(retrieve.Embedder).Model(ctx) })
}

// Embed implements [retrieve.Embedder].
func (e embedder) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	return call(e.name, func() ([][]float32, error) { return e.value.(retrieve.Embedder).Embed(ctx, side, texts) })
}

// Embedder returns the component as an embedder whose errors name it.
func (m *Made) Embedder() retrieve.Embedder { return embedder{m} }

type asker struct{ *Made }

// Ask implements [llm.Asker].
func (a asker) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	return call(a.name, func() (llm.Answer, error) { return a.value.(llm.Asker).Ask(ctx, r) })
}

// Asker returns the component as what answers the requests to a model. Its errors name it.
func (m *Made) Asker() llm.Asker { return asker{m} }
