package wasmbin

import "fmt"

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

// sectionOrder is the place of each section in a module; custom ones stand anywhere.
var sectionOrder = [sections]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secTag: 6,
	secGlobal: 7, secExport: 8, secStart: 9, secElement: 10, secDataCount: 11, secCode: 12, secData: 13}

// section is one section of the file.
type section struct {
	id   byte
	name string // of a custom section
	// pos and end bound the content; that of a custom section starts behind its name.
	pos, end int
}

// module is a decoded module, all but its code.
type module struct {
	bin      []byte
	sections []section // as they stand in the file
	index    [sections]int
	types    []FuncType
	info     Info
	// imported counts the imports of each kind.
	imported [KindTag + 1]int
	// funcs are the type indices of all functions, imports first.
	funcs     []uint32
	globals   []GlobalType // imports first
	tables    []TableType  // imports first
	memories  []Limits     // imports first
	tags      int
	dataCount int // -1 without a data count section
	// hostInTable is set when an imported function can be reached by an
	// indirect call.
	hostInTable bool
}

// parse decodes everything but the code. The counts it finds are bounded by the
// file's size.
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
			m.info.Customs = append(m.info.Customs, CustomSection{Name: s.name, Data: m.bin[s.pos:s.end:s.end]})
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

// content is a reader for the section of that id, false when there is none.
func (m *module) content(id byte) (reader, bool) {
	if m.index[id] == 0 {
		return reader{}, false
	}
	s := m.sections[m.index[id]-1]
	return reader{buf: m.bin, pos: s.pos, end: s.end, section: sectionNames[id]}, true
}

// checkCounts compares what several sections must agree on.
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

func (r *reader) valueType(what string) ValueType {
	at := r.pos
	t := ValueType(r.byte(what))
	switch {
	case r.err != nil || t.known():
	case t.reference():
		r.fail(ErrUnsupported, at, "%s: a typed function reference", what)
	default:
		r.fail(ErrMalformed, at, "%s: unknown value type %#x", what, byte(t))
	}
	return t
}

func (r *reader) refType(what string) ValueType {
	at := r.pos
	t := r.valueType(what)
	if r.err == nil && t != FuncRef && t != ExternRef && t != ExnRef {
		r.fail(ErrMalformed, at, "%s: %v is no reference type", what, t)
	}
	return t
}

func (m *module) readTypes(r *reader) {
	n := r.count(3, "the types")
	m.types = make([]FuncType, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		switch form := r.byte("a type"); form {
		case 0x60:
			m.types = append(m.types, FuncType{Params: r.valueTypes("parameters"), Results: r.valueTypes("results")})
		case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
			r.fail(ErrUnsupported, at, "type form %#x (garbage collection)", form)
		default:
			r.fail(ErrMalformed, at, "unknown type form %#x", form)
		}
	}
}

func (r *reader) valueTypes(what string) []ValueType {
	n := r.count(1, what)
	if n == 0 {
		return nil
	}
	ts := make([]ValueType, n)
	for i := range ts {
		ts[i] = r.valueType(what)
	}
	return ts
}

// funcType reads a type index and returns it when it is in range.
func (m *module) typeIndex(r *reader) uint32 {
	at := r.pos
	i := r.u32("a type index")
	if r.err == nil && int(i) >= len(m.types) {
		r.fail(ErrMalformed, at, "type %d of %d", i, len(m.types))
		return 0
	}
	return i
}

func (m *module) readImports(r *reader) {
	for n := r.count(4, "the imports"); n > 0 && r.err == nil; n-- {
		im := Import{Module: r.name("an import's module"), Name: r.name("an import's name")}
		at := r.pos
		im.Kind = Kind(r.byte("an import's kind"))
		switch im.Kind {
		case KindFunc:
			m.funcs = append(m.funcs, m.typeIndex(r))
			if r.err == nil {
				im.Func = m.types[m.funcs[len(m.funcs)-1]]
			}
		case KindTable:
			im.Table = TableType{Elem: r.refType("an imported table"), Limits: r.limits("table")}
			m.tables = append(m.tables, im.Table)
		case KindMemory:
			im.Memory = m.memory(r)
			m.memories = append(m.memories, im.Memory)
		case KindGlobal:
			im.Global = r.globalType()
			m.globals = append(m.globals, im.Global)
		case KindTag:
			m.tag(r)
		default:
			r.fail(ErrMalformed, at, "import %q %q of unknown kind %d", im.Module, im.Name, im.Kind)
			return
		}
		m.imported[im.Kind]++
		m.info.Imports = append(m.info.Imports, im)
	}
}

func (m *module) tag(r *reader) {
	r.zero("the attribute of a tag")
	m.typeIndex(r)
	m.tags++
	m.info.Uses.Exceptions = true
}

func (m *module) readTags(r *reader) {
	for n := r.count(2, "the tags"); n > 0 && r.err == nil; n-- {
		m.tag(r)
	}
}

func (r *reader) limits(what string) Limits {
	at := r.pos
	flags := r.byte(what + " limits")
	if flags&^3 != 0 {
		if flags < 8 {
			r.fail(ErrUnsupported, at, "a 64-bit %s (memory64)", what)
		} else {
			r.fail(ErrMalformed, at, "%s limits with flags %#x", what, flags)
		}
		return Limits{}
	}
	l := Limits{Min: uint64(r.u32("a minimum")), HasMax: flags&1 != 0, Shared: flags&2 != 0}
	if l.HasMax {
		if l.Max = uint64(r.u32("a maximum")); l.Max < l.Min {
			r.fail(ErrMalformed, at, "%s maximum %d below its minimum %d", what, l.Max, l.Min)
		}
	}
	if l.Shared && what == "table" {
		r.fail(ErrMalformed, at, "a shared table")
	}
	return l
}

func (m *module) memory(r *reader) Limits {
	at := r.pos
	l := r.limits("memory")
	if l.Min > MaxPages || l.Max > MaxPages {
		r.fail(ErrMalformed, at, "a memory of more than %d pages", MaxPages)
	}
	if l.Shared {
		m.info.Uses.Threads = true
		if !l.HasMax {
			r.fail(ErrMalformed, at, "a shared memory without a maximum")
		}
	}
	return l
}

func (r *reader) globalType() GlobalType {
	g := GlobalType{Type: r.valueType("a global's type")}
	at := r.pos
	switch mut := r.byte("a global's mutability"); mut {
	case 0:
	case 1:
		g.Mutable = true
	default:
		r.fail(ErrMalformed, at, "global mutability %d", mut)
	}
	return g
}

func (m *module) readFunctions(r *reader) {
	n := r.count(1, "the functions")
	m.info.Functions = n
	for i := 0; i < n && r.err == nil; i++ {
		m.funcs = append(m.funcs, m.typeIndex(r))
	}
}

func (m *module) readTables(r *reader) {
	for n := r.count(3, "the tables"); n > 0 && r.err == nil; n-- {
		if r.pos < r.end && r.buf[r.pos] == 0x40 {
			r.fail(ErrUnsupported, r.pos, "a table with an initialiser (typed function references)")
			return
		}
		m.tables = append(m.tables, TableType{Elem: r.refType("a table"), Limits: r.limits("table")})
	}
	m.info.Tables = m.tables[m.imported[KindTable]:]
}

func (m *module) readMemories(r *reader) {
	for n := r.count(2, "the memories"); n > 0 && r.err == nil; n-- {
		m.memories = append(m.memories, m.memory(r))
	}
	m.info.Memories = m.memories[m.imported[KindMemory]:]
}

func (m *module) readGlobals(r *reader) {
	for n := r.count(3, "the globals"); n > 0 && r.err == nil; n-- {
		g := r.globalType()
		m.constExpr(r, nil)
		m.globals = append(m.globals, g)
	}
	m.info.Globals = m.globals[m.imported[KindGlobal]:]
}

func (m *module) readExports(r *reader) {
	n := r.count(3, "the exports")
	seen := make(map[string]bool, n)
	for ; n > 0 && r.err == nil; n-- {
		at := r.pos
		e := Export{Name: r.name("an export's name")}
		e.Kind = Kind(r.byte("an export's kind"))
		e.Index = r.u32("an export's index")
		if r.err != nil {
			return
		}
		if seen[e.Name] {
			r.fail(ErrMalformed, at, "export %q appears twice", e.Name)
			return
		}
		seen[e.Name] = true
		if !m.resolve(&e) {
			r.fail(ErrMalformed, at, "export %q is %v %d, which does not exist", e.Name, e.Kind, e.Index)
			return
		}
		m.info.Exports = append(m.info.Exports, e)
	}
}

// resolve fills in what the export stands for; false when its index is out of range.
func (m *module) resolve(e *Export) bool {
	i := int(e.Index)
	switch {
	case e.Kind == KindFunc && i < len(m.funcs):
		e.Func = m.types[m.funcs[i]]
	case e.Kind == KindTable && i < len(m.tables):
		e.Table = m.tables[i]
	case e.Kind == KindMemory && i < len(m.memories):
		e.Memory = m.memories[i]
	case e.Kind == KindGlobal && i < len(m.globals):
		e.Global = m.globals[i]
	case e.Kind == KindTag && i < m.tags:
	default:
		return false
	}
	return true
}

func (m *module) readStart(r *reader) {
	at := r.pos
	i := r.u32("the start function")
	switch {
	case r.err != nil:
	case int(i) >= len(m.funcs):
		r.fail(ErrMalformed, at, "function %d of %d", i, len(m.funcs))
	case len(m.types[m.funcs[i]].Params)+len(m.types[m.funcs[i]].Results) > 0:
		r.fail(ErrMalformed, at, "function %d has signature %v instead of () -> ()", i, m.types[m.funcs[i]])
	}
	m.info.Start, m.info.HasStart = i, true
}

func (m *module) readDataCount(r *reader) {
	m.dataCount = int(r.u32("the number of data segments"))
}

func (m *module) readData(r *reader) {
	n := r.count(2, "the data segments")
	m.info.DataSegments = n
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		switch flag := r.u32("a data segment"); flag {
		case 0:
			m.constExpr(r, nil)
		case 1:
		case 2:
			r.index(1, "memory")
			m.constExpr(r, nil)
		default:
			r.fail(ErrMalformed, at, "data segment of unknown kind %d", flag)
		}
		m.info.DataBytes += len(r.take(r.u32("a data segment's size"), "a data segment"))
	}
}

// readElements checks the element segments; see [moveElements] for their flavours.
func (m *module) readElements(r *reader) {
	m.info.ElemSegments = m.elements(r, nil)
}
