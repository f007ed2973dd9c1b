package bpe

import "sort"

// A piece longer than a window is merged window by window. The time is then linear and the
// buffers are small, whatever the length of the piece. The result is exact because of two
// facts about merging the pair of lowest rank first:
//
//  1. If no merge crosses a position, merging each side alone gives the same parts. So the
//     first tokens of a text are the tokens of the text that they cover.
//  2. If the tokens of a end in u, those of b start with v, and merging u and v joined gives
//     u and v again, then the tokens of ab are those of a followed by those of b. Proof:
//     consider the first merge that crosses the boundary between a and b. Up to that
//     moment both sides merged as if alone. So did u and v joined, which would now make
//     the same merge.
//
// By 1, the tokens of a window are final up to any point where they are the tokens of the
// text up to there. By 2, the next window is joined.

const (
	// windowLen is the length of a window in bytes.
	windowLen = 1 << 10
	// overlapShare is the share of a window, at its end, that is merged again with the
	// next window, because the text after it may change its tokens: 1/overlapShare.
	overlapShare = 8
)

// long returns the number of tokens of p, or a number above room if there are more than
// room. It reads no more of p than necessary. It sets m.fits to the result of reach.
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

// settle finds the tokens of p, or of a prefix of p that is well longer than the first room
// tokens, and puts their ends into m.ends. It returns the number of bytes that it has read.
// When c has stopped, the ends are meaningless.
func (m *merger) settle(c *cursor, p string, room int) int {
	for window := windowLen; ; window *= 4 {
		if read := m.settleBy(c, p, room, window); read > 0 {
			return read
		}
	}
}

// settleBy is settle with windows of one length. It returns 0 when two windows could not be
// joined, or when a window had no final tokens; only a longer window helps then. A window
// as long as p need not be joined.
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

// joins reports whether token k of m.ends, and a token from its end to the position end,
// remain two tokens when they are merged together.
func (m *merger) joins(c *cursor, p string, k, end int) bool {
	start := m.start(k)
	return m.merge(c, p[start:end]) == 2 && start+int(m.pos[1]) == m.ends[k]
}

// start returns the start of token k of m.ends, which is the end of the token before it.
func (m *merger) start(k int) int {
	if k == 0 {
		return 0
	}
	return m.ends[k-1]
}

// extend returns the length in bytes of the longest prefix of p that merges to at most room
// tokens. Call it when the settled prefix has more.
//
// The first room tokens are such a prefix, but it may not be the longest: "ab|cd" can have
// two tokens and "abc" one. By fact 1, each end of a token of a prefix is the end of a
// shorter prefix with fewer tokens. So the distance from one prefix that fits to the next is
// at most the length of a token. If none follows within that distance, there is none at all.
func (m *merger) extend(c *cursor, p string, room int) int {
	fits := m.start(room)
	for n := fits + 1; n <= min(len(p), fits+m.longest()) && !c.stopped; n++ {
		if m.prefix(c, p, n) <= room {
			fits = n
		}
	}
	return fits
}

// prefix returns the number of tokens that p[:n] merges to. It takes the settled tokens up
// to a point shortly before n and joins the rest by fact 2.
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

// longest returns the largest length of a token in bytes.
func (m *merger) longest() int {
	if m.pairs != nil {
		return m.pairs.maxLen
	}
	return m.vocab.maxLen
}
