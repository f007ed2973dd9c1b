package kernel

import (
	"context"
	"encoding/binary"
	"math/bits"
)

// Local is the kernel in Go. Make it with [NewLocal].
type Local struct {
	// data are the bytes in use. The memory beyond them, up to size, is 0.
	data []byte
	// size is the accounted size of the memory in bytes, whole pages; 0 before its first
	// use.
	size   uint64
	resize func(delta int64) bool
	state
}

// state is the state of a call besides the memory.
type state struct {
	inOff, inLen, outOff, outLen, errOff, errLen uint64
	debt                                         int64
	refused                                      bool
}

// NewLocal makes a kernel. It calls resize for every change of its size, with the difference
// in bytes. resize may refuse growth by returning false.
func NewLocal(resize func(delta int64) bool) *Local { return &Local{resize: resize} }

// open allocates the first page, and reports whether it could.
func (k *Local) open() bool {
	if k.size > 0 {
		return true
	}
	if !k.resize(PageSize) {
		return false
	}
	k.size = PageSize
	if k.data == nil {
		k.data = make([]byte, first, 4<<10)
	}
	return true
}

// Reset implements Kernel.
func (k *Local) Reset() {
	k.state = state{}
	if k.size == 0 {
		return
	}
	if k.size > Keep {
		k.data = make([]byte, first, 4<<10)
		k.resize(PageSize - int64(k.size))
		k.size = PageSize
	}
	clear(k.data)
	k.data = k.data[:first]
}

// pos returns the offset of the next header.
func (k *Local) pos() uint64 { return uint64(len(k.data)) }

func (k *Local) u32(at uint64) uint64      { return uint64(binary.LittleEndian.Uint32(k.data[at:])) }
func (k *Local) put32(at, v uint64)        { binary.LittleEndian.PutUint32(k.data[at:], uint32(v)) }
func (k *Local) u64(at uint64) uint64      { return binary.LittleEndian.Uint64(k.data[at:]) }
func (k *Local) put64(at uint64, v uint64) { binary.LittleEndian.PutUint64(k.data[at:], v) }

// room grows the memory to end if it is smaller, and reports whether it could.
func (k *Local) room(end uint64) bool {
	if end <= k.size {
		return true
	}
	pages := pagesFor(end)
	if pages > MaxPages || !k.resize(int64(pages*PageSize-k.size)) {
		return false
	}
	k.size = pages * PageSize
	return true
}

// extend makes data end bytes long. The caller has called room.
func (k *Local) extend(end uint64) {
	if end > uint64(cap(k.data)) {
		data := make([]byte, end, min(max(end, 2*uint64(cap(k.data))), k.size))
		copy(data, k.data)
		k.data = data
		return
	}
	k.data = k.data[:end] // the new bytes are 0, since nothing was written there
}

// Alloc implements Kernel.
func (k *Local) Alloc(_ context.Context, n uint64) (uint64, error) { return k.alloc(n), nil }

func (k *Local) alloc(n uint64) uint64 {
	switch {
	case n == 0:
		return 0
	case n > maxBlock || !k.open():
		k.refused = true
		return 0
	}
	class := max(minClass, uint64(bits.Len64(n-1)))
	size := uint64(1) << class
	off := k.reuse(class, size, n)
	if off == 0 {
		off = k.append(size, n)
	}
	if off != 0 {
		k.debt += int64(n)
	}
	return off
}

// reuse returns the oldest freed block of a class, if at least Quarantine others were freed
// after it, else 0.
func (k *Local) reuse(class, size, n uint64) uint64 {
	q := class * queue
	if k.u32(q+8) <= Quarantine {
		return 0
	}
	off := k.u32(q)
	if !k.tagged(off) || k.u32(off-16) != 0 || off+size > k.pos() {
		k.put32(q+8, 0) // a guest overwrote the queue: empty it
		return 0
	}
	k.put32(q, k.u32(off-12))
	k.put32(q+8, k.u32(q+8)-1)
	clear(k.data[off : off+n])
	k.put32(off-16, n)
	k.put32(off-12, 0)
	return off
}

// append makes a block behind the last one. Its size is that of its class or, if that does
// not fit, n rounded up to a multiple of 16.
func (k *Local) append(size, n uint64) uint64 {
	at, flag := k.pos(), uint64(0)
	off := at + header
	if !k.room(off + size) {
		size, flag = (n+15)&^15, 1
		if !k.room(off + size) {
			k.refused = true
			return 0
		}
	}
	k.extend(off + size)
	k.put32(at, n)
	k.put32(at+4, flag)
	k.put64(at+8, off^cookie)
	return off
}

// tagged reports whether off is a handle, of a live or a freed block.
func (k *Local) tagged(off uint64) bool {
	return k.size > 0 && off-first < k.pos()-first && k.u64(off-8) == off^cookie
}

// SetInput implements Kernel.
func (k *Local) SetInput(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	size := (uint64(len(b)) + 15) &^ 15
	if uint64(len(b)) > maxBlock || !k.open() || !k.room(k.pos()+header+size) {
		return false
	}
	at := k.pos()
	off := at + header
	k.extend(off + size)
	writeHeader(k.data[at:], off, uint32(len(b)))
	copy(k.data[off:], b)
	k.inOff, k.inLen = off, uint64(len(b))
	return true
}

// writeHeader writes the header of a live block of no class.
func writeHeader(b []byte, off uint64, n uint32) {
	binary.LittleEndian.PutUint32(b, n)
	binary.LittleEndian.PutUint32(b[4:], 1)
	binary.LittleEndian.PutUint64(b[8:], off^cookie)
}

// free frees a block. It ignores unknown and freed handles.
func (k *Local) free(off uint64) {
	if !k.tagged(off) {
		return
	}
	n, flag := k.u32(off-16), k.u32(off-12)
	if n == 0 {
		return
	}
	if off == k.inOff {
		k.inLen = 0
	}
	k.put32(off-16, 0)
	if flag != 0 || off == k.outOff || off == k.errOff {
		return // never used again; the host reads some of these when the call ends
	}
	q := max(minClass, uint64(bits.Len64(n-1))) * queue
	k.put32(off-12, 0)
	count := k.u32(q + 8)
	if count == 0 {
		k.put32(q, off)
	} else {
		k.put32(k.u32(q+4)-12, off)
	}
	k.put32(q+4, off)
	k.put32(q+8, count+1)
}

// Length implements Kernel.
func (k *Local) Length(off uint64) uint64 {
	if !k.tagged(off) {
		return 0
	}
	return k.u32(off - 16)
}

// Bytes implements Kernel.
func (k *Local) Bytes(off uint64) ([]byte, bool) {
	n := k.Length(off)
	if n == 0 || n > k.pos()-off {
		return nil, false
	}
	return k.data[off : off+n : off+n], true
}

// within reports whether n bytes at off lie within the blocks.
func (k *Local) within(off, n uint64) bool {
	return k.size > 0 && off-blocks <= k.pos()-blocks-n
}

// load8 reads a byte. Outside of the blocks it returns 0.
func (k *Local) load8(off uint64) uint64 {
	if !k.within(off, 1) {
		return 0
	}
	return uint64(k.data[off])
}

// load64 reads 8 bytes. Outside of the blocks it returns 0.
func (k *Local) load64(off uint64) uint64 {
	if !k.within(off, 8) {
		return 0
	}
	return k.u64(off)
}

// store8 writes a byte. Outside of the blocks it does nothing.
func (k *Local) store8(off, v uint64) {
	if k.within(off, 1) {
		k.data[off] = byte(v)
	}
}

// store64 writes 8 bytes. Outside of the blocks it does nothing.
func (k *Local) store64(off, v uint64) {
	if k.within(off, 8) {
		k.put64(off, v)
	}
}

// inputLoad8 reads a byte of the input. Beyond its end it returns 0.
func (k *Local) inputLoad8(off uint64) uint64 {
	if off >= k.inLen {
		return 0
	}
	return uint64(k.data[k.inOff+off])
}

// inputLoad64 reads 8 bytes of the input. It returns 0 if fewer are left.
func (k *Local) inputLoad64(off uint64) uint64 {
	if k.inLen < 8 || off > k.inLen-8 {
		return 0
	}
	return k.u64(k.inOff + off)
}

// setOutput notes the offset and length of the output, which the host reads when the call
// ends.
func (k *Local) setOutput(off, n uint64) { k.outOff, k.outLen = off, n }

// setError notes a block as the error of the call; 0 clears it.
func (k *Local) setError(off uint64) {
	if off == 0 {
		k.errOff, k.errLen = 0, 0
	} else if n := k.Length(off); n != 0 {
		k.errOff, k.errLen = off, n
	}
}

// Output implements Kernel.
func (k *Local) Output() (off, n uint64, view []byte) {
	return k.outOff, k.outLen, part(k.data, k.outOff, k.outLen)
}

// part returns a view of n bytes at off, nil if they lie outside of the blocks.
func part(data []byte, off, n uint64) []byte {
	size := uint64(len(data))
	if n == 0 {
		return []byte{}
	}
	if off < blocks || off > size || n > size-off {
		return nil
	}
	return data[off : off+n : off+n]
}

// Failure implements Kernel.
func (k *Local) Failure() []byte {
	if k.errLen == 0 {
		return nil
	}
	return part(k.data, k.errOff, k.errLen)
}

// Refused implements Kernel.
func (k *Local) Refused() bool { return k.refused }

// Debt implements Kernel.
func (k *Local) Debt() int64 { return k.debt }

// Settle implements Kernel.
func (k *Local) Settle() { k.debt = 0 }

// Size implements Kernel.
func (k *Local) Size() int64 { return int64(k.size) }

// Close implements Kernel.
func (k *Local) Close() {
	if k.size > 0 {
		k.resize(-int64(k.size))
	}
	k.data, k.size = nil, 0
}
