package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// access says whose code is given the items of a build when a step runs, and so who may
// read, change or keep them:
//
//	          reads them        may change them  may keep them   is given
//	isolated  a plugin's host   no               no              the list of the build
//	adapted   this package      no               while it runs   the list of the build
//	foreign   somebody's code   yes              yes             the list, or a deep copy
//
// Where the build must be able to go on without a foreign step, the step works on a copy;
// where it may have to leave a step behind, the step has a goroutine of its own:
//
//	          alone, on_error raise  alone, on_error skip  alone, with a timeout  beside others
//	isolated  list                   list                  list                   list
//	adapted   list                   list                  list, goroutine        list, goroutine
//	foreign   list                   copy                  copy, goroutine        copy, goroutine
//
// An isolated step that is a [listWriter] is lent memory for its answer, see itemList.
type access uint8

const (
	isolatedAccess access = iota // the step keeps the promise of [Isolated]
	adaptedAccess                // an adapter whose parts are not shown the items
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
	appender Appender   // nil for a step that is none
	writer   listWriter // nil for a step that is none
	access   access
	module   explain.ModuleInfo
	group    int // on the first of a group: how many run at the same time
}

// leaves reports whether the build may have to go on while the step still runs.
func (st *step) leaves(grouped bool) bool {
	return st.access != isolatedAccess && (grouped || st.Timeout > 0)
}

// copies reports whether the step is given a deep copy of the items.
func (st *step) copies(grouped bool) bool {
	return st.access == foreignAccess && (st.leaves(grouped) || st.OnError == Skip)
}

// keeps reports whether the step, run alone, is given the list of the build itself and may
// still read it when it has returned or was left behind. An appender is not given the
// list: the build adds to it.
func (st *step) keeps() bool {
	switch st.access {
	case foreignAccess:
		return !st.copies(false)
	case adaptedAccess:
		return st.appender == nil && st.leaves(false)
	}
	return false
}

// itemList owns the items of a build: the list that they lie in, and two lists that steps
// write into in turns. The items lie in one of the two, or elsewhere, and the next step is
// lent the other. Where builds run by the thousand, making lists is most of what the
// garbage collector has to do.
//
//	              lend                    take
//	spare list ─────────▶ listWriter ─────────▶ the items lie in it, the other is spare
//	                                  giveUp
//	a list that a step may keep ──────────────▶ is never lent again
//
// Lists are lent to a [listWriter] only, which keeps nothing.
type itemList struct {
	items []Item
	// frozen: nobody changes the items, or the list that they are in, from here on.
	frozen bool
	// recorded: lists are not lent, because a recorder refers to all of them.
	recorded bool

	room [2][]Item // each as long as what may have been written in it
	in   int       // the one that the items may lie in, plus one; 0 for neither
}

// freeze makes sure that nobody changes the items: in a list of the build's own.
func (l *itemList) freeze() {
	if !l.frozen {
		l.items, l.frozen = slices.Clone(l.items), true
	}
}

// show is called before steps run.
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

// replace takes the list that a step has returned, or that was made of what it adds.
func (l *itemList) replace(st *step, items []Item) {
	switch {
	case st.appender != nil && !sameList(items, l.items):
		l.frozen = len(l.items) > 0 // then it was copied
	case st.access == foreignAccess:
		l.frozen = false
	}
	l.items = items
}

// appended returns the items and those that a step adds, in a lent list if only writers
// come to see it; next are the steps that did not run yet. The steps of a group read the
// items while some are merged already.
func (l *itemList) appended(st *step, more []Item, next []step) []Item {
	keeps := func(st step) bool { return st.keeps() }
	if st.group != 1 || len(l.items) == 0 || l.recorded || slices.ContainsFunc(next, keeps) {
		return appendItems(l.items, more)
	}
	out := append(append(l.lend(len(l.items)+len(more)), l.items...), more...)
	l.take(out)
	return out
}

// next is the list that the items of the build do not lie in.
func (l *itemList) next() int {
	if l.in == 1 {
		return 1
	}
	return 0
}

// lend returns an empty list with room for n items or more. Lists that are too long to
// be kept have none.
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

// take is told what became of the spare list: items are those of the build from now
// on, wherever they lie, or nil after a failure.
func (l *itemList) take(items []Item) {
	i := l.next()
	whole := l.room[i][:cap(l.room[i])]
	switch {
	case len(whole) == 0:
	case len(items) > 0 && &items[0] == &whole[0]:
		l.room[i] = whole[:max(len(l.room[i]), len(items))]
		l.in = i + 1
	case len(items) > 0 && last(items) == last(whole): // without its beginning
		l.room[i], l.in = whole, i+1
	case whole[0].ID != "" || whole[0].Content != "":
		l.room[i] = whole // written for nothing, nobody knows how far
	}
}

// last is the last place of the memory behind items, which parts of a list share.
func last(items []Item) *Item { return &items[:cap(items)][cap(items)-1] }

// giveUp is called before code that may keep the items of the build is given them.
func (l *itemList) giveUp() {
	if l.in > 0 {
		l.room[l.in-1], l.in = nil, 0
	}
}

// release makes the lists ready for another build: no item outlives its own.
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

// appendItems appends without ever writing behind the end of items, which may be
// the beginning of somebody's longer list.
func appendItems(items, more []Item) []Item {
	if len(items) == 0 {
		return more
	}
	return append(items[:len(items):len(items)], more...)
}
