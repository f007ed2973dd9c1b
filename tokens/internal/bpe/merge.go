package bpe

// scanLen is the largest length in bytes of a piece that is merged by scanning for the
// lowest rank. For longer pieces the heap is faster. It must not exceed 255.
const scanLen = 24

// merger performs byte-pair merges on one piece at a time. It starts with single bytes. Then
// it joins the adjacent pair whose join has the lowest rank, the leftmost among equals,
// until no join is a token. The remaining parts are the tokens of the piece.
//
// Its buffers are reused, so a merger belongs to one call at a time.
type merger struct {
	vocab *vocab
	// pairs replaces vocab when merges are listed pair by pair. symbols then has the tokens of
	// the parts.
	pairs   *Merges
	symbols []uint32
	// pos holds the starts of the parts after a merge. The length of the piece follows
	// the last start.
	pos        []int32
	ranks      []uint32
	next, prev []int32
	heap       []uint64
	// ends are the ends of the tokens of a long piece that are found so far, see long.go.
	ends []int
	fits int // longest prefix of the last long piece that fitted its room
}

// merge merges p and returns the number of parts, whose starts are in m.pos.
// p must not be empty.
func (m *merger) merge(c *cursor, p string) int {
	m.grow(len(p))
	if m.pairs != nil {
		return m.bySymbols(c, p)
	}
	if len(p) <= scanLen {
		return m.scan(p)
	}
	return m.byHeap(c, p)
}

// grow makes room for a piece of n bytes.
func (m *merger) grow(n int) {
	if len(m.pos) > n {
		return
	}
	n = max(n+1, 2*scanLen)
	m.pos, m.ranks = make([]int32, n), make([]uint32, n)
	m.next, m.prev = make([]int32, n), make([]int32, n)
	m.heap = make([]uint64, 0, n+n/2)
}

// keptLen is the largest length of a buffer that is kept between calls.
const keptLen = 32 << 10

// shrink drops buffers that an unusual text has made large.
func (m *merger) shrink() {
	if cap(m.pos) > keptLen {
		m.pos, m.ranks, m.next, m.prev, m.heap, m.symbols = nil, nil, nil, nil, nil, nil
	}
	if cap(m.ends) > keptLen {
		m.ends = nil
	}
}

// scan merges a short piece, in quadratic time.
func (m *merger) scan(p string) int {
	v := m.vocab
	n := len(p)
	pos, ranks := m.pos[:n+1], m.ranks[:n+1]
	for i := range n - 1 {
		pos[i] = int32(i)
		ranks[i] = v.pairs[uint(p[i])<<8|uint(p[i+1])]
	}
	pos[n-1], pos[n] = int32(n-1), int32(n)
	// From here on there are n parts; ranks[i] is the rank of part i joined with the next.
	// The search combines rank and index in one word, which avoids a branch.
	for n > 1 {
		lowest := uint64(none) << 8
		for i, r := range ranks[:n-1] {
			lowest = min(lowest, uint64(r)<<8|uint64(i))
		}
		if lowest>>8 == uint64(none) {
			break
		}
		at := int(uint8(lowest))
		n--
		copy(pos[at+1:n+1], pos[at+2:n+2])
		if at+1 < n {
			copy(ranks[at+1:n-1], ranks[at+2:n])
			ranks[at] = v.joined(p, int(pos[at]), int(pos[at+2]))
		}
		if at > 0 {
			ranks[at-1] = v.joined(p, int(pos[at-1]), int(pos[at+1]))
		}
	}
	return n
}

// byHeap merges a piece in O(n log n) time, with a linked list of parts and a binary heap of
// rank<<32|start. An entry is stale when the rank of its part has changed since; byHeap drops
// such an entry when it reaches the top. It checks the context from time to time. After a
// stop the parts are meaningless.
func (m *merger) byHeap(c *cursor, p string) int {
	v, n := m.vocab, int32(len(p))
	h := m.singles(p)
	next, prev, ranks := m.next[:n+1], m.prev[:n+1], m.ranks[:n+1]
	for step := 1; len(h) > 0; step++ {
		if step%pollMerges == 0 && c.poll() {
			break
		}
		i, r := int32(uint32(h[0])), uint32(h[0]>>32)
		if ranks[i] != r {
			h = popTop(h)
			continue
		}
		mid := next[i]
		end := next[mid]
		ranks[mid], ranks[i] = none, none
		next[i] = end
		if end < n {
			prev[end] = i
			ranks[i] = v.joined(p, int(i), int(next[end]))
		}
		if q := ranks[i]; q != none {
			h[0] = uint64(q)<<32 | uint64(i)
			siftDown(h, 0)
		} else {
			h = popTop(h)
		}
		if before := prev[i]; before >= 0 {
			q := v.joined(p, int(before), int(end))
			ranks[before] = q
			if q != none {
				h = siftUp(append(h, uint64(q)<<32|uint64(before)))
			}
		}
	}
	m.heap = h[:0]
	parts := 0
	for i := int32(0); i < n; i = next[i] {
		m.pos[parts] = i
		parts++
	}
	m.pos[parts] = n
	return parts
}

// singles makes every byte of p a part of its own and returns the heap of the
// pairs that are tokens.
func (m *merger) singles(p string) []uint64 {
	n := len(p)
	h := m.heap[:0]
	for i := range n {
		m.next[i], m.prev[i], m.ranks[i] = int32(i+1), int32(i-1), none
		if i+1 == n {
			break
		}
		if r := m.vocab.pairs[uint(p[i])<<8|uint(p[i+1])]; r != none {
			m.ranks[i] = r
			h = append(h, uint64(r)<<32|uint64(i))
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
	return h
}

// pollMerges is the number of heap steps between two checks of the context, about a
// millisecond.
const pollMerges = 8 << 10

// popTop removes the lowest entry from the heap.
func popTop(h []uint64) []uint64 {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	if last > 1 {
		siftDown(h, 0)
	}
	return h
}

// siftDown moves the entry at i down to its place.
func siftDown(h []uint64, i int) {
	x := h[i]
	for {
		child := 2*i + 1
		if child+1 >= len(h) {
			if child < len(h) && h[child] < x {
				h[i] = h[child]
				i = child
			}
			break
		}
		// Choose the lower of two children without a branch, which the processor could not
		// predict. Entries are below 2^63.
		child += int((h[child+1] - h[child]) >> 63)
		if h[child] >= x {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}

// siftUp moves the last entry up to its place.
func siftUp(h []uint64) []uint64 {
	i := len(h) - 1
	x := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent] <= x {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	return h
}

// bySymbols merges p by the listed pairs: the pair of lowest rank first, the leftmost among
// equals. Like byHeap it uses a linked list of parts and a heap in which some entries are stale.
func (m *merger) bySymbols(c *cursor, p string) int {
	if len(m.symbols) < len(m.pos) {
		m.symbols = make([]uint32, len(m.pos))
	}
	n := m.pairs.symbols(p, m.pos, m.symbols)
	if n <= 1 {
		m.pos[n] = int32(len(p))
		return n
	}
	if n <= scanLen {
		n = m.scanSymbols(n)
	} else {
		n = m.heapSymbols(c, int32(n))
	}
	m.pos[n] = int32(len(p))
	return n
}

// scanSymbols merges a few symbols, in quadratic time.
func (m *merger) scanSymbols(n int) int {
	pos, ids, ranks := m.pos, m.symbols, m.ranks
	for i := range n - 1 {
		ranks[i] = m.pairs.rank(ids[i], ids[i+1])
	}
	for n > 1 {
		lowest := uint64(none) << 8
		for i, r := range ranks[:n-1] {
			lowest = min(lowest, uint64(r)<<8|uint64(i))
		}
		rank := uint32(lowest >> 8)
		if rank == none {
			break
		}
		at := int(uint8(lowest))
		n--
		copy(pos[at+1:n], pos[at+2:n+1])
		copy(ids[at+1:n], ids[at+2:n+1])
		if at+1 < n {
			copy(ranks[at+1:n-1], ranks[at+2:n])
		}
		ids[at] = m.pairs.into[rank]
		if at+1 < n {
			ranks[at] = m.pairs.rank(ids[at], ids[at+1])
		}
		if at > 0 {
			ranks[at-1] = m.pairs.rank(ids[at-1], ids[at])
		}
	}
	return n
}

// heapSymbols merges n symbols in O(n log n) time. After a stop the parts are meaningless.
func (m *merger) heapSymbols(c *cursor, n int32) int {
	h := m.pairsOf(n)
	next, prev, ranks, ids := m.next[:n], m.prev[:n], m.ranks[:n], m.symbols[:n]
	for step := 1; len(h) > 0; step++ {
		if step%pollMerges == 0 && c.poll() {
			break
		}
		i, r := int32(uint32(h[0])), uint32(h[0]>>32)
		h = popTop(h)
		if ranks[i] != r {
			continue
		}
		mid := next[i]
		end := next[mid]
		ids[i], next[i] = m.pairs.into[r], end
		ranks[mid], ranks[i] = none, none
		if end < n {
			prev[end] = i
			if ranks[i] = m.pairs.rank(ids[i], ids[end]); ranks[i] != none {
				h = siftUp(append(h, uint64(ranks[i])<<32|uint64(i)))
			}
		}
		if before := prev[i]; before >= 0 {
			if ranks[before] = m.pairs.rank(ids[before], ids[i]); ranks[before] != none {
				h = siftUp(append(h, uint64(ranks[before])<<32|uint64(before)))
			}
		}
	}
	m.heap = h[:0]
	parts := 0
	for i := int32(0); i < n; i = next[i] {
		m.pos[parts] = m.pos[i]
		parts++
	}
	return parts
}

// pairsOf links n symbols and returns the heap of their pairs.
func (m *merger) pairsOf(n int32) []uint64 {
	next, prev, ranks, ids := m.next[:n], m.prev[:n], m.ranks[:n], m.symbols[:n]
	h := m.heap[:0]
	for i := range n {
		next[i], prev[i], ranks[i] = i+1, i-1, none
		if i+1 < n {
			if ranks[i] = m.pairs.rank(ids[i], ids[i+1]); ranks[i] != none {
				h = append(h, uint64(ranks[i])<<32|uint64(i))
			}
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
	return h
}
