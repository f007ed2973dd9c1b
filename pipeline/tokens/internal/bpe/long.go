package bpe

import "sort"

// A piece longer than a window is merged window by window. That keeps the work
// linear and the buffers small whatever the length of the piece, and it is
// exact, by two facts about merging lowest rank first:
//
//  1. If no merge crosses a position, the parts on each side are what merging
//     that side alone would give. So the first tokens of a text are the tokens
//     of the text they cover.
//  2. If the tokens of a end in u, those of b start with v, and u and v joined
//     merge to u and v again, then the tokens of ab are those of a and those of
//     b. For take the first merge that crosses the seam: until then both sides
//     merged as if alone, and so did u and v joined, which would now make the
//     same merge.
//
// By 1, the tokens of a window are settled up to any point of it as the tokens of
// the text up to there; by 2 the next window is joined on.

const (
	// windowLen is the length of a window in bytes.
	windowLen = 1 << 10
	// overlapShare is which part of a window, at its end, is merged again with
	// the next, because the text behind it may change its tokens.
	overlapShare = 8
	// keptLen is how many entries of a buffer are kept between calls.
	keptLen = 32 << 10
)

// long returns the number of tokens of p, or something above room if there are
// more than room. It reads no more of p than it takes to tell. In m.fits it
// leaves what reach would return.
func (m *merger) long(c *cursor, p string, room int) int {
	if m.settle(c, p, room) < len(p) {
		if m.fits = m.extend(c, p, room); m.fits < len(p) {
			return room + 1
		}
		m.settle(c, p, len(p))
	}
	m.fits = len(p)
	if len(m.ends) > room {
		m.fits = m.extend(c, p, room)
	}
	return len(m.ends)
}

// reach returns the length in bytes of the longest prefix of p that merges to
// at most room tokens.
func (m *merger) reach(c *cursor, p string, room int) int {
	if m.settle(c, p, room) == len(p) && len(m.ends) <= room {
		return len(p)
	}
	return m.extend(c, p, room)
}

// settle finds the tokens of p, or of a prefix of p that reaches well beyond
// the first room tokens, and leaves their ends in m.ends. It returns the length
// of what it has read. After a stop of c the ends are meaningless.
func (m *merger) settle(c *cursor, p string, room int) int {
	for window := windowLen; ; window *= 4 {
		if read := m.settleBy(c, p, room, window); read > 0 {
			return read
		}
	}
}

// settleBy is settle with windows of one length. It returns 0 when a seam did
// not hold, or a window settled nothing: then only a longer window helps. One
// as long as p has no seam.
func (m *merger) settleBy(c *cursor, p string, room, window int) int {
	m.ends = m.ends[:0]
	overlap := window / overlapShare
	for start := 0; ; {
		read := min(start+window, len(p))
		n := m.merge(c, p[start:read])
		if c.poll() {
			return len(p)
		}
		settled := len(m.ends)
		for _, end := range m.pos[1 : n+1] {
			m.ends = append(m.ends, start+int(end))
		}
		if settled > 0 && !m.joins(c, p, settled-1, m.ends[settled]) {
			return 0
		}
		if read == len(p) || len(m.ends) > room && m.ends[room]+overlap <= read {
			return read
		}
		keep := sort.Search(len(m.ends), func(i int) bool { return m.ends[i] > read-overlap })
		if keep <= settled {
			return 0
		}
		m.ends = m.ends[:keep]
		start = m.ends[keep-1]
	}
}

// joins reports whether token k of m.ends and a token that reaches from there to
// end stay two tokens when they are merged together.
func (m *merger) joins(c *cursor, p string, k, end int) bool {
	start := m.start(k)
	return m.merge(c, p[start:end]) == 2 && start+int(m.pos[1]) == m.ends[k]
}

// start returns where token k of m.ends starts, which is where the one before
// it ends.
func (m *merger) start(k int) int {
	if k == 0 {
		return 0
	}
	return m.ends[k-1]
}

// extend returns the length in bytes of the longest prefix of p that merges to
// at most room tokens, when the settled prefix has more.
//
// The end of the first room tokens is such a prefix but may not be the longest:
// "ab|cd" can have two tokens and "abc" one. By fact 1, where the tokens of a
// prefix end, shorter prefixes end that have fewer tokens. So from one prefix
// that fits to the next there is no more than the length of a token, and where
// none follows at that distance there is none at all.
func (m *merger) extend(c *cursor, p string, room int) int {
	fits := m.start(room)
	for n := fits + 1; n <= min(len(p), fits+m.vocab.maxLen) && !c.stopped; n++ {
		if m.prefix(c, p, n) <= room {
			fits = n
		}
	}
	return fits
}

// prefix returns the number of tokens p[:n] merges to. It takes the settled
// tokens up to shortly before n and joins the rest on, by fact 2.
func (m *merger) prefix(c *cursor, p string, n int) int {
	k := sort.Search(len(m.ends), func(i int) bool { return m.ends[i] > n })
	for back := 2; ; back *= 2 {
		keep := max(0, k-back)
		start := m.start(keep)
		parts := m.merge(c, p[start:n])
		if keep == 0 || c.stopped || m.joins(c, p, keep-1, start+int(m.pos[1])) {
			return keep + parts
		}
	}
}
