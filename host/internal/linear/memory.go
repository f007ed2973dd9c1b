package linear

import "github.com/anchor-host/anchor-host/internal/rlimit"

// Memory is one linear memory. One goroutine owns it at a time. Everything beyond its
// current size is zero.
type Memory struct {
	limit   uint64
	account func(delta int64) bool
	// mapped is the reservation, nil where the memory is an ordinary slice.
	mapped []byte
	buf    []byte
	// held is what was charged for the memory.
	held charges
	// image is what the beginning of the reservation maps, nil if it maps none. resets
	// counts the resets to it. track is nil until writes are tracked.
	image  *Image
	resets int
	track  *track
	// Refused says that growth was refused since the caller last cleared the field.
	Refused bool
}

// New makes a memory of at most limit bytes. account is called with the number of bytes
// that the memory takes, which it may refuse, or gives back (negative), which it may not.
func New(limit uint64, account func(delta int64) bool) *Memory {
	m := &Memory{limit: limit, account: account}
	if b, err := reserve(limit); err == nil {
		m.mapped = b
	}
	return m
}

// NewForeign accounts for a memory that wazero allocated itself; see [Memory.Observe].
// It cannot stop that memory from growing.
func NewForeign(account func(delta int64) bool) *Memory {
	return &Memory{account: account}
}

// Observe accounts for the size a foreign memory was seen to have, and reports
// whether there was room for it.
func (m *Memory) Observe(size uint64) bool { return m.hold(int64(size)) }

// NewFrom is like New for a memory that starts as im. filled says that it maps the image
// copy-on-write and so has its content; if not, it is all zeros. shared is as in Map.
func NewFrom(im *Image, limit uint64, account func(delta int64) bool, shared bool) (m *Memory, filled bool) {
	m = New(limit, account)
	return m, m.Map(im, shared)
}

// Map makes the memory map an image copy-on-write from its first byte, and reports
// whether it does; if not, the memory is as it was. The content beyond the image stays.
// With shared the memory is charged only for its private copies of the image's pages.
// Restore counts them, so it must follow each use then.
func (m *Memory) Map(im *Image, shared bool) bool {
	if im.file == nil || im.size == 0 || len(m.mapped) < im.size || im.file.mapOver(m.mapped, im.size) != nil {
		return false
	}
	m.image, m.resets, m.track = im, 0, nil
	if shared && Finds() != Compares {
		m.share(im)
	}
	return true
}

// Restore resets the memory to the image and zeroes the rest. content is the whole
// memory, at least as large as the image. Where the memory maps the image and the system
// knows which pages may differ, only those are compared. Restore reports whether there
// was room for the memory's private copies; if not, the memory must be freed.
func (m *Memory) Restore(im *Image, content []byte) bool {
	if m.image == im && m.mapped != nil {
		if private, ok := m.restoreMapped(content); ok {
			return m.chargePrivate(private)
		}
	}
	im.Restore(content)
	return m.chargePrivate(int64(m.held.shared))
}

// Reallocate makes the memory of a size and returns all of it. nil makes memory.grow fail.
func (m *Memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.Refused = true
		return nil
	}
	if m.mapped != nil {
		if !m.hold(int64(size)) {
			return nil
		}
		m.buf = m.mapped[:size]
		return m.buf
	}
	if size <= uint64(cap(m.buf)) {
		m.buf = m.buf[:size]
		return m.buf
	}
	return m.reallocate(size)
}

// reallocate copies the memory into a larger slice.
func (m *Memory) reallocate(size uint64) []byte {
	capacity := min(max(size, 2*uint64(cap(m.buf))), m.limit)
	if !rlimit.Room(capacity+rlimit.ForNext) || !m.hold(int64(capacity)) {
		capacity = size
		if !rlimit.Room(capacity + rlimit.ForNext) {
			m.Refused = true
			return nil
		}
		if !m.hold(int64(capacity)) {
			return nil
		}
		m.Refused = false
	}
	buf := make([]byte, size, capacity)
	copy(buf, m.buf)
	m.buf = buf
	return buf
}

// Free gives the memory back. Every view of the memory is invalid
// afterwards, even to read.
func (m *Memory) Free() {
	if n := m.held.total(); n > 0 {
		m.account(-n)
	}
	if m.mapped != nil {
		release(m.mapped)
	}
	m.mapped, m.buf, m.held, m.limit, m.image, m.track = nil, nil, charges{}, 0, nil, nil
}

// charges is what a memory is charged to its account for, in bytes.
type charges struct {
	// grown is the largest size the memory had, without the shared image. Shrinking
	// does not lower it: pages that were touched stay with the process.
	grown int64
	// shared is the size of the image that the memory shares with others, 0 if it
	// shares none. The image itself is not charged to the memory.
	shared int
	// private is how much of the shared image the memory holds private copies of.
	private int64
	// expects says that the next charge includes as many private copies as any other
	// memory of the image was found to have.
	expects bool
}

func (c charges) total() int64 { return c.grown + c.private }

// Shares reports whether memories share images on this system.
func Shares() bool {
	im := Capture(make([]byte, PageSize))
	defer im.Free()
	m, filled := NewFrom(im, PageSize, func(int64) bool { return true }, false)
	m.Free()
	return filled
}

// Maps reports whether memories are reserved mappings on this system.
func Maps() bool {
	b, err := reserve(PageSize)
	if err != nil {
		return false
	}
	release(b)
	return true
}
