package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/record"
)

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

// newRecorder returns a recorder if the pipeline explains its builds.
func (p *Pipeline) newRecorder() *record.Recorder {
	if !p.explain {
		return nil
	}
	return record.New(len(p.steps) + 2)
}

// record notes what a stage did to the items, which are those after it. next is the
// first step that comes after it, if there is one.
func (b *build) record(origin explain.Origin, next []step) {
	if !b.still && len(next) > 0 && !next[0].sees() {
		b.items, b.still = slices.Clone(b.items), true
	}
	if b.still {
		b.recorder.Later(origin, b.items)
		return
	}
	b.recorder.Own()
	b.recorder.Record(origin, b.items, false)
}

// recordOffer notes the items of the system prompts or of the memory. by is what offered
// them, or nil; its list is the build's own if there was something before it.
func (b *build) recordOffer(stage string, by any, own bool) {
	if b.recorder == nil {
		return
	}
	b.still = own
	b.record(explain.Origin{Stage: stage, ModuleInfo: moduleOf(by)}, b.p.steps)
}

// recordStep notes what a step did. before are the items before it, next the steps after
// it.
func (b *build) recordStep(st *step, before []Item, next []step) {
	if b.recorder == nil {
		return
	}
	same := sameList(b.items, before)
	if st.isolated && same {
		return
	}
	switch {
	case st.appender != nil && !same:
		b.still = len(before) > 0 // then it was copied
	case st.sees():
		b.still = false
	}
	b.record(explain.Origin{Stage: "step", Step: st.Name, ModuleInfo: st.module}, next)
}

// show prepares the recorder for steps that may change the items they are given.
func (b *build) show(group []step) {
	if b.recorder != nil && slices.ContainsFunc(group, func(st step) bool { return st.sees() }) {
		b.recorder.Own()
		b.still = false
	}
}

// recordFill has the verdicts of the window stage noted, if anything is.
func (b *build) recordFill() {
	if b.recorder == nil {
		return
	}
	limits := record.Limits{Window: b.p.maxTokens}
	for i := range limits.Sources {
		limits.Sources[i] = -1
	}
	if budget := b.p.filler.Budget(); budget != nil {
		limits.SharedPool = budget.SharedPool()
		for i := range budget.Allocations {
			limits.Sources[budget.Allocations[i].Source.Index()] = budget.Allocations[i].MaxTokens
		}
	}
	b.recorder.BeginFill(limits, len(b.items))
	b.filling.Watcher = fillWatcher{b.recorder}
}

// budgetKind returns the budget that a reason is about.
func budgetKind(reason OverflowReason) explain.BudgetKind {
	switch reason {
	case OverflowWindow:
		return explain.BudgetWindow
	case OverflowSourceCap:
		return explain.BudgetSource
	case OverflowSourceDropped:
		return explain.BudgetWholeSource
	case OverflowSharedPool:
		return explain.BudgetSharedPool
	}
	return ""
}

// fillWatcher notes the verdicts of the window stage.
type fillWatcher struct{ *record.Recorder }

func (w fillWatcher) Decide(i int32, reason OverflowReason, available, tokens, bytes int) {
	w.Recorder.Decide(i, budgetKind(reason), available, tokens, bytes)
}

// trace ends the recording.
func (b *build) trace() *explain.Trace {
	if b.recorder == nil {
		return nil
	}
	return b.recorder.Trace()
}
