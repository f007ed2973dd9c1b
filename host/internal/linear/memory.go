package linear

import (
	"github.com/anchor-host/anchor-host/internal/rlimit"
)

// PageSize is the unit in which memories grow, in bytes.
const PageSize = 64 << 10

// Memory is one linear memory. It belongs to one goroutine at a time. Everything
// beyond its current size is zero.
type Memory struct {
	limit   uint64
	account func(delta int64) bool
	// mapped is the reservation, nil where the memory is an ordinary slice.
	mapped []byte
	buf    []byte
	// held is what is accounted for the size, see account.go.
	held holding
	// image is what the beginning of the reservation maps, nil if nothing. resets
	// counts how often it was put back, track follows the writes since.
	image  *Image
	resets int
	track  *track
	// near is room for a copy of parts of the image, accounted for.
	near []byte
	// Refused notes that growth was refused since the flag was last cleared.
	Refused bool
}

// New makes a memory of at most limit bytes. account is told of every byte taken,
// which it may refuse, and given back (negative), which it may not.
func New(limit uint64, account func(delta int64) bool) *Memory {
	m := &Memory{limit: limit, account: account}
	if b, err := reserve(limit); err == nil {
		m.mapped = b
	}
	return m
}

// NewForeign makes the account of a memory that is wazero's own and is not given
// to it. What is refused must be prevented by other means; see [Memory.Observe].
func NewForeign(account func(delta int64) bool) *Memory {
	return &Memory{account: account}
}

// Observe accounts for the size a foreign memory was seen to have, and reports
// whether there was room for it.
func (m *Memory) Observe(size uint64) bool { return m.hold(int64(size)) }

// NewFrom is like New for a memory that is to become im. filled says that it
// maps the image copy-on-write and so holds its content already; if not, it is all
// zeros. shared is that of Map.
func NewFrom(im *Image, limit uint64, account func(delta int64) bool, shared bool) (m *Memory, filled bool) {
	m = New(limit, account)
	return m, m.Map(im, shared)
}

// Map makes the memory map an image copy-on-write from its first byte, and
// reports whether it does; if not, the memory is as it was. What lies beyond the
// image stays. shared says that of the image is accounted for only what a Restore finds
// to be the memory's own; one must follow each use then.
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

// Restore puts the image back into the memory, of which content is all, at least
// the size of the image, and zeroes the rest. A memory that maps the image is
// asked which of its pages were written, where the system knows; elsewhere all of
// it is compared. quiet says that all that wrote to the memory since the last Restore
// did so while a [Watch] was on that saw no fault. It reports whether there was room for
// what the memory has of its own; if not, it must be freed.
func (m *Memory) Restore(im *Image, content []byte, quiet bool) bool {
	if m.image == im && m.mapped != nil {
		if own, ok := m.restoreOwn(content, quiet); ok {
			return m.owns(own)
		}
	}
	im.Restore(content)
	return m.owns(int64(m.held.shared))
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

// reallocate moves a slice to a larger one.
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
	if n := m.held.total() + int64(len(m.near)); n > 0 {
		m.account(-n)
	}
	if m.mapped != nil {
		release(m.mapped)
	}
	m.mapped, m.buf, m.near, m.held, m.limit, m.image, m.track = nil, nil, nil, holding{}, 0, nil, nil
}
