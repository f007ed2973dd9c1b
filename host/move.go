package host

import (
	"context"
	"math"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// A loop that calls the kernel for every byte or eight of them is rewritten so that
// it calls move first, which does what that many iterations would, see
// wasmbin.MoveName. What move is told comes from values of the guest.

// movement is what a loop is about to do: move n bytes between the guest's memory at
// at and the kernel's at off.
type movement struct {
	kind       wasmbin.Transfer
	at, off, n uint64
	// low and high bound the part of the guest's memory that the loop keeps its
	// variables in.
	low, high uint64
}

// move is what a rewritten guest calls. It costs no fuel: the guest counts that of the
// iterations itself.
func move(ctx context.Context, mod api.Module, s []uint64) {
	in := stateOf(ctx).inst
	kind := min(api.DecodeU32(s[0]), math.MaxUint8) // which is none
	m := movement{wasmbin.Transfer(kind), s[1], s[2], s[3], s[4], s[5]}
	s[0] = 0
	if mem := in.memoryOf(mod); mem != nil {
		s[0] = m.do(mem, in.kernel)
	}
}

// memoryOf is the memory of the guest or of one of its links, nil if it has none.
func (in *instance) memoryOf(mod api.Module) api.Memory {
	if mod == in.mod {
		return in.mem
	}
	for _, m := range in.members {
		if mod == m.mod {
			return m.mem
		}
	}
	return nil
}

// do moves what lies within both memories and returns its size, whole calls of the
// kernel. Beyond it the loop finds out itself what they do: read zero, write nothing,
// or trap. The views are of two memories, as no guest has that of a kernel.
func (m *movement) do(mem api.Memory, k kernel.Kernel) uint64 {
	if m.kind == wasmbin.Reach {
		return uint64(len(k.Window(m.off, m.n)))
	}
	width := m.kind.Width()
	if width == 0 || m.touchesVariables() {
		return 0
	}
	guest := m.guestPart(mem)
	theirs := m.kernelPart(k, uint64(len(guest)))
	n := uint64(len(theirs)) &^ (width - 1)
	if m.kind.Store() {
		copy(theirs[:n], guest)
	} else {
		copy(guest, theirs[:n])
	}
	return n
}

// touchesVariables reports whether the loop would read or write its own variables as
// what it moves. A size beyond all addresses counts as one up to their end.
func (m *movement) touchesVariables() bool {
	end := m.at + min(m.n, math.MaxUint64-m.at)
	return m.low < m.high && m.at < m.high && m.low < end
}

// guestPart is a view of the bytes of the guest, fewer where its memory ends.
func (m *movement) guestPart(mem api.Memory) []byte {
	size := uint64(mem.Size())
	if m.at >= size {
		return nil
	}
	b, _ := mem.Read(uint32(m.at), uint32(min(m.n, size-m.at)))
	return b
}

// kernelPart is a view of at most n bytes of the kernel.
func (m *movement) kernelPart(k kernel.Kernel, n uint64) []byte {
	if m.kind.Input() {
		return k.Input(m.off, n)
	}
	return k.Window(m.off, n)
}
