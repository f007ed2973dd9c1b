package authoring

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/host/lines"
)

// addLines adds the lines of source to a module that was built for debugging: those of its DWARF,
// or of the source map that AssemblyScript writes beside it. Without either it returns the
// module as it is. dirs are the folders of the project: files in them get relative names.
func addLines(wasm []byte, mapFile string, dirs ...string) ([]byte, error) {
	sections, err := wasmSections(wasm)
	if err != nil {
		return nil, err
	}
	b := lineBuilder{dirs: dirs, files: map[string]uint32{}, places: map[sourcePlace]uint32{}}
	if text, rerr := os.ReadFile(mapFile); rerr == nil {
		err = b.sourceMap(text, sections[codeSection].at)
	} else if sections[".debug_line"].content != nil {
		err = b.dwarf(sections)
	}
	if err != nil || len(b.table.Rows) == 0 {
		return wasm, err
	}
	content, err := b.table.Encode()
	if err != nil || len(content) > lines.MaxSize {
		return wasm, err // too many for a host
	}
	content = append(append(binary.AppendUvarint(nil, uint64(len(lines.Section))), lines.Section...), content...)
	return append(binary.AppendUvarint(append(wasm, 0), uint64(len(content))), content...), nil
}

// codeSection is the name of the code section in wasmSections.
const codeSection = "code"

// wasmSection is the content of a section, and its offset in the module.
type wasmSection struct {
	content []byte
	at      int
}

// wasmSections returns the custom sections of a module, and its code section.
func wasmSections(wasm []byte) (map[string]wasmSection, error) {
	out := map[string]wasmSection{}
	const header = 8
	if len(wasm) < header {
		return nil, errors.New("lines of source: the module ends early")
	}
	for at := header; at < len(wasm); {
		id := wasm[at]
		size, n := binary.Uvarint(wasm[at+1:])
		at += 1 + n
		if n <= 0 || size > uint64(len(wasm)-at) {
			return nil, errors.New("lines of source: a section of the module ends early")
		}
		content := wasm[at : at+int(size)]
		switch id {
		case 0:
			if length, n := binary.Uvarint(content); n > 0 && length <= uint64(len(content)-n) {
				out[string(content[n:n+int(length)])] = wasmSection{content[n+int(length):], at}
			}
		case 10:
			out[codeSection] = wasmSection{content, at}
		}
		at += int(size)
	}
	return out, nil
}

// sourcePlace is a line of source, and 1 + the index of the place it was written into.
type sourcePlace struct{ file, line, caller uint32 }

// lineBuilder makes a table of lines.
type lineBuilder struct {
	table  lines.Table
	dirs   []string
	files  map[string]uint32
	places map[sourcePlace]uint32
}

// file returns the index of a file. Files of the project get names relative to its folder.
func (b *lineBuilder) file(name string) uint32 {
	i, known := b.files[name]
	if !known {
		short := name
		for _, dir := range b.dirs {
			if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
				short = filepath.ToSlash(rel)
				break
			}
		}
		i = uint32(len(b.table.Files))
		b.table.Files, b.files[name] = append(b.table.Files, short), i
	}
	return i
}

// place returns 1 + the index of a place.
func (b *lineBuilder) place(p sourcePlace) uint32 {
	i, known := b.places[p]
	if !known {
		b.table.Places = append(b.table.Places, p.file, p.line, p.caller)
		i = uint32(len(b.table.Places) / 3)
		b.places[p] = i
	}
	return i
}

// row says from where the code at an offset is, 0 for an unknown place.
func (b *lineBuilder) row(offset uint64, place uint32) {
	if n := len(b.table.Rows); offset <= 1<<31 && (n == 0 || b.table.Rows[n-1] != place) {
		b.table.Rows = append(b.table.Rows, uint32(offset), place)
	}
}

// sourceMap reads a source map, whose columns are offsets in the module. code is the offset of
// the content of its code section.
func (b *lineBuilder) sourceMap(text []byte, code int) error {
	var m struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("source map: %w", err)
	}
	var column, source, line int
	for _, segment := range strings.Split(m.Mappings, ",") {
		values, err := base64VLQ(segment)
		if err != nil {
			return fmt.Errorf("source map: %w", err)
		}
		if len(values) > 0 {
			column += values[0]
		}
		if len(values) < 4 {
			continue
		}
		source, line = source+values[1], line+values[2]
		if column < code || source < 0 || source >= len(m.Sources) || line < 0 {
			continue
		}
		b.row(uint64(column-code), b.place(sourcePlace{file: b.file(m.Sources[source]), line: uint32(line) + 1}))
	}
	return nil
}

// base64VLQ reads the numbers of a segment of a source map.
func base64VLQ(segment string) (values []int, err error) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	value, shift := 0, 0
	for i := range len(segment) {
		d := strings.IndexByte(digits, segment[i])
		if d < 0 || shift > 30 {
			return nil, fmt.Errorf("%q is no list of numbers", segment)
		}
		value |= d & 31 << shift
		if shift += 5; d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		values, value, shift = append(values, value/2), 0, 0
	}
	return values, nil
}

// pieceOf is code of one line, or of one function that the compiler wrote into another.
type pieceOf struct {
	from, to uint64
	// file and line are those of the code, or of the call for a function.
	file uint32
	line int
}

// dwarf reads the lines of all units.
func (b *lineBuilder) dwarf(sections map[string]wasmSection) error {
	s := func(name string) []byte { return sections[name].content }
	d, err := dwarf.New(s(".debug_abbrev"), nil, nil, s(".debug_info"), s(".debug_line"), nil, s(".debug_ranges"), s(".debug_str"))
	if err != nil {
		return fmt.Errorf("debug information: %w", err)
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if content := s(name); content != nil {
			if err := d.AddSection(name, content); err != nil {
				return fmt.Errorf("debug information: %w", err)
			}
		}
	}
	code := uint64(len(s(codeSection)))
	var rows, inlined []pieceOf
	var files []*dwarf.LineFile
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			return fmt.Errorf("debug information: %w", err)
		}
		if e == nil {
			break
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			if rows, files, err = b.unit(d, e, code, rows); err != nil {
				return fmt.Errorf("debug information: %w", err)
			}
		case dwarf.TagInlinedSubroutine:
			inlined = b.inlined(d, e, files, code, inlined)
		}
	}
	b.merge(rows, inlined)
	return nil
}

// unit adds the lines of a unit, and returns its files. The linker leaves lines of functions that
// it has removed, at the address 0 or behind the code.
func (b *lineBuilder) unit(d *dwarf.Data, unit *dwarf.Entry, code uint64, rows []pieceOf) ([]pieceOf, []*dwarf.LineFile, error) {
	r, err := d.LineReader(unit)
	if err != nil || r == nil {
		return rows, nil, err
	}
	var last dwarf.LineEntry
	open, removed := false, false
	for {
		var e dwarf.LineEntry
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return rows, r.Files(), nil
		} else if err != nil {
			return rows, nil, err
		}
		if !open {
			removed = e.Address == 0 || e.Address >= code
		} else if !removed && e.Address > last.Address && last.File != nil {
			rows = append(rows, pieceOf{last.Address, e.Address, b.file(last.File.Name), last.Line})
		}
		last, open = e, !e.EndSequence
	}
}

// inlined adds the pieces of a function that was written into another, with the place of the call.
func (b *lineBuilder) inlined(d *dwarf.Data, e *dwarf.Entry, files []*dwarf.LineFile, code uint64, all []pieceOf) []pieceOf {
	file, _ := e.Val(dwarf.AttrCallFile).(int64)
	line, _ := e.Val(dwarf.AttrCallLine).(int64)
	ranges, err := d.Ranges(e)
	if err != nil || file < 0 || file >= int64(len(files)) || files[file] == nil {
		return all
	}
	for _, r := range ranges {
		if r[0] > 0 && r[0] < r[1] && r[1] <= code {
			all = append(all, pieceOf{r[0], r[1], b.file(files[file].Name), int(line)})
		}
	}
	return all
}

// merge makes rows of the table: for each piece of code its line, and the calls around it. A
// function that was written into another one comes after it in the debug information.
func (b *lineBuilder) merge(rows, inlined []pieceOf) {
	slices.SortStableFunc(rows, func(x, y pieceOf) int { return cmp.Compare(x.from, y.from) })
	slices.SortStableFunc(inlined, func(x, y pieceOf) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.to, x.to)) // the outer one first
	})
	var around []pieceOf
	next, end := 0, uint64(0)
	for _, row := range rows {
		if row.from < end { // another unit has the same code
			continue
		}
		if row.from > end && end > 0 {
			b.row(end, 0)
		}
		for at := row.from; at < row.to; {
			around = slices.DeleteFunc(around, func(p pieceOf) bool { return p.to <= at })
			for ; next < len(inlined) && inlined[next].from <= at; next++ {
				if inlined[next].to > at {
					around = append(around, inlined[next])
				}
			}
			caller, until := uint32(0), row.to
			for _, p := range around {
				caller, until = b.place(sourcePlace{p.file, uint32(p.line), caller}), min(until, p.to)
			}
			if next < len(inlined) {
				until = min(until, inlined[next].from)
			}
			b.row(at, b.place(sourcePlace{row.file, uint32(row.line), caller}))
			at = until
		}
		end = row.to
	}
	b.row(end, 0)
}
