package linear

// hold charges for a size of n bytes and reports whether there was room.
func (m *Memory) hold(n int64) bool {
	c := m.held
	if c.expects && c.shared > 0 {
		c.private = max(c.private, m.image.mostPrivate.Load())
	}
	c.expects = false
	c.grown = max(c.grown, n-int64(c.shared))
	if !m.charge(c) {
		m.Refused = true
		return false
	}
	return true
}

// Expect charges the memory, when it gets its size, for as many private copies of a
// shared image as any other memory of that image was found to have.
func (m *Memory) Expect() { m.held.expects = true }

// charge replaces the charges by c and reports whether there was room.
func (m *Memory) charge(c charges) bool {
	if delta := c.total() - m.held.total(); delta != 0 && !m.account(delta) {
		return false
	}
	m.held = c
	return true
}

// share gives back what was charged for the part of the memory that now maps im.
func (m *Memory) share(im *Image) {
	m.charge(charges{ // it is not more than before, so it is not refused
		grown: max(0, m.held.grown-int64(im.size)), shared: im.size, expects: m.held.expects,
	})
}

// chargePrivate charges for n bytes of private copies of the image and reports whether
// there was room. A reset finds the copies only after the guest wrote them: see Expect.
func (m *Memory) chargePrivate(n int64) bool {
	c := m.held
	if n <= c.private || c.shared == 0 {
		return true
	}
	for most := m.image.mostPrivate.Load(); n > most && !m.image.mostPrivate.CompareAndSwap(most, n); {
		most = m.image.mostPrivate.Load()
	}
	c.private = n
	return m.charge(c)
}
