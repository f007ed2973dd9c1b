package wasmbin

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Section ids of the binary format.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
	sections     = 14
)

var sectionNames = [sections]string{"custom", "type", "import", "function", "table", "memory", "global", "export",
	"start", "element", "code", "data", "data count", "tag"}

// sectionOrder is the position of each section in a module. Custom sections can stand
// anywhere.
var sectionOrder = [sections]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secTag: 6,
	secGlobal: 7, secExport: 8, secStart: 9, secElement: 10, secDataCount: 11, secCode: 12, secData: 13}

// section is one section of the file.
type section struct {
	id   byte
	name string // of a custom section
	// pos and end are the offsets of the content. The content of a custom section begins
	// behind its name.
	pos, end int
}

// module is a decoded module without its code.
type module struct {
	bin      []byte
	sections []section // in the order of the file
	index    [sections]int
	types    []FuncType
	info     Info
	// known reports that info already has the facts of the code.
	known bool
	// imported counts the imports of each kind.
	imported [KindTag + 1]int
	// funcs are the type indices of all functions, imports first.
	funcs     []uint32
	globals   []GlobalType // imports first
	tables    []TableType  // imports first
	memories  []Limits     // imports first
	tags      int
	toll      toll
	dataCount int // -1 without a data count section
	// hostInTable is set if an indirect call can reach an imported function.
	hostInTable bool
	// light and inert report, for each imported function, MeterOptions.Light and
	// MeterOptions.Inert.
	light, inert []bool
}

// parse decodes everything but the code. The size of the file bounds all counts.
func parse(bin []byte) (*module, error) {
	if err := checkMagic(bin); err != nil {
		return nil, err
	}
	m := &module{bin: bin, dataCount: -1}
	m.info.Size = len(bin)
	if err := m.split(); err != nil {
		return nil, err
	}
	decoders := [...]struct {
		id byte
		f  func(*reader)
	}{
		{secType, m.readTypes}, {secImport, m.readImports}, {secFunction, m.readFunctions}, {secTable, m.readTables},
		{secMemory, m.readMemories}, {secTag, m.readTags}, {secGlobal, m.readGlobals}, {secExport, m.readExports},
		{secStart, m.readStart}, {secElement, m.readElements}, {secDataCount, m.readDataCount}, {secData, m.readData},
	}
	for _, d := range decoders {
		r, ok := m.content(d.id)
		if !ok {
			continue
		}
		d.f(&r)
		if err := r.finish("the " + sectionNames[d.id] + " section's content"); err != nil {
			return nil, err
		}
	}
	return m, m.checkCounts()
}

// split finds the sections and checks their order.
func (m *module) split() error {
	r := reader{buf: m.bin, pos: 8, end: len(m.bin)}
	last := 0
	for !r.done() {
		at := r.pos
		id := r.byte("a section")
		if id >= sections {
			r.fail(ErrMalformed, at, "unknown section id %d", id)
			break
		}
		size := r.u32("a section's size")
		r.section = sectionNames[id]
		content := r.sub(size, "the section")
		if r.err != nil {
			break
		}
		s := section{id: id, pos: content.pos, end: content.end}
		if id == secCustom {
			s.name = content.name("a custom section's name")
			if content.err != nil {
				return content.err
			}
			s.pos = content.pos
			if err := m.addCustom(s, at); err != nil {
				return err
			}
		} else if err := m.checkOrder(id, at, &last); err != nil {
			return err
		}
		m.sections = append(m.sections, s)
		if id != secCustom {
			m.index[id] = len(m.sections)
		}
		r.section = ""
	}
	return r.err
}

// addCustom notes a custom section that begins at an offset of the file.
func (m *module) addCustom(s section, at int) error {
	if n := len(m.info.Customs); n >= MaxCustoms {
		return &LimitError{What: "custom sections", Value: uint64(n + 1), Max: MaxCustoms}
	}
	if len(s.name) > MaxCustomName {
		return &LimitError{What: "name of a custom section", Value: uint64(len(s.name)), Max: MaxCustomName, Unit: "bytes"}
	}
	m.info.Customs = append(m.info.Customs, CustomSection{Name: s.name, At: at, Length: s.end - at, Size: s.end - s.pos,
		Data: m.bin[s.pos:s.end:s.end]})
	return nil
}

func (m *module) checkOrder(id byte, at int, last *int) error {
	what := "out of order"
	if m.index[id] != 0 {
		what = "appears twice"
	} else if sectionOrder[id] > *last {
		*last = sectionOrder[id]
		return nil
	}
	return &FormatError{Kind: ErrMalformed, Offset: at, Section: sectionNames[id], Detail: what}
}

// content returns a reader for the section with that id. It reports false if there is none.
func (m *module) content(id byte) (reader, bool) {
	if m.index[id] == 0 {
		return reader{}, false
	}
	s := m.sections[m.index[id]-1]
	return reader{buf: m.bin, pos: s.pos, end: s.end, section: sectionNames[id]}, true
}

// checkCounts compares the counts on which several sections must agree.
func (m *module) checkCounts() error {
	bad := func(section, format string, args ...any) error {
		return &FormatError{Kind: ErrMalformed, Offset: -1, Section: section, Detail: fmt.Sprintf(format, args...)}
	}
	bodies := 0
	if r, ok := m.content(secCode); ok {
		bodies = r.count(1, "the function bodies")
		if r.err != nil {
			return r.err
		}
		m.info.CodeSize = m.sections[m.index[secCode]-1].end - m.sections[m.index[secCode]-1].pos
	}
	switch {
	case bodies != m.info.Functions:
		return bad("code", "%d function bodies for %d declared functions", bodies, m.info.Functions)
	case m.dataCount >= 0 && m.dataCount != m.info.DataSegments:
		return bad("data count", "%d data segments announced, %d found", m.dataCount, m.info.DataSegments)
	case len(m.memories) > 1:
		return &FormatError{Kind: ErrUnsupported, Offset: -1, Section: "memory",
			Detail: fmt.Sprintf("%d memories (multiple memories)", len(m.memories))}
	}
	return nil
}

// toll adds up the memory and time for the functions of a module.
type toll struct {
	// work is the memory in bytes for all functions in the compiler, largest that of the
	// largest function. nanos is the time for all functions, long that of the slowest.
	work, largest, nanos  uint64
	largestFunc, longFunc uint32
	long                  uint64
	// ops counts the instructions and locals for the interpreter, most those of the
	// function with the most.
	ops, most uint64
	mostFunc  uint32
	locals    uint64
	frame     uint64
	frameFunc uint32
	values    uint64 // parameters and results of all types
}

// Custom returns the content of the first custom section of that name. It reads only the
// headers of sections. data aliases bin.
func Custom(bin []byte, name string) (data []byte, ok bool, err error) {
	if err := checkMagic(bin); err != nil {
		return nil, false, err
	}
	m := &module{bin: bin}
	if err := m.split(); err != nil {
		return nil, false, err
	}
	data, ok = m.info.Custom(name)
	return data, ok, nil
}

// AppendCustom returns a copy of the module with a custom section added at its
// end. Sections of the same name are kept; readers take the first.
func AppendCustom(bin []byte, name string, data []byte) ([]byte, error) {
	if err := checkMagic(bin); err != nil {
		return nil, err
	}
	if err := (&module{bin: bin}).split(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("custom section name %q: not valid UTF-8", name)
	}
	size := uint64(sizeU32(uint32(len(name)))) + uint64(len(name)) + uint64(len(data))
	if size > math.MaxUint32 {
		return nil, &LimitError{What: fmt.Sprintf("custom section %q", name), Value: size, Max: math.MaxUint32, Unit: "bytes"}
	}
	out := append(make([]byte, 0, len(bin)+6+int(size)), bin...)
	out = appendU32(append(out, secCustom), uint32(size))
	return append(appendName(out, name), data...), nil
}
