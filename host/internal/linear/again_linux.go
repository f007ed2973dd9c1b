//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

// nearMost is the most that is copied of an image for one memory, in bytes.
const nearMost = 64 << 10

// again puts back the parts of mem that were found last, and reports whether they are
// known. It does so from a copy that this memory alone reads: to read what another
// processor reads at the same time takes a little longer.
func (m *Memory) again(mem []byte) bool {
	t, base := m.track, address(mem)
	if t.known == nil {
		return false
	}
	if t.source == nil {
		t.source = m.image
		if m.copyKnown(base) {
			t.source = &t.own
		}
	}
	for _, r := range t.known {
		t.source.restore(mem, int(r.start-base), int(r.end-base))
	}
	return true
}

// copyKnown copies what the image holds in the known parts of the memory at base, and
// reports whether there was room.
func (m *Memory) copyKnown(base uint64) bool {
	t, size := m.track, 0
	t.own.size, t.own.runs = m.image.size, t.own.runs[:0]
	for _, k := range t.known {
		from, to := int(k.start-base), int(k.end-base)
		for _, r := range m.image.after(from) {
			if r.at >= to {
				break
			}
			r = r.clip(from, to)
			t.own.runs = append(t.own.runs, r)
			if size += len(r.bytes); size > nearMost {
				return false
			}
		}
	}
	if !m.makeNear(size) {
		return false
	}
	at := 0
	for i := range t.own.runs {
		r := &t.own.runs[i]
		n := copy(m.near[at:], r.bytes)
		r.bytes = m.near[at : at+n]
		at += n
	}
	return true
}

// makeNear makes room for n bytes.
func (m *Memory) makeNear(n int) bool {
	more := n - len(m.near)
	if more <= 0 {
		return true
	}
	if !m.account(int64(more)) {
		return false
	}
	m.near = make([]byte, n)
	return true
}
