package host

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/anchor-host/anchor-host/abi"
)

// This file alone reads and writes the linear memory of guests. Addresses and
// lengths from guests are unsigned and checked on every use.

// view returns n bytes of the guest's memory at addr. It is valid until the
// memory grows, that is until the guest runs again.
func view(mem api.Memory, addr, n uint32) ([]byte, error) {
	b, ok := mem.Read(addr, n)
	if !ok {
		return nil, faultf(abi.ReasonInvalidOutput, "address %d, length %d lies outside the memory of %d bytes",
			addr, n, mem.Size())
	}
	return b, nil
}

// readMailbox reads the mailbox at addr anew and checks all its fields.
func readMailbox(mem api.Memory, addr uint32) (abi.Mailbox, error) {
	b, ok := mem.Read(addr, abi.MailboxSize)
	if !ok {
		return abi.Mailbox{}, faultf(abi.ReasonInvalidOutput, "mailbox at %d lies outside the memory of %d bytes", addr, mem.Size())
	}
	box, err := abi.DecodeMailbox(b)
	if err == nil {
		err = box.Check(uint64(mem.Size()))
	}
	if err != nil {
		return box, &fault{code: abi.ReasonInvalidOutput, err: err}
	}
	return box, nil
}

// linear is the linear memory of one instance: a slice that grows by doubling
// within the plugin's limit and the host's budget. wazero's own would grow by
// copying on every page and could not tell us when it refused.
type linear struct {
	buf    []byte
	limit  uint64
	budget *budget
	held   int64
	// refused notes that growth was refused since the flag was last cleared.
	refused bool
}

// withLinear returns a context under which InstantiateModule takes its memory
// from m.
func withLinear(ctx context.Context, m *linear) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return m }))
}

// Reallocate implements experimental.LinearMemory. nil makes memory.grow fail.
func (m *linear) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size <= uint64(cap(m.buf)) {
		m.buf = m.buf[:size]
		return m.buf
	}
	capacity := min(max(size, 2*uint64(cap(m.buf))), m.limit)
	if !m.budget.take(int64(capacity) - m.held) {
		capacity = size
		if !m.budget.take(int64(capacity) - m.held) {
			m.refused = true
			return nil
		}
	}
	m.held = int64(capacity)
	buf := make([]byte, size, capacity)
	copy(buf, m.buf)
	m.buf = buf
	return buf
}

// Free implements experimental.LinearMemory.
func (m *linear) Free() {
	m.budget.give(m.held)
	m.buf, m.held = nil, 0
}
