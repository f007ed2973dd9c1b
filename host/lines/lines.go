// Package lines says from which lines of source the code of a module was made. A build for
// debugging writes a [Table] into the module, as the custom section [Section]. A host shows
// the lines in the stack of a trap.
//
// A table is small and simple where the information of compilers for debuggers (DWARF, source
// maps) is large and hard to read safely. So a host need not trust the module.
package lines

import (
	"encoding/json"
	"fmt"
	"sort"
)

// Section is the name of the custom section.
const Section = "anchor.lines"

// MaxSize is the most bytes of a section.
const MaxSize = 16 << 20

// Table maps offsets in the content of the code section to places in the source. The form of
// the section is JSON with lists of numbers.
type Table struct {
	// Files are the names of files, those of the project relative to its folder.
	Files []string `json:"files"`
	// Places holds three numbers for each place: the index of the file, the line, and 1 + the
	// index of the place whose function the compiler wrote this one into, 0 for none. That
	// index is lower than the place's own.
	Places []uint32 `json:"places"`
	// Rows holds two numbers for each piece of code, in the order of the code: its offset in
	// bytes, and 1 + the index of its place, 0 for none.
	Rows []uint32 `json:"rows"`
}

// The numbers of a place and of a row.
const (
	perPlace = 3
	perRow   = 2
)

// Parse reads a section. It refuses indices that lead nowhere.
func Parse(section []byte) (*Table, error) {
	if len(section) > MaxSize {
		return nil, fmt.Errorf("lines: %d bytes, allowed %d", len(section), MaxSize)
	}
	t := new(Table)
	if err := json.Unmarshal(section, t); err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	if len(t.Places)%perPlace != 0 || len(t.Rows)%perRow != 0 {
		return nil, fmt.Errorf("lines: %d numbers of places and %d of rows (want multiples of %d and %d)", len(t.Places), len(t.Rows), perPlace, perRow)
	}
	for i := 0; i < len(t.Places); i += perPlace {
		if file, caller := t.Places[i], t.Places[i+2]; int64(file) >= int64(len(t.Files)) || int(caller) > i/perPlace {
			return nil, fmt.Errorf("lines: place %d: file %d, caller %d: there is none (it has %d files)", i/perPlace, file, caller, len(t.Files))
		}
	}
	for i := 0; i < len(t.Rows); i += perRow {
		if at, place := t.Rows[i], t.Rows[i+1]; int64(place) > int64(len(t.Places)/perPlace) || i > 0 && at < t.Rows[i-perRow] {
			return nil, fmt.Errorf("lines: row %d: there is no place %d, or its offset %d is lower than the one before", i/perRow, place, at)
		}
	}
	return t, nil
}

// maxInlined bounds the places of one offset.
const maxInlined = 8

// At returns the places of the code at an offset, such as "plugin.c:12": the innermost first,
// and after it those whose functions the compiler wrote it into, at most eight.
func (t *Table) At(offset uint32) (places []string) {
	n := len(t.Rows) / perRow
	i := sort.Search(n, func(i int) bool { return t.Rows[i*perRow] > offset })
	if i == 0 {
		return nil
	}
	for place := t.Rows[(i-1)*perRow+1]; place > 0 && len(places) < maxInlined; {
		p := t.Places[(place-1)*perPlace:]
		places = append(places, fmt.Sprintf("%s:%d", t.Files[p[0]], p[1]))
		place = p[2]
	}
	return places
}

// Encode returns the content of the section.
func (t *Table) Encode() ([]byte, error) { return json.Marshal(t) }
