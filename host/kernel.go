package host

import (
	"encoding/binary"
	"math/bits"
)

// kernel is the memory that the Extism functions of one instance work on: it
// belongs neither to the guest's linear memory nor to other instances. A handle
// is the offset of a block. Blocks live until the call ends; a freed block is
// used again only after quarantine others of its size, because some plugin kits
// free a block twice or read it after handing it over.
//
// Nothing a guest passes can reach outside data: wild handles read as zero,
// writes to them are ignored, as in the Extism runtime.
type kernel struct {
	data   []byte
	limit  int
	blocks map[uint64]block
	free   [maxClass + 1][]uint64

	input  span
	output span
	// outputBad notes an output_set outside the memory, which is an error of
	// the call and not silently nothing.
	outputBad bool
	failure   string
	// refused notes an allocation that did not fit.
	refused bool
}

type span struct{ off, n uint64 }

// block is what is known of a handle: n is 0 when it is freed.
type block struct {
	n     uint64
	class uint8
}

const (
	// kernelBase is the first handle; 0 is never one.
	kernelBase = 16
	// quarantine is how many younger freed blocks of the same size protect a
	// freed one.
	quarantine = 16
	minClass   = 4 // 16 bytes
	maxClass   = 32
	// kernelKeep and blocksKeep are the bytes and blocks of one call up to which
	// their space is kept for the next: clearing it costs time.
	kernelKeep = 1 << 20
	blocksKeep = 1 << 10
)

func newKernel(limit int64) kernel {
	return kernel{limit: int(limit), blocks: map[uint64]block{}}
}

// reset forgets everything of the last call.
func (k *kernel) reset() {
	if cap(k.data) > kernelKeep {
		k.data = nil
	} else {
		clear(k.data)
	}
	if cap(k.data) < kernelBase {
		k.data = make([]byte, 0, 4<<10)
	}
	k.data = k.data[:kernelBase]
	if len(k.blocks) > blocksKeep {
		k.blocks = map[uint64]block{}
	}
	clear(k.blocks)
	for c := range k.free {
		k.free[c] = k.free[c][:0]
	}
	k.input, k.output, k.outputBad, k.failure, k.refused = span{}, span{}, false, "", false
}

// alloc returns a zeroed block of n bytes, or 0 when n is 0 or does not fit.
func (k *kernel) alloc(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	if n > uint64(k.limit) {
		k.refused = true
		return 0
	}
	class := max(minClass, bits.Len64(n-1))
	size := 1 << class
	if size > k.limit-len(k.data) { // the last large block need not be rounded up
		size = (int(n) + 15) &^ 15
	}
	if q := k.free[class]; len(q) > quarantine && size == 1<<class {
		off := q[0]
		k.free[class] = q[1:]
		clear(k.data[off : off+uint64(size)])
		k.blocks[off] = block{n, uint8(class)}
		return off
	}
	if size > k.limit-len(k.data) {
		k.refused = true
		return 0
	}
	off := uint64(len(k.data))
	k.grow(size)
	if size != 1<<class {
		class = maxClass // never reused
	}
	k.blocks[off] = block{n, uint8(class)}
	return off
}

// grow appends size zero bytes.
func (k *kernel) grow(size int) {
	need := len(k.data) + size
	if need > cap(k.data) {
		data := make([]byte, need, max(need, min(2*cap(k.data), k.limit)))
		copy(data, k.data)
		k.data = data
		return
	}
	tail := k.data[len(k.data):need]
	clear(tail)
	k.data = k.data[:need]
}

// put allocates a block and fills it.
func (k *kernel) put(b []byte) uint64 {
	off := k.alloc(uint64(len(b)))
	if off != 0 {
		copy(k.data[off:], b)
	}
	return off
}

// release frees a block; unknown and freed handles are ignored.
func (k *kernel) release(off uint64) {
	b, ok := k.blocks[off]
	if !ok || b.n == 0 {
		return
	}
	if off == k.input.off {
		k.input.n = 0
	}
	k.blocks[off] = block{0, b.class}
	if b.class < maxClass {
		k.free[b.class] = append(k.free[b.class], off)
	}
}

// length returns the size of a live block, else 0.
func (k *kernel) length(off uint64) uint64 { return k.blocks[off].n }

// bytes returns the content of a live block as a view, valid until the next
// alloc.
func (k *kernel) bytes(off uint64) ([]byte, bool) {
	n := k.length(off)
	if n == 0 {
		return nil, false
	}
	return k.slice(off, n)
}

func (k *kernel) slice(off, n uint64) ([]byte, bool) {
	size := uint64(len(k.data))
	if off > size || n > size-off {
		return nil, false
	}
	return k.data[off : off+n : off+n], true
}

func (k *kernel) load8(off uint64) uint64 {
	if off >= uint64(len(k.data)) {
		return 0
	}
	return uint64(k.data[off])
}

func (k *kernel) load64(off uint64) uint64 {
	if b, ok := k.slice(off, 8); ok {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (k *kernel) store8(off, v uint64) {
	if off < uint64(len(k.data)) {
		k.data[off] = byte(v)
	}
}

func (k *kernel) store64(off, v uint64) {
	if b, ok := k.slice(off, 8); ok {
		binary.LittleEndian.PutUint64(b, v)
	}
}

func (k *kernel) inputLoad8(off uint64) uint64 {
	if off >= k.input.n {
		return 0
	}
	return uint64(k.data[k.input.off+off])
}

func (k *kernel) inputLoad64(off uint64) uint64 {
	if k.input.n < 8 || off > k.input.n-8 {
		return 0
	}
	return binary.LittleEndian.Uint64(k.data[k.input.off+off:])
}

// setInput makes b the input of the call and reports whether it fits.
func (k *kernel) setInput(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	off := k.put(b)
	if off == 0 {
		return false
	}
	k.input = span{off, uint64(len(b))}
	return true
}

// setOutput notes where the output lies; it is copied when the call ends.
func (k *kernel) setOutput(off, n uint64) {
	_, ok := k.slice(off, n)
	k.outputBad = !ok && n > 0
	k.output = span{off, n}
}

// setFailure notes the message of a block as the error of the call; 0 clears
// it.
func (k *kernel) setFailure(off uint64) {
	if off == 0 {
		k.failure = ""
		return
	}
	if b, ok := k.bytes(off); ok {
		k.failure = clipBytes(b, maxErrorText)
	}
}
