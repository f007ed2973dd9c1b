// Package record watches the items of one build and says afterwards what happened to each:
// it makes the traces of package explain.
package record

import (
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Recorder records what happens to the items of one build by comparing the list before
// a stage with the list after it, so that no stage has to cooperate. It belongs to the
// goroutine of the build until its trace is asked for.
//
// Lists that nobody changes any more, as those of isolated steps are, are only kept: they
// are compared when the trace is asked for, or before a step runs that may change
// them.
//
// An item after a stage is the one before it that has the same id. Where an id repeats,
// the same source and text decide, then the same source, and among twins their order.
// Metadata that a step changes inside the map it was given is not noticed; steps must
// not do that.
type Recorder struct {
	stages []explain.Origin
	starts []start // by item
	notes  []change
	gone   []removal
	rows   []core.Item // the items now
	owners []int32     // the item of each row, by its place in starts

	// borrowed: rows are a list of the build, which nobody changes any more.
	borrowed bool
	// pending are stages whose lists nobody changes any more. They are compared when
	// that is asked for, mostly after the build.
	pending []pendingStage

	spareRows   []core.Item
	spareOwners []int32
	matcher     matcher

	fill fillLog
}

// New returns a recorder of a build with so many stages.
func New(stages int) *Recorder { return &Recorder{stages: make([]explain.Origin, 0, stages)} }

// start is the first event of an item.
type start struct {
	score float64
	stage int32
	place int32
}

// removal is an item that a step took away.
type removal struct {
	item  core.Item
	owner int32
	stage int32
	place int32
}

// change is a change of one item in one stage.
type change struct {
	before, after itemValues
	item, stage   int32
	actions       explain.Actions
}

// itemValues are what may change, as a note keeps it.
type itemValues struct {
	score            float64
	tokens, bytes    int
	place            int32
	priority, source int8
}

func valuesOf(it *core.Item, place int) itemValues {
	return itemValues{
		score: it.Score, tokens: it.TokenCount, bytes: len(it.Content), place: int32(place + 1),
		priority: int8(it.Priority), source: int8(it.Source.Index()),
	}
}

// pendingStage is a stage that was not compared yet, and the list after it.
type pendingStage struct {
	stage explain.Origin
	items []core.Item
}

// Later has a stage compared when that is asked for. Nobody may change the list.
func (l *Recorder) Later(stage explain.Origin, after []core.Item) {
	l.pending = append(l.pending, pendingStage{stage, after[:len(after):len(after)]})
}

// catchUp compares the stages that were put off.
func (l *Recorder) catchUp() {
	for i := range l.pending {
		l.Record(l.pending[i].stage, l.pending[i].items, true)
	}
	l.pending = nil
}

// Own catches up, and lets go of the lists of the build: somebody may change them now.
func (l *Recorder) Own() {
	l.catchUp()
	if l.borrowed {
		l.rows, l.borrowed = slices.Clone(l.rows), false
	}
}

// Record compares the list after a stage with the one before it. frozen: nobody changes
// the list any more. Otherwise it is copied, and rows must be the log's own.
func (l *Recorder) Record(stage explain.Origin, after []core.Item, frozen bool) {
	if identical(l.rows, after) {
		if frozen {
			l.rows, l.borrowed = after, true
		}
		return
	}
	n := int32(len(l.stages))
	before := len(l.notes) + len(l.starts) + len(l.gone)
	l.stages = append(l.stages, stage)
	first := samePrefix(l.rows, after)
	switch {
	case first == len(l.rows) && first == len(after):
		l.compareInPlace(n, after, frozen)
	case first == len(l.rows):
		l.compareInPlace(n, after[:first], frozen)
		l.begin(n, after[first:], frozen)
	default:
		l.rearrange(n, first, after, frozen)
	}
	if frozen {
		l.rows, l.borrowed = after, true
	}
	if before == len(l.notes)+len(l.starts)+len(l.gone) {
		l.stages = l.stages[:n]
	}
}

// compareInPlace notes the changes of items that kept their places.
func (l *Recorder) compareInPlace(stage int32, after []core.Item, frozen bool) {
	for i := range after {
		if actions := changes(&l.rows[i], &after[i]); actions != 0 {
			l.note(stage, l.owners[i], actions, valuesOf(&l.rows[i], i), valuesOf(&after[i], i))
			if !frozen {
				l.rows[i] = after[i]
			}
		}
	}
}

func (l *Recorder) note(stage, item int32, actions explain.Actions, before, after itemValues) {
	if len(l.notes) == cap(l.notes) {
		l.notes = slices.Grow(l.notes, 2*len(l.rows)+len(l.notes))
	}
	l.notes = append(l.notes, change{before, after, item, stage, actions})
}

// begin begins the traces of items that come after all others.
func (l *Recorder) begin(stage int32, items []core.Item, frozen bool) {
	l.starts, l.owners = slices.Grow(l.starts, len(items)), slices.Grow(l.owners, len(items))
	for i := range items {
		l.owners = append(l.owners, l.open(stage, &items[i], len(l.rows)+i))
	}
	if !frozen {
		l.rows = append(l.rows, items...)
	}
}

func (l *Recorder) open(stage int32, it *core.Item, place int) (item int32) {
	l.starts = append(l.starts, start{it.Score, stage, int32(place + 1)})
	return int32(len(l.starts) - 1)
}

// rearrange notes a list whose first items are the same, and others are not.
func (l *Recorder) rearrange(stage int32, first int, after []core.Item, frozen bool) {
	from, to := l.matcher.match(l.rows, after, first)
	owners := slices.Grow(l.spareOwners[:0], len(after))[:len(after)]
	moved := l.matcher.moved(from, to)
	for i := range after {
		j := from[i]
		if j < 0 {
			owners[i] = l.open(stage, &after[i], i)
			continue
		}
		owners[i] = l.owners[j]
		actions := changes(&l.rows[j], &after[i])
		if moved != nil && moved[i] {
			actions |= explain.Moved
		}
		if actions != 0 {
			l.note(stage, owners[i], actions, valuesOf(&l.rows[j], int(j)), valuesOf(&after[i], i))
		}
	}
	for j := range l.rows {
		if to[j] < 0 {
			l.gone = append(l.gone, removal{l.rows[j], l.owners[j], stage, int32(j + 1)})
		}
	}
	if !frozen {
		l.rows, l.spareRows = append(l.spareRows[:0], after...), l.rows
	}
	l.owners, l.spareOwners = owners, l.owners
}

// changes tells what is different about an item.
func changes(a, b *core.Item) (actions explain.Actions) {
	if a.Score != b.Score {
		actions |= explain.Rescored
	}
	if a.Priority != b.Priority {
		actions |= explain.Prioritised
	}
	if a.TokenCount != b.TokenCount {
		actions |= explain.Recounted
	}
	if a.Content != b.Content {
		actions |= explain.Rewritten
	}
	if a.Source != b.Source {
		actions |= explain.Resourced
	}
	if a.Sequence != b.Sequence || a.CreatedAt != b.CreatedAt && !a.CreatedAt.Equal(b.CreatedAt) {
		actions |= explain.Redated
	}
	if !sameMetadata(a.Metadata, b.Metadata) {
		actions |= explain.Annotated
	}
	return actions
}

// sameMetadata looks into maps only when they are not the same one: a list that was
// cloned has others.
func sameMetadata(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true
	}
	for k, v := range a {
		other, ok := b[k]
		if !ok || !sameValue(v, other) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}

// Decide notes the verdict on item i of the list: the budget that it did not fit into,
// with the tokens that were left of it, or, with the empty kind, a place in the window.
// tokens and bytes are those of its text as it is then.
func (l *Recorder) Decide(i int32, kind explain.BudgetKind, available, tokens, bytes int) {
	e := fillEntry{available: available, tokens: tokens, bytes: bytes, row: i}
	if kind != "" {
		e.code = uint8(slices.Index(kinds[:], kind))
	}
	l.fill.entries = append(l.fill.entries, e)
}

// BeginFill comes before the first verdict. There will be at most n of them.
func (l *Recorder) BeginFill(limits Limits, n int) {
	l.fill = fillLog{entries: make([]fillEntry, 0, n), limits: limits}
}

// Decided returns how many verdicts there are.
func (l *Recorder) Decided() int { return len(l.fill.entries) }

// Forget drops the verdicts behind the first n.
func (l *Recorder) Forget(n int) { l.fill.entries = l.fill.entries[:n] }
