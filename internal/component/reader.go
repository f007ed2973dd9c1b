package component

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// The limits of a component.
const (
	// MaxSize bounds the file, in bytes.
	MaxSize = 64 << 20
	// maxItems bounds each list of a component or core module.
	maxItems = 100_000
	// maxElements bounds the functions in all segments of tables together.
	maxElements = 1 << 20
	// maxModules bounds the core modules and their instances, and those of the component.
	maxModules = 1000
)

// Errors that callers can test for with errors.Is.
var (
	// ErrMalformed means that the bytes are no component or core module.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported means that the component is not one of the fixed world, or has code that a
	// plugin cannot have.
	ErrUnsupported = errors.New("not supported")
)

// reader is a cursor over a part of a file. It keeps the first error; later reads return zero
// values, and the cursor is at the end, so that loops stop.
type reader struct {
	buf []byte
	pos int
	err error
}

func (r *reader) fail(kind error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d: %w", fmt.Sprintf(format, args...), r.pos, kind)
	}
	r.pos = len(r.buf)
}

func (r *reader) done() bool { return r.pos >= len(r.buf) }

func (r *reader) byte() byte {
	if r.pos >= len(r.buf) {
		r.fail(ErrMalformed, "the bytes end too early")
		return 0
	}
	c := r.buf[r.pos]
	r.pos++
	return c
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(ErrMalformed, "a number has more than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most 64 bits.
func (r *reader) signed() int64 {
	var v int64
	for shift := 0; shift < 70; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.fail(ErrMalformed, "a number has more than 64 bits")
	return 0
}

// take returns the next n bytes, which alias the file.
func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.buf)-r.pos) {
		r.fail(ErrMalformed, "%d bytes are announced, %d follow", n, len(r.buf)-r.pos)
		return nil
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// name reads a text of at most 64 KiB.
func (r *reader) name() string {
	b := r.take(r.u32())
	if len(b) > 64<<10 || !utf8.Valid(b) {
		r.fail(ErrMalformed, "a name is too long or not UTF-8")
		return ""
	}
	return string(b)
}

// count reads the length of a list whose elements take at least a byte each.
func (r *reader) count(most int) int {
	n := r.u32()
	if int64(n) > int64(len(r.buf)-r.pos) {
		r.fail(ErrMalformed, "%d elements are announced, %d bytes follow", n, len(r.buf)-r.pos)
		return 0
	}
	if int64(n) > int64(most) {
		r.fail(ErrUnsupported, "a list has %d elements, at most %d", n, most)
		return 0
	}
	return int(n)
}

// list calls read for each element of a list until one fails.
func (r *reader) list(read func()) {
	for n := r.count(maxItems); n > 0 && r.err == nil; n-- {
		read()
	}
}

// sub returns a reader of the next n bytes.
func (r *reader) sub(n uint32) *reader {
	return &reader{buf: r.take(n), err: r.err}
}

// ended keeps the error of a reader of a part, and fails if bytes of the part are left over.
func (r *reader) ended(part *reader) {
	switch {
	case part.err != nil:
		r.err, r.pos = part.err, len(r.buf)
	case !part.done():
		r.fail(ErrMalformed, "%d bytes are left over in a part", len(part.buf)-part.pos)
	}
}
