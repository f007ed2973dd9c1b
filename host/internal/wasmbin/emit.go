package wasmbin

// Encoding helpers: each appends to b and returns the extended slice.

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS32(b []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

// appendSection appends a section with its header.
func appendSection(b []byte, id byte, content []byte) []byte {
	b = appendU32(append(b, id), uint32(len(content)))
	return append(b, content...)
}

// sizeU32 returns the number of bytes that appendU32 appends for v.
func sizeU32(v uint32) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// output collects rewritten sections. A nil output discards everything that is written to
// it, so that the same decoder can read and rewrite.
type output struct {
	buf []byte
	// host is the number of imported functions before the rewrite. The indices of all
	// other functions increase by one, because the import of tick is added.
	host uint32
}

func (o *output) byte(c byte) {
	if o != nil {
		o.buf = append(o.buf, c)
	}
}

func (o *output) bytes(b []byte) {
	if o != nil {
		o.buf = append(o.buf, b...)
	}
}

func (o *output) u32(v uint32) {
	if o != nil {
		o.buf = appendU32(o.buf, v)
	}
}

// function writes the index that a function has after the rewrite.
func (o *output) function(i uint32) {
	if o != nil {
		o.buf = appendU32(o.buf, o.moved(i))
	}
}

func (o *output) moved(i uint32) uint32 {
	if i >= o.host {
		return i + 1
	}
	return i
}

func (o *output) name(s string) {
	o.buf = appendName(o.buf, s)
}

// sizeAt inserts, at offset start, the size of everything behind start.
func (o *output) sizeAt(start int) {
	size := uint32(len(o.buf) - start)
	n := sizeU32(size)
	o.buf = append(o.buf, make([]byte, n)...)
	copy(o.buf[start+n:], o.buf[start:])
	appendU32(o.buf[start:start], size)
}
