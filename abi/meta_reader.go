package abi

import (
	"encoding/binary"
	"math"
	"strconv"
)

// metaView is a metadata section read in place.
type metaView struct {
	cells    []uint64
	rowOff   []uint32
	entryKey []uint32
	kinds    []byte
	keys     stringsView
	values   []byte
	// names is a copy of the text of the keys. It is made when it is first needed.
	names string
}

// openMeta checks a metadata section of n rows.
func (d *directory) openMeta(id Section, sec []byte, n int) (metaView, error) {
	var v metaView
	if len(sec) < metaHead {
		return v, d.fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(metaHead) + ")")
	}
	le := binary.LittleEndian
	keys, entries := uint64(le.Uint32(sec)), uint64(le.Uint32(sec[4:]))
	keyBytes, valueBytes := uint64(le.Uint32(sec[8:])), uint64(le.Uint32(sec[12:]))
	want := metaHead + 13*entries + 4*uint64(n+1) + 4*(keys+1) + keyBytes + valueBytes
	if want != uint64(len(sec)) {
		return v, d.fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (its counts want " + strconv.FormatUint(want, 10) + ")")
	}
	take := func(n uint64) []byte {
		part := sec[:n:n]
		sec = sec[n:]
		return part
	}
	take(metaHead)
	v.cells = u64s(take(8 * entries))
	v.rowOff = u32s(take(4 * uint64(n+1)))
	v.keys.off = u32s(take(4 * (keys + 1)))
	v.entryKey = u32s(take(4 * entries))
	v.kinds = take(entries)
	v.keys.data = take(keyBytes)
	v.values = take(valueBytes)
	return v, v.check(d, id)
}

// check checks what the accessors rely on: offsets rise, the keys of a row exist and rise,
// and the bytes of the values follow one another.
func (v *metaView) check(d *directory, id Section) error {
	if !rising(v.rowOff, len(v.cells)) {
		return d.fail("has section " + id.String() + " with row offsets that do not rise from 0 to the number of entries")
	}
	if !rising(v.keys.off, len(v.keys.data)) {
		return d.fail("has section " + id.String() + " with key offsets that do not rise from 0 to the number of key bytes")
	}
	if !v.keysRise() {
		return v.badKey(d, id)
	}
	// One flat loop: guests compiled from Go pay for every jump.
	next := uint64(0)
	cells, kinds := v.cells, v.kinds[:len(v.cells)]
	for e, bits := range cells {
		if ValueKind(kinds[e]) == KindString && bits&math.MaxUint32 == next {
			next += bits >> 32
		} else if !v.checkCell(uint32(e), &next) {
			return d.entryError(id, v.rowOf(uint32(e)), "has a "+ValueKind(kinds[e]).String()+" with an invalid cell")
		}
	}
	if next != uint64(len(v.values)) {
		return d.fail("has section " + id.String() + " with value bytes that no entry uses")
	}
	return nil
}

// keysRise reports whether the keys of each row exist and rise. A key that is not above the
// key before it must be the first of a row.
func (v *metaView) keysRise() bool {
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

func (v *metaView) rowOf(e uint32) int {
	row := 0
	for v.rowOff[row+1] <= e {
		row++
	}
	return row
}

func (v *metaView) badKey(d *directory, id Section) error {
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
func (v *metaView) checkCell(e uint32, next *uint64) bool {
	bits := v.cells[e]
	switch ValueKind(v.kinds[e]) {
	case KindNull:
		return bits == 0
	case KindBool:
		return bits <= 1
	case KindInt:
		return true
	case KindFloat:
		f := math.Float64frombits(bits)
		return f-f == 0
	case KindString, KindJSON:
		if bits&math.MaxUint32 != *next {
			return false
		}
		*next += bits >> 32
		return *next <= uint64(len(v.values))
	}
	return false
}

func (d *directory) entryError(id Section, row int, msg string) error {
	return d.fail("has section " + id.String() + " whose row " + strconv.Itoa(row) + " " + msg)
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

// span returns the entries of row i.
func (v *metaView) span(i int) (from, to uint32) {
	if v.rowOff == nil {
		return 0, 0
	}
	return v.rowOff[i], v.rowOff[i+1]
}

func (v *metaView) key(e uint32) string { return v.keys.at(int(v.entryKey[e])) }

// value returns the value of entry e.
func (v *metaView) value(e uint32) Value {
	val := Value{kind: ValueKind(v.kinds[e]), bits: v.cells[e]}
	if val.kind >= KindString {
		off, n := val.bits&math.MaxUint32, val.bits>>32
		val.text, val.bits = text(v.values[off:off+n]), 0
	}
	return val
}

// find returns the value of key in row i.
func (v *metaView) find(i int, key string) (Value, bool) {
	for e, end := v.span(i); e < end; e++ {
		if v.key(e) == key {
			return v.value(e), true
		}
	}
	return Value{}, false
}

// stringsView is a strings section read in place; the zero value is an absent
// column of empty strings.
type stringsView struct {
	off  []uint32
	data []byte
}

// openStrings checks a strings section of n elements.
func (d *directory) openStrings(id Section, sec []byte, n int) (stringsView, error) {
	head := 4 * (n + 1)
	if len(sec) < head {
		return stringsView{}, d.fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(head) + ")")
	}
	v := stringsView{u32s(sec[:head:head]), sec[head:]}
	if !rising(v.off, len(v.data)) {
		return stringsView{}, d.fail("has section " + id.String() + " with offsets that do not rise from 0 to the number of its bytes")
	}
	return v, nil
}

// at returns element i, which aliases the section.
func (v *stringsView) at(i int) string {
	if v.off == nil {
		return ""
	}
	return text(v.data[v.off[i]:v.off[i+1]])
}
