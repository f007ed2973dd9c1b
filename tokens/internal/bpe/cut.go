package bpe

// exactLen is the largest length in bytes of a piece for which cut tries every prefix.
const exactLen = 128

// cut returns the longest prefix of s with at most limit tokens. The current piece, which
// ends at end, is the first that exceeds limit.
//
// No prefix beyond it fits. The pieces before it are cut as in the whole text, with one
// exception. \s+(?!\S) leaves the last character of a run of whitespace to the next piece.
// If the text ends after that character, the run keeps it, and the longer run may have
// fewer tokens.
func (c *counter) cut(end, limit int) int {
	start := c.recent[2].start
	p := end
	if end-start > exactLen {
		p = c.cutLong(start, end, limit)
		if first := c.after(start); p == start && c.upTo(first) <= limit {
			p = first // whitespace in front of a word may join what is before it
		}
	} else {
		// Try the whole piece first: it fits if it is whitespace that joins the run before it.
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
		// The whitespace before the piece is now one run, which has more tokens.
		return c.recent[1].start
	}
	return p
}

// cutLong cuts a long piece, s[start:end]. Trying every prefix would be slow. Instead it
// takes the longest prefix that fits when it is merged as one piece. Only if the pattern
// cuts that prefix differently does it count the prefix, and shorten it if necessary.
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

// nextBefore returns what next would return if the text ended at end.
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

// upTo returns the number of tokens of s[:p]. p must not be before the start of the current
// piece. It counts from the last piece that starts before p. If it would then count only the
// whitespace character that a run of whitespace has left there, it counts from the piece
// before that one.
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
