package bpe

import (
	"math"
)

// Run is the state of one count with listed merges or a known split pattern. Its buffers are
// reused, so a Run belongs to one call at a time.
type Run struct {
	cursor
	merger
}

// NewRun returns a run. Merges may be nil if only patterns are used.
func NewRun(m *Merges) *Run {
	return &Run{cursor: cursor{classes: classes()}, merger: merger{pairs: m}}
}

// Begin prepares the run for a call that ends when done is closed.
func (r *Run) Begin(done <-chan struct{}) { r.done, r.stopped = done, false }

// End drops what the call has left, and buffers that an unusual text has made large.
func (r *Run) End() {
	r.s, r.done = "", nil
	r.shrink()
}

// Poll reports whether the call has ended. All results since the last time are then void.
func (r *Run) Poll() bool { return r.stopped || r.poll() }

// Stopped reports whether a check has found that the call has ended.
func (r *Run) Stopped() bool { return r.stopped }

// Tokens returns the number of tokens of a piece of text. The time grows with its length, not
// with the square of it.
func (r *Run) Tokens(p string) int {
	switch {
	case p == "":
		return 0
	case len(p) <= windowLen:
		return r.merge(&r.cursor, p)
	}
	return r.long(&r.cursor, p, math.MaxInt)
}

// Ends appends the end of each token of a piece of text to ends.
func (r *Run) Ends(p string, ends []int) []int {
	switch {
	case p == "":
	case len(p) <= windowLen:
		n := r.merge(&r.cursor, p)
		for _, end := range r.pos[1 : n+1] {
			ends = append(ends, int(end))
		}
	default:
		r.long(&r.cursor, p, math.MaxInt)
		ends = append(ends, r.ends...)
	}
	return ends
}

// Next returns the end of the piece of text that starts at i, i < len(text).
func (r *Run) Next(p Pattern, text string, i int) int {
	r.s = text
	return p(&r.cursor, i)
}
