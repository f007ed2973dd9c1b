package linear

// holding is what is accounted for a memory, in bytes.
type holding struct {
	// grown is the largest size it had, but for what it shares: what was touched stays
	// with the process when it shrinks.
	grown int64
	// shared is the size of the image that it shares with others, 0 if it does not, and
	// own what is its own of it.
	shared int
	own    int64
	// expects says that the memory is about to be taken to have as much of its own as any
	// other of the image was found to have.
	expects bool
}

func (h holding) total() int64 { return h.grown + h.own }

// hold makes sure that a size of n bytes is accounted for.
func (m *Memory) hold(n int64) bool {
	h := m.held
	if h.expects && h.shared > 0 {
		h.own = max(h.own, m.image.own.Load())
	}
	h.expects = false
	h.grown = max(h.grown, n-int64(h.shared))
	if !m.settle(h) {
		m.Refused = true
		return false
	}
	return true
}

// Expect has the memory counted from its beginning for as much of a shared image as any
// other memory of it was found to have of its own.
func (m *Memory) Expect() { m.held.expects = true }

// settle accounts for h in place of what is held, and reports whether there was room.
func (m *Memory) settle(h holding) bool {
	if delta := h.total() - m.held.total(); delta != 0 && !m.account(delta) {
		return false
	}
	m.held = h
	return true
}

// share gives back what is held of an image that is mapped now.
func (m *Memory) share(im *Image) {
	h := holding{grown: max(0, m.held.grown-int64(im.size)), shared: im.size, expects: m.held.expects}
	m.settle(h) // it is not more than before
}

// owns accounts for n bytes of the image that were found to be the memory's own, and
// reports whether there was room. That is found only after they were written: see Expect.
func (m *Memory) owns(n int64) bool {
	h := m.held
	if n <= h.own || h.shared == 0 {
		return true
	}
	for most := m.image.own.Load(); n > most && !m.image.own.CompareAndSwap(most, n); {
		most = m.image.own.Load()
	}
	h.own = n
	return m.settle(h)
}
