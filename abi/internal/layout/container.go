// Package layout reads and writes the container of the batch lane: a header, a directory, and
// sections of columns. ABI.md describes it byte by byte. Package abi says what the sections
// mean.
package layout

import (
	"encoding/binary"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// MaxRows is the maximum number of rows of a batch, and of new items of a change set.
const MaxRows = 1 << 20

// The container: a header, a directory of sections, the sections.
const (
	// BatchMagic begins a batch: the bytes "ANCB".
	BatchMagic uint32 = 'A' | 'N'<<8 | 'C'<<16 | 'B'<<24
	// ChangesMagic begins a change set: the bytes "ANCC".
	ChangesMagic uint32 = 'A' | 'N'<<8 | 'C'<<16 | 'C'<<24
	// Major changes when old readers cannot read the new layout.
	Major uint16 = 1
	// Minor counts additions that old readers skip.
	Minor uint16 = 0
	// HeaderSize is the length of the header in bytes; the directory follows.
	HeaderSize = 32
	// EntrySize is the length of a directory entry in bytes.
	EntrySize = 16
	// FlagRequired in a directory entry means that the section must not be skipped: a
	// reader that does not know its id refuses the container.
	FlagRequired uint32 = 1
)

// Entry is one entry of the directory.
type Entry struct {
	// ID is the section.
	ID  Section
	typ SectionType
	// Off is the offset of the section, and N its length, in bytes.
	Off, N uint32
}

// Plan plans a container. Sections are added in ascending order of their ids; Finish
// places them.
type Plan struct {
	entries [len(Sections)]Entry
	count   int
	bytes   int64
}

// Reset makes the plan empty.
func (l *Plan) Reset() { l.count, l.bytes = 0, 0 }

// Add plans a section of n bytes.
func (l *Plan) Add(id Section, n int) {
	l.entries[l.count] = Entry{ID: id, typ: id.Type(), N: uint32(n)}
	l.count++
	l.bytes += int64(n)
}

// Sections are the planned sections.
func (l *Plan) Sections() []Entry { return l.entries[:l.count] }

// Finish places the sections and returns the length of the container.
func (l *Plan) Finish() (int, error) {
	head := HeaderSize + EntrySize*l.count
	if l.bytes+int64(head+8*l.count) > jsontext.MaxBytes {
		return 0, TooLarge("needs " + strconv.FormatInt(l.bytes, 10) + " bytes (at most " + strconv.Itoa(jsontext.MaxBytes) + ")")
	}
	off := uint32(head)
	for i := range l.entries[:l.count] {
		s := &l.entries[i]
		s.Off = off
		off = align8(off + s.N)
	}
	return int(off), nil
}

// Put writes header, directory and the padding after each section. The length of dst must be the
// result of Finish.
func (l *Plan) Put(dst []byte, magic uint32, rows int) {
	le, head := binary.LittleEndian, dst[:HeaderSize]
	le.PutUint32(head, magic)
	le.PutUint16(head[4:], Major)
	le.PutUint16(head[6:], Minor)
	le.PutUint32(head[8:], HeaderSize)
	le.PutUint32(head[12:], uint32(len(dst)))
	le.PutUint32(head[16:], uint32(rows))
	le.PutUint32(head[20:], uint32(l.count))
	le.PutUint64(head[24:], 0)
	for i, s := range l.entries[:l.count] {
		e := dst[HeaderSize+EntrySize*i:][:EntrySize]
		le.PutUint16(e, uint16(s.ID))
		le.PutUint16(e[2:], uint16(s.typ))
		le.PutUint32(e[4:], 0)
		le.PutUint32(e[8:], s.Off)
		le.PutUint32(e[12:], s.N)
		end := s.Off + s.N
		clear(dst[end:align8(end)])
	}
}

// Span names n bytes at an address.
func Span(addr, n uint32) string { return utoa(addr) + "+" + utoa(n) }

func utoa(v uint32) string { return strconv.FormatUint(uint64(v), 10) }

func align8(n uint32) uint32 { return (n + 7) &^ 7 }

// Directory walks the sections of a container whose header is sound.
type Directory struct {
	doc     string
	changes bool
	b       []byte
	// Rows is the number of rows of the container.
	Rows int
	at   uint32
	left uint32
	id   int64
	end  uint32
}

// Open checks the header of b.
func Open(b []byte, magic uint32) (Directory, error) {
	d := Directory{doc: "batch", b: b, id: -1}
	if magic == ChangesMagic {
		d.doc, d.changes = "changes", true
	}
	if len(b) < HeaderSize {
		return d, d.Fail("has " + strconv.Itoa(len(b)) + " bytes (want at least the header of " + strconv.Itoa(HeaderSize) + ")")
	}
	le, h := binary.LittleEndian, b[:HeaderSize]
	if m := le.Uint32(h); m != magic {
		return d, d.Fail("begins with " + strconv.Quote(string(b[:4])) + " (want " + strconv.Quote(magicText(magic)) + ")")
	}
	if v := le.Uint16(h[4:]); v != Major {
		return d, d.Fail("has layout version " + strconv.Itoa(int(v)) + " (this side reads version " + strconv.Itoa(int(Major)) + ")")
	}
	head, total, rows, count := le.Uint32(h[8:]), le.Uint32(h[12:]), le.Uint32(h[16:]), le.Uint32(h[20:])
	switch {
	case uint64(total) != uint64(len(b)) || total > jsontext.MaxBytes:
		return d, d.Fail("states " + utoa(total) + " bytes and has " + strconv.Itoa(len(b)) + " (want the same, at most " + strconv.Itoa(jsontext.MaxBytes) + ")")
	case head < HeaderSize || head%8 != 0 || head > total:
		return d, d.Fail("has a header of " + utoa(head) + " bytes (want " + strconv.Itoa(HeaderSize) + " or a larger multiple of 8 within the container)")
	case rows > MaxRows:
		return d, d.Fail("has " + utoa(rows) + " rows (want at most " + strconv.Itoa(MaxRows) + ")")
	case count > (total-head)/EntrySize:
		return d, d.Fail("has " + utoa(count) + " sections, more than its bytes hold")
	}
	d.Rows, d.at, d.left, d.end = int(rows), head, count, head+EntrySize*count
	return d, nil
}

// Next returns the next section with a known id, and its bytes. Id 0 means that there is
// none left.
func (d *Directory) Next() (Section, []byte, error) {
	le := binary.LittleEndian
	for d.left > 0 {
		e := d.b[d.at : d.at+EntrySize]
		d.at, d.left = d.at+EntrySize, d.left-1
		id, typ, flags := Section(le.Uint16(e)), SectionType(le.Uint16(e[2:])), le.Uint32(e[4:])
		off, n := le.Uint32(e[8:]), le.Uint32(e[12:])
		switch {
		case int64(id) <= d.id || id == 0:
			return 0, nil, d.Fail("lists section " + id.String() + " out of order (want ascending ids from 1)")
		case off%8 != 0 || off < d.end || uint64(off)+uint64(n) > uint64(len(d.b)):
			return 0, nil, d.Fail("has section " + id.String() + " at " + Span(off, n) + " (want 8-aligned, after the section before, within " + strconv.Itoa(len(d.b)) + " bytes)")
		}
		d.id, d.end = int64(id), off+n
		info := id.info()
		if info == nil || d.changes && !info.Changes || !d.changes && !info.Batch {
			if flags&FlagRequired != 0 {
				return 0, nil, d.Fail("requires section " + id.String() + ", which is not supported")
			}
			continue
		}
		if typ != info.Type {
			return 0, nil, d.Fail("has section " + id.String() + " of type " + typ.String() + " (want " + info.Type.String() + ")")
		}
		return id, d.b[off : off+n], nil
	}
	return 0, nil, nil
}

// Fail returns an [Error] about the container, whose text follows its name.
func (d *Directory) Fail(msg string) error { return Error{d.doc, msg} }

// CheckSize checks the length of a section of fixed-size elements.
func (d *Directory) CheckSize(id Section, sec []byte, want int) error {
	if len(sec) != want {
		return d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want " + strconv.Itoa(want) + ")")
	}
	return nil
}

// Error is an error about a container.
type Error struct {
	doc string // batch or changes
	// Msg says what is wrong and what is allowed. It follows the name of the container.
	Msg string
}

func (e Error) Error() string { return e.doc + " " + e.Msg }
func (e Error) Unwrap() error { return jsontext.ErrMalformed }

// TooLarge is an error about a container that cannot be written.
type TooLarge string

func (e TooLarge) Error() string { return "batch " + string(e) }
func (e TooLarge) Unwrap() error { return jsontext.ErrTooLarge }

func magicText(m uint32) string {
	return string([]byte{byte(m), byte(m >> 8), byte(m >> 16), byte(m >> 24)})
}
