package pdf

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"unicode"
)

// What makes a line a running head or foot, or the number of a page.
const (
	fewestPages = 4 // of a file that may have some
	edgeLines   = 3 // at the top and at the bottom of a page that may be some
	repeats     = 3 // pages that have it
	farthest    = 4 // pages from one to the next
	maxNumbers  = 8 // in it, such as a version, a date and a time
	setApart    = 2 // sizes of the letters from the text
)

// chain is a line that repeats at the edge of pages. Its numbers stay or grow as the pages do.
type chain struct {
	first, lines int // the line that was first, and how many there are
	page         int // of the last one
	numbers      [maxNumbers]int
}

// heads marks the lines that repeat at the edges of pages as dropped. The first of them stays if it has letters, so that
// nothing is lost, and so do all lines of a page that has no others.
func (r *reader) heads() {
	if len(r.pages) < fewestPages {
		return
	}
	held := r.m.Held()
	of := r.chains()
	for _, p := range r.pages {
		sorted := r.fromTop(p)
		dropped := r.drop(of, sorted)
		slices.Reverse(sorted)
		dropped += r.drop(of, sorted)
		for at := p.first; at < p.end && dropped == p.end-p.first; at++ {
			r.lines[at].dropped = false
		}
	}
	r.m.Give(r.m.Held() - held)
}

// chains finds the lines at the edges of pages that repeat.
func (r *reader) chains() map[int]*chain {
	chains := map[uint64]*chain{}
	of := map[int]*chain{} // by line
	seed := maphash.MakeSeed()
	for i, p := range r.pages {
		at := r.fromTop(p)
		if len(at) > 2*edgeLines {
			at = slices.Delete(at, edgeLines, len(at)-edgeLines)
		}
		for _, at := range at {
			l := r.lines[at]
			key, numbers, ok := r.pattern(seed, r.out[l.from:l.to])
			if !ok || !r.m.Take(2*slotBytes+96) {
				continue
			}
			c := chains[key]
			if c == nil || i-c.page > farthest || i > c.page && !follows(c.numbers, numbers, i-c.page) {
				c = &chain{first: at}
				chains[key] = c
			}
			if c.page != i || c.lines == 0 {
				c.lines++
			}
			c.page, c.numbers = i, numbers
			of[at] = c
		}
	}
	return of
}

// drop drops the lines that repeat at one edge of a page, from the edge on, and returns how many. Those behind the first
// do only if they are set apart from the text: a table may go on there, with its header.
func (r *reader) drop(of map[int]*chain, sorted []int) int {
	most, n := 0, 0
	for i, at := range sorted[:min(len(sorted), edgeLines)] {
		if c := of[at]; c == nil || c.lines < repeats {
			break
		}
		if l := r.lines[at]; i == 0 || i+1 == len(sorted) || math.Abs(r.lines[sorted[i+1]].up-l.up) > setApart*l.size {
			most = i + 1
		}
	}
	for _, at := range sorted[:most] {
		if l := &r.lines[at]; !l.dropped && (at != of[at].first || !worded(r.out[l.from:l.to])) {
			l.dropped = true
			n++
		}
	}
	return n
}

// fromTop returns the lines of a page from top to bottom.
func (r *reader) fromTop(p pageLines) []int {
	var at []int
	for i := p.first; i < p.end; i++ {
		if !r.lines[i].turned {
			at = append(at, i)
		}
	}
	if !r.m.Work(32 * len(at)) {
		return nil
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(r.lines[b].up, r.lines[a].up) })
	return at
}

// pattern returns a key of a line without its numbers, and these.
func (r *reader) pattern(seed maphash.Seed, t []byte) (key uint64, numbers [maxNumbers]int, ok bool) {
	if len(t) > 200 {
		return 0, numbers, false
	}
	var rest []byte
	n := 0
	for i := 0; i < len(t); i++ {
		if t[i] < '0' || t[i] > '9' {
			rest = append(rest, t[i])
			continue
		}
		k := i
		for k < len(t) && t[k] >= '0' && t[k] <= '9' {
			k++
		}
		v, small := decimal(t[i:k])
		if n == maxNumbers || !small {
			return 0, numbers, false
		}
		numbers[n] = v
		rest, i, n = append(rest, '#'), k-1, n+1
	}
	if n == 0 && !worded(t) {
		return 0, numbers, false
	}
	var h maphash.Hash
	h.SetSeed(seed)
	words := bytes.Fields(rest)
	for i, w := range words {
		if (i == 0 || i == len(words)-1) && len(bytes.Trim(w, "ivxlc")) == 0 {
			w = []byte("i") // a Roman number
		}
		_, _ = h.Write(append(w[:len(w):len(w)], ' ')) // never fails
	}
	return h.Sum64(), numbers, true
}

// follows reports whether each number is as before, or grew as the pages did.
func follows(before, now [maxNumbers]int, pages int) bool {
	for i := range now {
		if now[i] != before[i] && now[i] != before[i]+pages {
			return false
		}
	}
	return true
}

// worded reports whether a line has a word besides Roman numbers.
func worded(t []byte) bool {
	return len(bytes.Trim(t, "ivxlc")) > 0 && bytes.ContainsFunc(t, unicode.IsLetter)
}
