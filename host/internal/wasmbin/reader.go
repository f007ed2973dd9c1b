package wasmbin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// reader is a cursor over part of a file. It keeps the first error: later reads return
// zero values and the cursor is at the end, so that loops over the rest stop. Offsets
// count from the start of the file.
type reader struct {
	buf     []byte // the whole file
	pos     int
	end     int // reading stops here; at most len(buf)
	section string
	err     error
}

// from returns a copy of the reader with the cursor at pos.
func (r *reader) from(pos int) reader {
	other := *r
	other.pos = pos
	return other
}

func (r *reader) fail(kind error, at int, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Kind: kind, Offset: at, Section: r.section, Detail: fmt.Sprintf(format, args...)}
	}
	r.pos = r.end
}

// short fails because the element at the cursor does not fit: the file is truncated, or
// the size of the enclosing part is wrong.
func (r *reader) short(what string) {
	if r.end == len(r.buf) {
		r.fail(ErrTruncated, len(r.buf), "the file ends within %s", what)
		return
	}
	r.fail(ErrMalformed, r.pos, "%s runs past the end of its section or body", what)
}

func (r *reader) done() bool { return r.pos >= r.end }

func (r *reader) byte(what string) byte {
	if r.pos >= r.end {
		r.short(what)
		return 0
	}
	c := r.buf[r.pos]
	r.pos++
	return c
}

// take returns the next n bytes, which alias the file.
func (r *reader) take(n uint32, what string) []byte {
	if uint64(n) > uint64(r.end-r.pos) {
		r.short(what)
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32(what string) uint32 {
	if r.pos < r.end {
		if c := r.buf[r.pos]; c < 0x80 {
			r.pos++
			return uint32(c)
		}
	}
	return r.u32Slow(what)
}

func (r *reader) u32Slow(what string) uint32 {
	var v uint32
	start := r.pos
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte(what)
		if r.err != nil {
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			if shift == 28 && c > 0x0f {
				break
			}
			return v
		}
	}
	r.fail(ErrMalformed, start, "%s is no 32-bit LEB128 number", what)
	return 0
}

// signed reads a signed LEB128 number of at most bits bits.
func (r *reader) signed(bits int, what string) int64 {
	if r.pos < r.end {
		if c := r.buf[r.pos]; c < 0x80 {
			r.pos++
			return int64(int8(c<<1)) >> 1
		}
	}
	return r.signedSlow(bits, what)
}

func (r *reader) signedSlow(bits int, what string) int64 {
	var v int64
	start := r.pos
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte(what)
		if r.err != nil {
			return 0
		}
		v |= int64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		if rest := bits - shift; rest < 7 && !signExtended(c, rest) {
			break
		}
		if shift+7 < 64 && c&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		return v
	}
	r.fail(ErrMalformed, start, "%s is no %d-bit signed LEB128 number", what, bits)
	return 0
}

// signExtended reports whether the unused bits of the last byte, those beyond the first n,
// repeat the sign of the number.
func signExtended(c byte, n int) bool {
	high := c & 0x7f >> (n - 1)
	return high == 0 || high == 0x7f>>(n-1)
}

// count reads the length of a vector whose elements take at least size bytes each. It
// refuses a length for which the remaining bytes do not suffice, so that a false length
// allocates nothing.
func (r *reader) count(size int, what string) int {
	start := r.pos
	n := r.u32(what)
	if rest := r.end - r.pos; uint64(n)*uint64(size) > uint64(rest) {
		if r.end == len(r.buf) {
			r.fail(ErrTruncated, len(r.buf), "the file ends within %s: %d announced", what, n)
		} else {
			r.fail(ErrMalformed, start, "%s: %d announced, but only %d bytes follow", what, n, rest)
		}
		return 0
	}
	return int(n)
}

// bounded is count for a vector of at most most elements.
func (r *reader) bounded(size, most int, what string) int {
	n := r.count(size, what)
	if n > most {
		r.exceed(what, n, most)
		return 0
	}
	return n
}

// exceed fails with a *LimitError.
func (r *reader) exceed(what string, n, most int) {
	if r.err == nil {
		r.err = &LimitError{What: strings.TrimPrefix(what, "the "), Value: uint64(n), Max: uint64(most)}
	}
	r.pos = r.end
}

// name reads a length-prefixed UTF-8 string.
func (r *reader) name(what string) string {
	start := r.pos
	b := r.take(r.u32(what), what)
	if !utf8.Valid(b) {
		r.fail(ErrMalformed, start, "%s is not valid UTF-8", what)
		return ""
	}
	return string(b)
}

// sub returns a reader for the next n bytes and moves past them.
func (r *reader) sub(n uint32, what string) reader {
	at := r.pos
	r.take(n, what)
	if r.err != nil {
		return reader{buf: r.buf, pos: r.end, end: r.end, section: r.section, err: r.err}
	}
	return reader{buf: r.buf, pos: at, end: r.pos, section: r.section}
}

// finish returns the error of the reader. It is an error if bytes are left.
func (r *reader) finish(what string) error {
	if r.err == nil && r.pos != r.end {
		r.fail(ErrMalformed, r.pos, "%d bytes left over after %s", r.end-r.pos, what)
	}
	return r.err
}
