package pipeline

import "github.com/anchor-host/anchor-host/pipeline/internal/values"

// lists are two lists that the steps of a build write into in turns: the items of the
// build lie in one of them, and the next step is lent the other. Where builds run by the
// thousand, making lists is most of what the garbage collector has to do.
//
// They are lent to a [ListWriter] only, which keeps nothing. One that other code gets to
// see, which may keep it, is given up.
type lists struct {
	room [2][]Item // each as long as what may have been written in it
	in   int       // the one that the items of the build may lie in, plus one; 0 for neither
}

// next is the list that the items of the build do not lie in.
func (l *lists) next() int {
	if l.in == 1 {
		return 1
	}
	return 0
}

// spare returns an empty list with room for n items or more. Lists that are too long to
// be kept have none.
func (l *lists) spare(n int) []Item {
	if n > values.LongestKept {
		return nil
	}
	room := &l.room[l.next()]
	if n > cap(*room) {
		*room = make([]Item, 0, n+n/4)
	}
	return (*room)[:0]
}

// filled is told what became of the spare list: items are those of the build from now
// on, wherever they lie, or nil after a failure.
func (l *lists) filled(items []Item) {
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

// shown is told that code that may keep the items of the build is given them.
func (l *lists) shown() {
	if l.in > 0 {
		l.room[l.in-1], l.in = nil, 0
	}
}

// release makes the lists ready for another build: no item outlives its own.
func (l *lists) release() {
	for i := range l.room {
		clear(l.room[i])
		l.room[i] = l.room[i][:0]
	}
	l.in = 0
}
