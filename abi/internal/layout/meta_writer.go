package layout

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// metaHead is the length of the head of a metadata section: the numbers of keys, entries,
// key bytes and value bytes, u32 each.
const metaHead = 16

// MetaTable collects the metadata of rows. The dictionary has the keys in the order of
// the rows that first use them, and the new keys of one row sorted, so that equal rows make
// equal bytes. The zero value is ready; reset makes it ready again.
type MetaTable struct {
	keys     []string
	index    map[string]uint32
	keyBytes int
	rowOff   []uint32
	cells    []uint64
	entryKey []uint32
	kinds    []byte
	values   []byte
	scratch  []uint32
	fresh    []string
	// Strict says that each string is repaired on its own. Without it they are checked together,
	// with Valid.
	Strict bool
}

// Reset makes the table empty. It keeps the memory, but no text of the rows.
func (t *MetaTable) Reset() {
	clear(t.keys)
	clear(t.fresh)
	clear(t.index)
	t.keys, t.fresh, t.keyBytes = t.keys[:0], t.fresh[:0], 0
	t.rowOff = append(t.rowOff[:0], 0)
	t.cells, t.entryKey, t.kinds, t.values = t.cells[:0], t.entryKey[:0], t.kinds[:0], t.values[:0]
}

// Add adds the metadata of the next row. Rows mostly share their keys, so it looks the keys
// of the dictionary up in m. For a row with many other keys addByKeys does the rest, with
// the same result.
func (t *MetaTable) Add(m map[string]any) error {
	found := 0
	limit := min(len(t.keys), 2*len(m)+8)
	for k := 0; k < limit && found < len(m); k++ {
		v, ok := m[t.keys[k]]
		if !ok {
			continue
		}
		found++
		if s, ok := v.(string); ok && !t.Strict && plainEnds(s) {
			t.push(uint32(k), jsontext.KindString, t.text(s))
			continue
		}
		if err := t.entry(uint32(k), v); err != nil {
			return err
		}
	}
	if found < len(m) {
		if err := t.addByKeys(m, limit); err != nil {
			return err
		}
	}
	if len(t.values) > jsontext.MaxBytes || len(t.cells) > jsontext.MaxBytes/8 {
		return TooLarge("has more than " + strconv.Itoa(jsontext.MaxBytes) + " bytes of metadata")
	}
	t.rowOff = append(t.rowOff, uint32(len(t.cells)))
	return nil
}

// addByKeys adds the entries of m whose keys the dictionary does not have among
// its first limit.
func (t *MetaTable) addByKeys(m map[string]any, limit int) error {
	known, fresh := t.scratch[:0], t.fresh[:0]
	for key := range m {
		if k, ok := t.index[key]; !ok {
			fresh = append(fresh, key)
		} else if int(k) >= limit {
			known = append(known, k)
		}
	}
	t.scratch, t.fresh = known, fresh
	slices.Sort(known)
	for _, k := range known {
		if err := t.entry(k, m[t.keys[k]]); err != nil {
			return err
		}
	}
	slices.Sort(fresh)
	for _, key := range fresh {
		if !utf8.ValidString(key) {
			return jsontext.AtKey(key, jsontext.ValueError("key is not valid UTF-8 (rename it)"))
		}
		if t.index == nil {
			t.index = make(map[string]uint32)
		}
		k := uint32(len(t.keys))
		t.index[key] = k
		t.keys, t.keyBytes = append(t.keys, key), t.keyBytes+len(key)
		if err := t.entry(k, m[key]); err != nil {
			return err
		}
	}
	return nil
}

// entry adds one value to the current row.
func (t *MetaTable) entry(k uint32, v any) error {
	kind, bits, s, err := jsontext.Scalar(v)
	switch {
	case errors.Is(err, jsontext.ErrNested):
		kind = jsontext.KindJSON
		start := len(t.values)
		if t.values, err = jsontext.AppendValue(t.values, v, 0); err != nil {
			return jsontext.AtKey(t.keys[k], err)
		}
		bits = span64(start, len(t.values))
	case err != nil:
		return jsontext.AtKey(t.keys[k], err)
	case kind == jsontext.KindString:
		if t.Strict || !plainEnds(s) {
			s = jsontext.Repair(s)
		}
		bits = t.text(s)
	}
	t.push(k, kind, bits)
	return nil
}

// text adds value bytes and returns the cell for them.
func (t *MetaTable) text(s string) uint64 {
	start := len(t.values)
	t.values = append(t.values, s...)
	return span64(start, len(t.values))
}

// push adds a value whose bytes are in place.
func (t *MetaTable) push(k uint32, of jsontext.Kind, cell uint64) {
	t.cells = append(t.cells, cell)
	t.entryKey = append(t.entryKey, k)
	t.kinds = append(t.kinds, byte(of))
}

// Valid reports whether the value bytes are UTF-8 as a whole. If they are, so is each
// string. If not, the caller resets t, sets strict and adds the rows again, so that each
// string is repaired on its own.
func (t *MetaTable) Valid() bool { return utf8.Valid(t.values) }

// plainEnds reports whether s is empty, or begins and ends with ASCII. Such strings can be
// checked for UTF-8 together, because a neighbour cannot complete an invalid one.
func plainEnds(s string) bool {
	return s == "" || s[0] < utf8.RuneSelf && s[len(s)-1] < utf8.RuneSelf
}

func span64(from, to int) uint64 { return uint64(from) | uint64(to-from)<<32 }

// Size returns the length of the section.
func (t *MetaTable) Size() int {
	return metaHead + 13*len(t.cells) + 4*len(t.rowOff) + 4*(len(t.keys)+1) + t.keyBytes + len(t.values)
}

// Put writes the section.
func (t *MetaTable) Put(dst []byte) {
	le := binary.LittleEndian
	le.PutUint32(dst, uint32(len(t.keys)))
	le.PutUint32(dst[4:], uint32(len(t.cells)))
	le.PutUint32(dst[8:], uint32(t.keyBytes))
	le.PutUint32(dst[12:], uint32(len(t.values)))
	dst = dst[metaHead:]
	inplace.PutU64s(dst, t.cells)
	dst = dst[8*len(t.cells):]
	inplace.PutU32s(dst, t.rowOff)
	dst = dst[4*len(t.rowOff):]
	off := uint32(0)
	le.PutUint32(dst, 0)
	for i, k := range t.keys {
		off += uint32(len(k))
		le.PutUint32(dst[4*i+4:], off)
	}
	dst = dst[4*len(t.keys)+4:]
	inplace.PutU32s(dst, t.entryKey)
	dst = dst[4*len(t.entryKey):]
	dst = dst[copy(dst, t.kinds):]
	for _, k := range t.keys {
		dst = dst[copy(dst, k):]
	}
	copy(dst, t.values)
}
