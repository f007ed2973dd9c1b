// Package record observes the items of one build and makes a trace of package explain from
// what it has seen.
package record

import (
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Recorder records what happens to the items of one build. It compares the list before a
// stage with the list after it, so that no stage has to cooperate. It belongs to the
// goroutine of the build until somebody asks for the trace.
//
// If nobody can change a list, as after an isolated step, the recorder only keeps it. It
// compares such lists when somebody asks for the trace, or before a step runs that may
// change them.
//
// An item after a stage is the same as an item before it if both have the same id. Where an
// id repeats, the recorder prefers items of the same source and text, then items of the same
// source, and then goes by their order. It does not notice a step that changes metadata
// within the map that it received; steps must not do that.
type Recorder struct {
	stages []explain.Origin
	starts []start // by item
	notes  []change
	gone   []removal
	rows   []core.Item // the items now
	owners []int32     // the item of each row, by its place in starts

	// borrowed means that rows is a list of the build, which nobody changes.
	borrowed bool
	// pending are stages whose lists nobody changes. The recorder compares them when
	// it needs the result, usually after the build.
	pending []pendingStage

	spareRows   []core.Item
	spareOwners []int32
	matcher     matcher

	fill fillLog
}

// New returns a recorder for a build with that many stages.
func New(stages int) *Recorder { return &Recorder{stages: make([]explain.Origin, 0, stages)} }

// start is the first event of an item.
type start struct {
	score float64
	stage int32
	place int32
}

// removal is the removal of an item by a step.
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

// itemValues are the values of an item that a stage may change.
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

// pendingStage is a stage that the recorder has not compared yet, and the list after it.
type pendingStage struct {
	stage explain.Origin
	items []core.Item
}

// Later records a stage without comparing its list yet. Nobody may change the list from now on.
func (l *Recorder) Later(stage explain.Origin, after []core.Item) {
	l.pending = append(l.pending, pendingStage{stage, after[:len(after):len(after)]})
}

// catchUp compares the pending stages.
func (l *Recorder) catchUp() {
	for i := range l.pending {
		l.Record(l.pending[i].stage, l.pending[i].items, true)
	}
	l.pending = nil
}

// Own compares the pending stages and drops all references to lists of the build, because
// somebody may change them from now on.
func (l *Recorder) Own() {
	l.catchUp()
	if l.borrowed {
		l.rows, l.borrowed = slices.Clone(l.rows), false
	}
}

// Record compares the list after a stage with the list before it. frozen means that nobody
// changes the list from now on. Otherwise Record copies it, and the recorder must own rows.
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

// compareInPlace records the changes of items that kept their places.
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

// begin begins the traces of new items at the end of the list.
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

// rearrange records a list of which only the first items are the same as before.
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

// changes returns the differences between the item a before a stage and b after it.
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

// sameMetadata reports whether two maps have equal contents. It first compares the maps
// themselves, because a stage that does not clone items keeps them.
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

// Decide records the verdict on item i of the list. kind is the budget that it exceeds, and
// available the tokens that were free in it; an empty kind means a place in the window.
// tokens and bytes are the size of its text at that time.
func (l *Recorder) Decide(i int32, kind explain.BudgetKind, available, tokens, bytes int) {
	e := fillEntry{available: available, tokens: tokens, bytes: bytes, row: i}
	if kind != "" {
		e.code = uint8(slices.Index(kinds[:], kind))
	}
	l.fill.entries = append(l.fill.entries, e)
}

// BeginFill prepares for at most n verdicts. Call it before the first one.
func (l *Recorder) BeginFill(limits Limits, n int) {
	l.fill = fillLog{entries: make([]fillEntry, 0, n), limits: limits}
}

// Decided returns the number of verdicts so far.
func (l *Recorder) Decided() int { return len(l.fill.entries) }

// Forget drops all verdicts after the first n.
func (l *Recorder) Forget(n int) { l.fill.entries = l.fill.entries[:n] }
