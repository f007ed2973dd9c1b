package layout

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// MetaView is a metadata section read in place.
type MetaView struct {
	cells    []uint64
	rowOff   []uint32
	entryKey []uint32
	kinds    []byte
	keys     Strings
	values   []byte
	missed   bool
}

// Missed reports whether a row was read although the column is absent.
func (v *MetaView) Missed() bool { return v.missed }

// OpenMeta checks a metadata section of n rows.
func (d *Directory) OpenMeta(id Section, sec []byte, n int) (MetaView, error) {
	var v MetaView
	if len(sec) < metaHead {
		return v, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(metaHead) + ")")
	}
	le := binary.LittleEndian
	keys, entries := uint64(le.Uint32(sec)), uint64(le.Uint32(sec[4:]))
	keyBytes, valueBytes := uint64(le.Uint32(sec[8:])), uint64(le.Uint32(sec[12:]))
	want := metaHead + 13*entries + 4*uint64(n+1) + 4*(keys+1) + keyBytes + valueBytes
	if want != uint64(len(sec)) {
		return v, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (its counts want " + strconv.FormatUint(want, 10) + ")")
	}
	take := func(n uint64) []byte {
		part := sec[:n:n]
		sec = sec[n:]
		return part
	}
	take(metaHead)
	v.cells = inplace.U64s(take(8 * entries))
	v.rowOff = inplace.U32s(take(4 * uint64(n+1)))
	v.keys.off = inplace.U32s(take(4 * (keys + 1)))
	v.entryKey = inplace.U32s(take(4 * entries))
	v.kinds = take(entries)
	v.keys.data = take(keyBytes)
	v.values = take(valueBytes)
	return v, v.check(d, id)
}

// check checks what the accessors rely on: offsets rise, the keys of a row exist and rise,
// and the bytes of the values follow one another.
func (v *MetaView) check(d *Directory, id Section) error {
	if !rising(v.rowOff, len(v.cells)) {
		return d.Fail("has section " + id.String() + " with row offsets that do not rise from 0 to the number of entries")
	}
	if !rising(v.keys.off, len(v.keys.data)) {
		return d.Fail("has section " + id.String() + " with key offsets that do not rise from 0 to the number of key bytes")
	}
	if !v.keysRise() {
		return v.badKey(d, id)
	}
	// One flat loop: guests compiled from Go pay for every jump.
	next := uint64(0)
	cells, kinds := v.cells, v.kinds[:len(v.cells)]
	for e, bits := range cells {
		if jsontext.Kind(kinds[e]) == jsontext.KindString && bits&math.MaxUint32 == next {
			next += bits >> 32
		} else if !v.checkCell(uint32(e), &next) {
			return d.entryError(id, v.rowOf(uint32(e)), "has a "+jsontext.Kind(kinds[e]).String()+" with an invalid cell")
		}
	}
	if next != uint64(len(v.values)) {
		return d.Fail("has section " + id.String() + " with value bytes that no entry uses")
	}
	return nil
}

// keysRise reports whether the keys of each row exist and rise. A key that is not above the
// key before it must be the first of a row.
func (v *MetaView) keysRise() bool {
	nkeys := uint32(len(v.keys.off) - 1)
	falls, last, highest := 0, uint32(0), uint32(0)
	for i, k := range v.entryKey {
		if k <= last && i > 0 {
			falls++
		}
		highest = max(highest, k)
		last = k
	}
	if len(v.entryKey) > 0 && highest >= nkeys {
		return false
	}
	prev := uint32(0)
	for _, start := range v.rowOff {
		if start != prev && int(start) < len(v.entryKey) && v.entryKey[start] <= v.entryKey[start-1] {
			falls--
		}
		prev = start
	}
	return falls == 0
}

func (v *MetaView) rowOf(e uint32) int {
	row := 0
	for v.rowOff[row+1] <= e {
		row++
	}
	return row
}

func (v *MetaView) badKey(d *Directory, id Section) error {
	nkeys := uint32(len(v.keys.off) - 1)
	for row := 0; row+1 < len(v.rowOff); row++ {
		last := int64(-1)
		for e := v.rowOff[row]; e < v.rowOff[row+1]; e++ {
			k := v.entryKey[e]
			if k >= nkeys || int64(k) <= last {
				return d.entryError(id, row, "names key "+utoa(k)+" (want ascending, below "+utoa(nkeys)+")")
			}
			last = int64(k)
		}
	}
	return nil
}

// checkCell checks the cell of entry e; next is the end of the value bytes used
// so far.
func (v *MetaView) checkCell(e uint32, next *uint64) bool {
	bits := v.cells[e]
	switch jsontext.Kind(v.kinds[e]) {
	case jsontext.KindNull:
		return bits == 0
	case jsontext.KindBool:
		return bits <= 1
	case jsontext.KindInt:
		return true
	case jsontext.KindFloat:
		f := math.Float64frombits(bits)
		return f-f == 0
	case jsontext.KindString, jsontext.KindJSON:
		if bits&math.MaxUint32 != *next {
			return false
		}
		*next += bits >> 32
		return *next <= uint64(len(v.values))
	}
	return false
}

func (d *Directory) entryError(id Section, row int, msg string) error {
	return d.Fail("has section " + id.String() + " whose row " + strconv.Itoa(row) + " " + msg)
}

// rising reports whether offsets begin with 0, never decrease, and end with end.
func rising(off []uint32, end int) bool {
	last := uint32(0)
	for _, o := range off {
		if o < last {
			return false
		}
		last = o
	}
	return off[0] == 0 && uint64(last) == uint64(end)
}

// Span returns the entries of row i.
func (v *MetaView) Span(i int) (from, to uint32) {
	if v.rowOff == nil {
		v.missed = true
		return 0, 0
	}
	return v.rowOff[i], v.rowOff[i+1]
}

// Entry returns the n-th entry of row i. It panics if there is none.
func (v *MetaView) Entry(i, n int) uint32 {
	from, to := v.Span(i)
	_ = v.entryKey[from:to][n]
	return from + uint32(n)
}

// KeyText is the text of all keys, one after the other.
func (v *MetaView) KeyText() []byte { return v.keys.data }

// KeyPlace returns the place of the key of entry e in KeyText.
func (v *MetaView) KeyPlace(e uint32) (from, to uint32) {
	k := v.entryKey[e]
	return v.keys.off[k], v.keys.off[k+1]
}

// Key returns the key of entry e.
func (v *MetaView) Key(e uint32) string { return v.keys.At(int(v.entryKey[e])) }

// Value returns the value of entry e. A number or a bool is in bits, text aliases the section.
func (v *MetaView) Value(e uint32) (k jsontext.Kind, bits uint64, s string) {
	k, bits = jsontext.Kind(v.kinds[e]), v.cells[e]
	if k >= jsontext.KindString {
		off, n := bits&math.MaxUint32, bits>>32
		s, bits = inplace.String(v.values[off:off+n]), 0
	}
	return k, bits, s
}

// Find returns the entry of key in row i.
func (v *MetaView) Find(i int, key string) (e uint32, ok bool) {
	for e, end := v.Span(i); e < end; e++ {
		if v.Key(e) == key {
			return e, true
		}
	}
	return 0, false
}

// Strings is a strings section read in place; the zero value is an absent
// column of empty strings.
type Strings struct {
	off    []uint32
	data   []byte
	missed bool
}

// Missed reports whether an element was read although the column is absent.
func (v *Strings) Missed() bool { return v.missed }

// OpenStrings checks a strings section of n elements.
func (d *Directory) OpenStrings(id Section, sec []byte, n int) (Strings, error) {
	head := 4 * (n + 1)
	if len(sec) < head {
		return Strings{}, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(head) + ")")
	}
	v := Strings{off: inplace.U32s(sec[:head:head]), data: sec[head:]}
	if !rising(v.off, len(v.data)) {
		return Strings{}, d.Fail("has section " + id.String() + " with offsets that do not rise from 0 to the number of its bytes")
	}
	return v, nil
}

// Absent reports whether there is no section.
func (v *Strings) Absent() bool { return v.off == nil }

// At returns element i, which aliases the section.
func (v *Strings) At(i int) string {
	if v.off == nil {
		v.missed = true
		return ""
	}
	return inplace.String(v.data[v.off[i]:v.off[i+1]])
}
