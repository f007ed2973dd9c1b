package pipeline

import (
	"reflect"
	"slices"
)

// storyLog records what happens to the items of one build by comparing the list before
// a stage with the list after it, so that no stage has to cooperate. It belongs to the
// goroutine of the build until it is told.
//
// Lists that nobody changes any more, as those of isolated steps are, are only kept: they
// are compared when the stories are asked for, or before a step runs that may change
// them.
//
// An item after a stage is the one before it that has the same id. Where an id repeats,
// the same source and text decide, then the same source, and among twins their order.
// Metadata that a step changes inside the map it was given is not noticed; steps must
// not do that.
type storyLog struct {
	stages []StoryStage
	starts []storyStart // by story
	notes  []storyNote
	gone   []storyEnd
	rows   []Item  // the items now
	owners []int32 // the story of each row

	// borrowed: rows are a list of the build, which nobody changes any more.
	borrowed bool
	// pending are stages whose lists nobody changes any more. They are compared when
	// that is asked for, mostly after the build.
	pending []pendingStage

	spareRows   []Item
	spareOwners []int32
	matcher     storyMatcher

	fill fillLog
}

// storyStart is the first event of a story.
type storyStart struct {
	score float64
	stage int32
	place int32
}

// storyEnd is an item that a step took away.
type storyEnd struct {
	item  Item
	story int32
	stage int32
	place int32
}

// storyNote is a change of one item in one stage.
type storyNote struct {
	before, after storyValues
	story, stage  int32
	did           Did
}

// storyValues are what may change, as a note keeps it.
type storyValues struct {
	score            float64
	tokens, bytes    int
	place            int32
	priority, source int8
}

func valuesOf(it *Item, place int) storyValues {
	return storyValues{
		score: it.Score, tokens: it.TokenCount, bytes: len(it.Content), place: int32(place + 1),
		priority: int8(it.Priority), source: int8(it.Source.Index()),
	}
}

// pendingStage is a stage that was not compared yet, and the list after it.
type pendingStage struct {
	stage StoryStage
	items []Item
}

// later has a stage compared when that is asked for. Nobody may change the list.
func (l *storyLog) later(stage StoryStage, after []Item) {
	l.pending = append(l.pending, pendingStage{stage, after[:len(after):len(after)]})
}

// catchUp compares the stages that were put off.
func (l *storyLog) catchUp() {
	for i := range l.pending {
		l.record(l.pending[i].stage, l.pending[i].items, true)
	}
	l.pending = nil
}

// own catches up, and lets go of the lists of the build: somebody may change them now.
func (l *storyLog) own() {
	l.catchUp()
	if l.borrowed {
		l.rows, l.borrowed = slices.Clone(l.rows), false
	}
}

// record compares the list after a stage with the one before it. still: nobody changes
// the list any more. Otherwise it is copied, and rows must be the log's own.
func (l *storyLog) record(stage StoryStage, after []Item, still bool) {
	if identical(l.rows, after) {
		if still {
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
		l.compareInPlace(n, after, still)
	case first == len(l.rows):
		l.compareInPlace(n, after[:first], still)
		l.begin(n, after[first:], still)
	default:
		l.rearrange(n, first, after, still)
	}
	if still {
		l.rows, l.borrowed = after, true
	}
	if before == len(l.notes)+len(l.starts)+len(l.gone) {
		l.stages = l.stages[:n]
	}
}

// sameItem reports whether two items have the same id, source and text.
func sameItem(a, b *Item) bool {
	return a.ID == b.ID && a.Source == b.Source && a.Content == b.Content
}

func samePrefix(a, b []Item) int {
	n := min(len(a), len(b))
	for i := range n {
		if !sameItem(&a[i], &b[i]) {
			return i
		}
	}
	return n
}

// compareInPlace notes the changes of items that kept their places.
func (l *storyLog) compareInPlace(stage int32, after []Item, still bool) {
	for i := range after {
		if did := changes(&l.rows[i], &after[i]); did != 0 {
			l.note(stage, l.owners[i], did, valuesOf(&l.rows[i], i), valuesOf(&after[i], i))
			if !still {
				l.rows[i] = after[i]
			}
		}
	}
}

func (l *storyLog) note(stage, story int32, did Did, before, after storyValues) {
	if len(l.notes) == cap(l.notes) {
		l.notes = slices.Grow(l.notes, 2*len(l.rows)+len(l.notes))
	}
	l.notes = append(l.notes, storyNote{before, after, story, stage, did})
}

// begin begins the stories of items that come after all others.
func (l *storyLog) begin(stage int32, items []Item, still bool) {
	l.starts, l.owners = slices.Grow(l.starts, len(items)), slices.Grow(l.owners, len(items))
	for i := range items {
		l.owners = append(l.owners, l.start(stage, &items[i], len(l.rows)+i))
	}
	if !still {
		l.rows = append(l.rows, items...)
	}
}

func (l *storyLog) start(stage int32, it *Item, place int) (story int32) {
	l.starts = append(l.starts, storyStart{it.Score, stage, int32(place + 1)})
	return int32(len(l.starts) - 1)
}

// rearrange notes a list whose first items are the same, and others are not.
func (l *storyLog) rearrange(stage int32, first int, after []Item, still bool) {
	from, to := l.matcher.match(l.rows, after, first)
	owners := slices.Grow(l.spareOwners[:0], len(after))[:len(after)]
	moved := l.matcher.moved(from, to)
	for i := range after {
		j := from[i]
		if j < 0 {
			owners[i] = l.start(stage, &after[i], i)
			continue
		}
		owners[i] = l.owners[j]
		did := changes(&l.rows[j], &after[i])
		if moved != nil && moved[i] {
			did |= DidMove
		}
		if did != 0 {
			l.note(stage, owners[i], did, valuesOf(&l.rows[j], int(j)), valuesOf(&after[i], i))
		}
	}
	for j := range l.rows {
		if to[j] < 0 {
			l.gone = append(l.gone, storyEnd{l.rows[j], l.owners[j], stage, int32(j + 1)})
		}
	}
	if !still {
		l.rows, l.spareRows = append(l.spareRows[:0], after...), l.rows
	}
	l.owners, l.spareOwners = owners, l.owners
}

// changes tells what is different about an item.
func changes(a, b *Item) (did Did) {
	if a.Score != b.Score {
		did |= DidRescore
	}
	if a.Priority != b.Priority {
		did |= DidPrioritise
	}
	if a.TokenCount != b.TokenCount {
		did |= DidRecount
	}
	if a.Content != b.Content {
		did |= DidRewrite
	}
	if a.Source != b.Source {
		did |= DidResource
	}
	if a.Sequence != b.Sequence || a.CreatedAt != b.CreatedAt && !a.CreatedAt.Equal(b.CreatedAt) {
		did |= DidRedate
	}
	if !sameMetadata(a.Metadata, b.Metadata) {
		did |= DidAnnotate
	}
	return did
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
