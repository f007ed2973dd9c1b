package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt means that bytes are not a segment that this package has written.
var ErrCorrupt = errors.New("index segment is corrupt")

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

// reader reads numbers and texts one after another. After the first that is not there, bad is
// set and all others are zero.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.data)) {
		r.bad = true
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad, n = true, 0
	}
	r.data = r.data[n:]
	return v
}

// number returns a number that fits an int32.
func (r *reader) number() int {
	v := r.uvarint()
	if v > 1<<31-1 {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad, n = true, 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) text() string { return string(r.take(r.uvarint())) }

// uint32s copies n numbers.
func (r *reader) uint32s(n int) []uint32 {
	b := r.take(uint64(n) * 4)
	if b == nil {
		return nil
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// offsets reads n+1 offsets into a part of the given size that follows: ascending, from 0 to
// its end.
func (r *reader) offsets(n int) []uint32 {
	out := r.uint32s(n + 1)
	for i := 1; i < len(out); i++ {
		if out[i] < out[i-1] {
			r.bad = true
		}
	}
	if len(out) == 0 || out[0] != 0 {
		r.bad = true
		return make([]uint32, 1)
	}
	return out
}

// arena reads n+1 offsets and the bytes that they cut.
func (r *reader) arena(n int) arena {
	off := r.offsets(n)
	return arena{off: off, data: r.take(uint64(off[len(off)-1]))}
}

// arena is a list of byte strings.
type arena struct {
	off  []uint32
	data []byte
}

func (a *arena) at(i int) []byte { return a.data[a.off[i]:a.off[i+1]] }

func (a *arena) add(b []byte) {
	if a.off == nil {
		a.off = append(a.off, 0)
	}
	a.data = append(a.data, b...)
	a.off = append(a.off, uint32(len(a.data)))
}

// end closes the entry whose bytes were appended to data.
func (a *arena) end() { a.off = append(a.off, uint32(len(a.data))) }

func (a *arena) append(dst []byte) []byte {
	if a.off == nil {
		a.off = append(a.off, 0)
	}
	return append(appendUint32s(dst, a.off), a.data...)
}

func appendUint32s(dst []byte, numbers []uint32) []byte {
	for _, n := range numbers {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
