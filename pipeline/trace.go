package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/record"
)

// record notes what a stage did to the items. It is called after the stage; next are the
// steps that follow.
func (b *build) record(origin explain.Origin, next []step) {
	if len(next) > 0 && next[0].access != foreignAccess {
		b.list.freeze()
	}
	if b.list.frozen {
		b.recorder.Later(origin, b.list.items)
		return
	}
	b.recorder.Own()
	b.recorder.Record(origin, b.list.items, false)
}

// recordOffer records the items of the system prompts or of a memory provider. by is the
// provider; it may be nil. own means that the list of these items belongs to the build.
func (b *build) recordOffer(stage string, by any, own bool) {
	if b.recorder == nil {
		return
	}
	b.list.frozen = own
	b.record(explain.Origin{Stage: stage, ModuleInfo: moduleOf(by)}, b.p.steps)
}

// recordStep notes what a step did. same means that the step returned the list it received.
// next are the steps after it.
func (b *build) recordStep(st *step, same bool, next []step) {
	if b.recorder == nil || st.access == isolatedAccess && same {
		return
	}
	b.record(explain.Origin{Stage: "step", Step: st.Name, ModuleInfo: st.module}, next)
}

// show prepares the recorder and the list before steps receive the items.
func (b *build) show(group []step) {
	if b.recorder != nil && slices.ContainsFunc(group, func(st step) bool { return st.access == foreignAccess }) {
		b.recorder.Own()
	}
	b.list.show(group)
}

// recordFill makes the recorder watch the window stage, if there is a recorder.
func (b *build) recordFill() {
	if b.recorder == nil {
		return
	}
	limits := record.Limits{Window: b.p.maxTokens - b.fixed.Reserved()}
	for i := range limits.Sources {
		limits.Sources[i] = -1
	}
	if budget := b.writer.filler.Budget(); budget != nil {
		limits.SharedPool = budget.SharedPool()
		for i := range budget.Allocations {
			source := budget.Allocations[i].Source
			limits.Sources[source.Index()] = budget.Allocation(source)
		}
	}
	b.recorder.BeginFill(limits, len(b.list.items))
	b.filling.Watcher = fillWatcher{b.recorder}
}

// budgetKind returns the budget that an overflow reason refers to.
func budgetKind(reason OverflowReason) explain.BudgetKind {
	switch reason {
	case OverflowWindow:
		return explain.BudgetWindow
	case OverflowMinimums:
		return explain.BudgetMinimums
	case OverflowSourceCap:
		return explain.BudgetSource
	case OverflowSourceDropped:
		return explain.BudgetWholeSource
	case OverflowSharedPool:
		return explain.BudgetSharedPool
	}
	return ""
}

// fillWatcher passes the verdicts of the window stage to the recorder.
type fillWatcher struct{ *record.Recorder }

func (w fillWatcher) Decide(i int32, reason OverflowReason, available, tokens, bytes int) {
	w.Recorder.Decide(i, budgetKind(reason), available, tokens, bytes)
}

// trace ends the recording and returns the trace, nil without a recorder.
func (b *build) trace() *explain.Trace {
	if b.recorder == nil {
		return nil
	}
	return b.recorder.Trace()
}
