package bpe

import (
	"strings"
	"unicode/utf8"
)

// validBytes is how much text is checked for valid UTF-8 at a time.
const validBytes = 4 << 10

// counter is the state of one call: its position in the text, and buffers that the next call
// reuses.
type counter struct {
	cursor
	merger
	next func(c *cursor, i int) int

	// recent are the last three pieces, the current one last.
	recent [3]piece
	valid  int // s[:valid] is valid UTF-8

	// text is the argument of the caller. s is text, or a repaired copy of
	// text[repaired:].
	text     string
	repaired int
}

// piece is one piece of the text: its start in s, and the number of tokens before it.
type piece struct{ start, before int }

func newCounter(v *vocab, next func(c *cursor, i int) int) *counter {
	return &counter{cursor: cursor{classes: classes()}, merger: merger{vocab: v}, next: next}
}

// reset prepares the counter for a text.
func (c *counter) reset(done <-chan struct{}, text string) {
	c.s, c.done, c.stopped = text, done, false
	c.recent, c.valid = [3]piece{}, 0
	c.text, c.repaired = text, -1
}

// walk counts pieces until the text ends or there are more than limit tokens. It returns the
// tokens of all pieces including the last one, or a number above limit, and the end of the
// last piece in s.
func (c *counter) walk(limit int) (n, end int, exceeded bool) {
	if c.poll() {
		return 0, 0, false
	}
	for i, poll := 0, pollBytes; i < len(c.s); i = end {
		c.recent[0], c.recent[1], c.recent[2] = c.recent[1], c.recent[2], piece{i, n}
		end = c.next(&c.cursor, i)
		if end > c.valid && !c.validate(end) {
			if c.repair(); c.stopped {
				return 0, 0, false
			}
			i, poll = c.recent[2].start, 0
			end = c.next(&c.cursor, i)
		}
		n += c.tokens(i, end, limit-n)
		if n > limit || end >= poll && c.poll() {
			return n, end, n > limit && !c.stopped
		}
		if end >= poll {
			poll = end + pollBytes
		}
	}
	return n, end, false
}

// tokens returns the number of tokens of the piece s[i:j], or a number above room if there
// are more than room.
func (c *counter) tokens(i, j, room int) int {
	if j-i == 1 || c.vocab.rank(c.s, i, j) != none {
		return 1
	}
	if j-i <= windowLen {
		return c.merge(&c.cursor, c.s[i:j])
	}
	return c.long(&c.cursor, c.s[i:j], room)
}

// validate reports whether s is valid UTF-8 at least up to end, and updates valid. It checks
// some text beyond end as well, so that most pieces need no call.
func (c *counter) validate(end int) bool {
	for c.valid < end {
		to := min(len(c.s), max(end, c.valid+validBytes))
		// Do not cut a character that continues in the next chunk. If no character begins
		// within three bytes, the text is not valid anyway.
		for back := 0; back < utf8.UTFMax-1 && to < len(c.s) && isContinuation(c.s[to]); back++ {
			to--
		}
		if !utf8.ValidString(c.s[c.valid:to]) {
			return false
		}
		c.valid = to
	}
	return true
}

// repair replaces s by a copy of its rest with U+FFFD for every byte outside of valid UTF-8.
// The copy starts with the recent pieces, because cut may need them.
func (c *counter) repair() {
	from := c.recent[0].start
	rest := c.s[from:]
	var b strings.Builder
	b.Grow(len(rest) + len(rest)/8)
	poll := pollBytes
	for i, r := range rest {
		if i >= poll {
			if poll = i + pollBytes; c.poll() {
				break
			}
		}
		b.WriteRune(r)
	}
	c.s, c.repaired = b.String(), from
	c.valid = len(c.s)
	for i := range c.recent {
		c.recent[i].start -= from
	}
}

// original converts the position p in s to a position in the text.
func (c *counter) original(p int) int {
	if c.repaired < 0 {
		return p
	}
	for i, r := range c.text[c.repaired:] {
		if p <= 0 {
			return c.repaired + i
		}
		p -= utf8.RuneLen(r)
	}
	return len(c.text)
}
