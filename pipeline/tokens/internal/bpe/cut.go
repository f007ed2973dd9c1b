package bpe

// exactLen is the length in bytes up to which every cut of a piece is tried.
const exactLen = 128

// cut returns the longest prefix of s with at most limit tokens, when the
// current piece, which ends at end, is the first to exceed limit.
//
// No prefix beyond it fits: the pieces up to it are cut as before, with one
// exception. \s+(?!\S) leaves the last character of a run of whitespace to the
// next piece, but if the text ends behind that character it does not, and the
// longer run may have fewer tokens.
func (c *counter) cut(end, limit int) int {
	start := c.recent[2].start
	p := end
	if end-start > exactLen {
		p = c.cutLong(start, end, limit)
		if first := c.after(start); p == start && c.upTo(first) <= limit {
			p = first // whitespace in front of a word may join what is before it
		}
	} else {
		// The whole piece fits after all if it is the whitespace left to it.
		for p > start && c.upTo(p) > limit {
			p = c.boundary(p)
		}
	}
	if end < len(c.s) {
		if next := c.after(end); c.spaceAt(end) && c.upTo(next) <= limit {
			return next
		}
	}
	if p == start && start > 0 && c.upTo(p) > limit {
		// The whitespace before the piece has become one run, of more tokens.
		return c.recent[1].start
	}
	return p
}

// cutLong is cut for a long piece, s[start:end]. Trying every prefix would be
// slow; instead the prefix is the longest that fits when it is merged as one
// piece, and only if the pattern cuts it differently is it counted and perhaps
// shortened.
func (c *counter) cutLong(start, end, limit int) int {
	p, room := c.s[start:end], limit-c.recent[2].before
	n := c.fits
	if len(p) <= windowLen {
		n = c.reach(&c.cursor, p, room)
	}
	for n > 0 && !c.stopped && (isContinuation(p[n]) || c.prefix(&c.cursor, p, n) > room) {
		n--
	}
	if n == 0 || c.nextBefore(start, start+n) == start+n {
		return start + n
	}
	for step := 1; n > 0 && !c.stopped && c.upTo(start+n) > limit; step *= 2 {
		n = max(0, c.boundary(start+max(1, n-step+1))-start)
	}
	return start + n
}

// nextBefore is next for the text s[:end].
func (c *counter) nextBefore(i, end int) int {
	whole := c.s
	c.s = whole[:end]
	j := c.next(&c.cursor, i)
	c.s = whole
	return j
}

// boundary returns the last character boundary of s before p.
func (c *counter) boundary(p int) int {
	for p--; p > 0 && p < len(c.s) && isContinuation(c.s[p]); p-- {
	}
	return p
}

// after returns the end of the character of s that starts at p.
func (c *counter) after(p int) int {
	_, w := c.classes.at(c.s, p)
	return p + w
}

// spaceAt reports whether the character of s that starts at p is whitespace.
func (c *counter) spaceAt(p int) bool {
	class, _ := c.classes.at(c.s, p)
	return class&isSpace != 0
}

// upTo returns the number of tokens of s[:p], where p is not before the start
// of the current piece. It counts from the last piece that starts before p, or
// the one before that if all it would count is a whitespace character that a run
// of whitespace has left there.
func (c *counter) upTo(p int) int {
	k := 2
	for k > 0 && c.recent[k].start >= p {
		k--
	}
	if start := c.recent[k].start; k > 0 && start > 0 {
		if c.after(start) == p && c.spaceAt(start) && c.spaceAt(c.boundary(start)) {
			k--
		}
	}
	n := c.recent[k].before
	for i := c.recent[k].start; i < p; {
		j := c.nextBefore(i, p)
		n += c.tokens(i, j, len(c.s))
		i = j
	}
	return n
}
