package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// access says whose code receives the items of a build when a step runs. It decides who may
// read, change or keep them:
//
//	          reads them        may change them  may keep them   receives
//	isolated  a plugin's host   no               no              the list of the build
//	adapted   this package      no               while it runs   the list of the build
//	foreign   somebody's code   yes              yes             the list, or a deep copy
//
// Where the build must be able to continue without a foreign step, the step works on a copy.
// Where the build may have to abandon a step, the step runs in its own goroutine:
//
//	          alone, on_error raise  alone, on_error skip  alone, with a timeout  in a group
//	isolated  list                   list                  list                   list
//	adapted   list                   list                  list, goroutine        list, goroutine
//	foreign   list                   copy                  copy, goroutine        copy, goroutine
//
// The build lends an isolated step that is a [listWriter] memory for its answer, see itemList.
type access uint8

const (
	isolatedAccess access = iota // the step keeps the promise of [Isolated]
	adaptedAccess                // an adapter whose parts do not receive the items
	foreignAccess
)

func accessOf(s Step) access {
	if isolated(s) {
		return isolatedAccess
	}
	if a, ok := s.(adapter); ok && !a.showsItems() {
		return adaptedAccess
	}
	return foreignAccess
}

// step is a configured step and what the build needs to know about it.
type step struct {
	StepConfig
	appender Appender   // nil if the step is not an Appender
	writer   listWriter // nil if the step is not a listWriter
	access   access
	module   explain.ModuleInfo
	group    int // on the first step of a group: how many steps run at the same time
}

// leaves reports whether the build may have to continue before the step has ended.
func (st *step) leaves(grouped bool) bool {
	return st.access != isolatedAccess && (grouped || st.Timeout > 0)
}

// copies reports whether the step receives a deep copy of the items.
func (st *step) copies(grouped bool) bool {
	return st.access == foreignAccess && (st.leaves(grouped) || st.OnError == Skip)
}

// keeps reports whether the step, when it runs alone, receives the list of the build itself
// and may go on reading it after it has returned or was abandoned. An adapted appender does
// neither, because it ignores the list.
func (st *step) keeps() bool {
	switch st.access {
	case foreignAccess:
		return !st.copies(false)
	case adaptedAccess:
		return st.appender == nil && st.leaves(false)
	}
	return false
}

// itemList owns the items of a build. It has the list that holds the items, and two lists
// that steps write into alternately. The items are in one of the two, or in a list that
// other code has made. The build lends a list without items to the next step. Without this
// reuse, a program that builds thousands of windows would spend most of its garbage
// collection on lists.
//
//	              lend                    take
//	spare list ─────────▶ listWriter ─────────▶ the items lie in it, the other is spare
//	                                  giveUp
//	a list that a step may keep ──────────────▶ is never lent again
//
// Only a [listWriter] borrows lists, because it keeps none.
type itemList struct {
	items []Item
	// frozen means that nobody changes the items, or their list, from now on.
	frozen bool
	// recorded means that the build lends no list, because its recorder refers to all of them.
	recorded bool

	room [2][]Item // each as long as the part that may have been written
	in   int       // 1 or 2: the list that may hold the items; 0: neither does
}

// freeze moves the items into a list of the build's own, unless nobody can change them.
func (l *itemList) freeze() {
	if !l.frozen {
		l.items, l.frozen = slices.Clone(l.items), true
	}
}

// show notes that a group of steps is about to receive the items. It is called before they run.
func (l *itemList) show(group []step) {
	for i := range group {
		if group[i].access == foreignAccess {
			l.frozen = false
		}
	}
	if len(group) == 1 && group[0].keeps() {
		l.giveUp()
	}
}

// replace makes items the items of the build. The step st has returned them, or they were
// put together from the items before it and those that it adds.
func (l *itemList) replace(st *step, items []Item) {
	switch {
	case st.appender != nil && !sameList(items, l.items):
		l.frozen = len(l.items) > 0 // appending to a list with items copies it
	case st.access == foreignAccess:
		l.frozen = false
	}
	l.items = items
}

// appended returns the items followed by those that a step adds. They share a lent list if
// the steps that did not run yet (next) cannot keep it. The steps of a group get a new list,
// because some of them read the items while others are merged already.
func (l *itemList) appended(st *step, more []Item, next []step) []Item {
	keeps := func(st step) bool { return st.keeps() }
	if st.group != 1 || len(l.items) == 0 || l.recorded || slices.ContainsFunc(next, keeps) {
		return appendItems(l.items, more)
	}
	out := append(append(l.lend(len(l.items)+len(more)), l.items...), more...)
	l.take(out)
	return out
}

// next returns the index of the list that does not hold the items of the build.
func (l *itemList) next() int {
	if l.in == 1 {
		return 1
	}
	return 0
}

// lend returns an empty list with room for n items or more. It returns nil if the list would
// be too long to keep.
func (l *itemList) lend(n int) []Item {
	if n > values.LongestKept {
		return nil
	}
	room := &l.room[l.next()]
	if n > cap(*room) {
		*room = make([]Item, 0, n+n/4)
	}
	return (*room)[:0]
}

// take ends a loan. items are those of the build from now on, whichever list holds them, or
// nil after a failure. take notes whether they are in the lent list.
func (l *itemList) take(items []Item) {
	i := l.next()
	whole := l.room[i][:cap(l.room[i])]
	switch {
	case len(whole) == 0:
	case len(items) > 0 && &items[0] == &whole[0]:
		l.room[i] = whole[:max(len(l.room[i]), len(items))]
		l.in = i + 1
	case len(items) > 0 && last(items) == last(whole): // the step dropped the beginning of the list
		l.room[i], l.in = whole, i+1
	case whole[0].ID != "" || whole[0].Content != "":
		l.room[i] = whole // the step wrote items and dropped them: release clears the whole list
	}
}

// last returns the last place of the memory behind items. Two parts of one list have the same.
func last(items []Item) *Item { return &items[:cap(items)][cap(items)-1] }

// giveUp stops reusing the list that holds the items, because the code that receives it next
// may keep it.
func (l *itemList) giveUp() {
	if l.in > 0 {
		l.room[l.in-1], l.in = nil, 0
	}
}

// release clears the lists and makes them ready for another build.
func (l *itemList) release() {
	for i := range l.room {
		clear(l.room[i])
		l.room[i] = l.room[i][:0]
	}
	*l = itemList{room: l.room}
}

// sameList reports whether a step returned the list it was given.
func sameList(a, b []Item) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// appendItems appends without writing into memory behind the end of items, because items
// may be the beginning of a longer list that other code uses.
func appendItems(items, more []Item) []Item {
	if len(items) == 0 {
		return more
	}
	return append(items[:len(items):len(items)], more...)
}
