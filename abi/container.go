package abi

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// The bounds of every batch and change set.
const (
	// MaxRows is the most rows of a batch, and the most new items of a change set.
	MaxRows = 1 << 20
	// MaxBytes is the most bytes of a container.
	MaxBytes = 256 << 20
)

// The container: a header, a directory of sections, the sections.
const (
	// BatchMagic begins a batch: the bytes "ANCB".
	BatchMagic uint32 = 'A' | 'N'<<8 | 'C'<<16 | 'B'<<24
	// ChangesMagic begins a change set: the bytes "ANCC".
	ChangesMagic uint32 = 'A' | 'N'<<8 | 'C'<<16 | 'C'<<24
	// LayoutMajor changes when old readers can no longer read.
	LayoutMajor uint16 = Version
	// LayoutMinor counts additions that old readers skip.
	LayoutMinor uint16 = 0
	// HeaderSize is the length of the header in bytes; the directory follows.
	HeaderSize = 32
	// EntrySize is the length of a directory entry in bytes.
	EntrySize = 16
	// FlagRequired in a directory entry means that the section must not be skipped: a
	// reader that does not know its id refuses the container.
	FlagRequired uint32 = 1
)

// Errors about containers, for errors.Is.
var (
	// ErrMalformed says that bytes break the layout.
	ErrMalformed = errors.New("malformed")
	// ErrTooLarge says that a container would exceed MaxRows or MaxBytes.
	ErrTooLarge = errors.New("too large")
)

// section is one entry of the directory.
type section struct {
	id  Section
	typ SectionType
	off uint32
	n   uint32
}

// layout plans a container. Sections are added in ascending order of their ids; finish
// places them.
type layout struct {
	secs  [len(Sections)]section
	count int
	bytes int64
}

func (l *layout) reset() { l.count, l.bytes = 0, 0 }

// add plans a section of n bytes.
func (l *layout) add(id Section, n int) {
	l.secs[l.count] = section{id: id, typ: id.Type(), n: uint32(n)}
	l.count++
	l.bytes += int64(n)
}

// finish places the sections and returns the length of the container.
func (l *layout) finish() (int, error) {
	head := HeaderSize + EntrySize*l.count
	if l.bytes+int64(head+8*l.count) > MaxBytes {
		return 0, tooLarge("needs " + strconv.FormatInt(l.bytes, 10) + " bytes (at most " + strconv.Itoa(MaxBytes) + ")")
	}
	off := uint32(head)
	for i := range l.secs[:l.count] {
		s := &l.secs[i]
		s.off = off
		off = align8(off + s.n)
	}
	return int(off), nil
}

// put writes header, directory and the padding after each section. The length
// of dst is what finish returned.
func (l *layout) put(dst []byte, magic uint32, rows int) {
	le, head := binary.LittleEndian, dst[:HeaderSize]
	le.PutUint32(head, magic)
	le.PutUint16(head[4:], LayoutMajor)
	le.PutUint16(head[6:], LayoutMinor)
	le.PutUint32(head[8:], HeaderSize)
	le.PutUint32(head[12:], uint32(len(dst)))
	le.PutUint32(head[16:], uint32(rows))
	le.PutUint32(head[20:], uint32(l.count))
	le.PutUint64(head[24:], 0)
	for i, s := range l.secs[:l.count] {
		e := dst[HeaderSize+EntrySize*i:][:EntrySize]
		le.PutUint16(e, uint16(s.id))
		le.PutUint16(e[2:], uint16(s.typ))
		le.PutUint32(e[4:], 0)
		le.PutUint32(e[8:], s.off)
		le.PutUint32(e[12:], s.n)
		end := s.off + s.n
		clear(dst[end:align8(end)])
	}
}

func align8(n uint32) uint32 { return (n + 7) &^ 7 }

// directory walks the sections of a container whose header is sound.
type directory struct {
	doc     string
	changes bool
	b       []byte
	rows    int
	at      uint32
	left    uint32
	id      int64
	end     uint32
}

// openDirectory checks the header of b.
func openDirectory(b []byte, magic uint32) (directory, error) {
	d := directory{doc: "batch", b: b, id: -1}
	if magic == ChangesMagic {
		d.doc, d.changes = "changes", true
	}
	if len(b) < HeaderSize {
		return d, d.fail("has " + strconv.Itoa(len(b)) + " bytes (want at least the header of " + strconv.Itoa(HeaderSize) + ")")
	}
	le, h := binary.LittleEndian, b[:HeaderSize]
	if m := le.Uint32(h); m != magic {
		return d, d.fail("begins with " + strconv.Quote(string(b[:4])) + " (want " + strconv.Quote(magicText(magic)) + ")")
	}
	if v := le.Uint16(h[4:]); v != LayoutMajor {
		return d, d.fail("has layout version " + strconv.Itoa(int(v)) + " (this side reads version " + strconv.Itoa(int(LayoutMajor)) + ")")
	}
	head, total, rows, count := le.Uint32(h[8:]), le.Uint32(h[12:]), le.Uint32(h[16:]), le.Uint32(h[20:])
	switch {
	case uint64(total) != uint64(len(b)) || total > MaxBytes:
		return d, d.fail("states " + utoa(total) + " bytes and has " + strconv.Itoa(len(b)) + " (want the same, at most " + strconv.Itoa(MaxBytes) + ")")
	case head < HeaderSize || head%8 != 0 || head > total:
		return d, d.fail("has a header of " + utoa(head) + " bytes (want " + strconv.Itoa(HeaderSize) + " or a larger multiple of 8 within the container)")
	case rows > MaxRows:
		return d, d.fail("has " + utoa(rows) + " rows (want at most " + strconv.Itoa(MaxRows) + ")")
	case count > (total-head)/EntrySize:
		return d, d.fail("has " + utoa(count) + " sections, more than its bytes hold")
	}
	d.rows, d.at, d.left, d.end = int(rows), head, count, head+EntrySize*count
	return d, nil
}

// next returns the next section with a known id, and its bytes. Id 0 means that there is
// none left.
func (d *directory) next() (Section, []byte, error) {
	le := binary.LittleEndian
	for d.left > 0 {
		e := d.b[d.at : d.at+EntrySize]
		d.at, d.left = d.at+EntrySize, d.left-1
		id, typ, flags := Section(le.Uint16(e)), SectionType(le.Uint16(e[2:])), le.Uint32(e[4:])
		off, n := le.Uint32(e[8:]), le.Uint32(e[12:])
		switch {
		case int64(id) <= d.id || id == 0:
			return 0, nil, d.fail("lists section " + id.String() + " out of order (want ascending ids from 1)")
		case off%8 != 0 || off < d.end || uint64(off)+uint64(n) > uint64(len(d.b)):
			return 0, nil, d.fail("has section " + id.String() + " at " + span(off, n) + " (want 8-aligned, after the section before, within " + strconv.Itoa(len(d.b)) + " bytes)")
		}
		d.id, d.end = int64(id), off+n
		info := id.info()
		if info == nil || d.changes && !info.Changes || !d.changes && !info.Batch {
			if flags&FlagRequired != 0 {
				return 0, nil, d.fail("requires section " + id.String() + ", which this side does not know")
			}
			continue
		}
		if typ != info.Type {
			return 0, nil, d.fail("has section " + id.String() + " of type " + typ.String() + " (want " + info.Type.String() + ")")
		}
		return id, d.b[off : off+n], nil
	}
	return 0, nil, nil
}

func (d *directory) fail(msg string) error { return formatError{d.doc, msg} }

// size checks the length of a section of fixed-size elements.
func (d *directory) size(id Section, sec []byte, want int) error {
	if len(sec) != want {
		return d.fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want " + strconv.Itoa(want) + ")")
	}
	return nil
}

// formatError is an error about a container; doc is "batch" or "changes".
type formatError struct{ doc, msg string }

func (e formatError) Error() string { return e.doc + " " + e.msg }
func (e formatError) Unwrap() error { return ErrMalformed }

// tooLarge is an error about a container that cannot be written.
type tooLarge string

func (e tooLarge) Error() string { return "batch " + string(e) }
func (e tooLarge) Unwrap() error { return ErrTooLarge }

func magicText(m uint32) string {
	return string([]byte{byte(m), byte(m >> 8), byte(m >> 16), byte(m >> 24)})
}
