package component

import "bytes"

// coreModule is a core module as the linker needs it. Its byte slices alias the file.
type coreModule struct {
	types   []string // the bytes of each type
	imports []coreImport
	funcs   []uint32 // the type of each own function
	tables  []tableType
	memory  *limits
	globals []globalDef
	exports []coreExport
	start   int // -1 if there is none
	elems   []segment
	datas   []segment
	bodies  [][]byte
}

type coreImport struct {
	module, name string
	kind         byte
	typ          uint32
	table        tableType
	memory       limits
	global       [2]byte
}

type coreExport struct {
	name  string
	kind  byte
	index uint32
}

// limits are those of a memory or table.
type limits struct {
	min, max uint32
	bounded  bool
}

type tableType struct {
	ref byte
	limits
}

type globalDef struct {
	typ  [2]byte // the type of the value, and 1 if it can change
	init []byte  // a constant expression with its end
}

// segment is one of elements or of data.
type segment struct {
	mode   byte // active, passive or declared
	table  uint32
	offset []byte // a constant expression, of active segments
	ref    byte
	funcs  []int64 // function indices, -1 for null
	bytes  []byte
}

const (
	active = iota
	passive
	declared
)

const funcRef, externRef = 0x70, 0x6f

var coreHeader = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// readCore reads a core module.
func readCore(bin []byte) (*coreModule, error) {
	m := &coreModule{start: -1}
	r := &reader{buf: bin}
	if !bytes.HasPrefix(bin, coreHeader) {
		r.fail(ErrMalformed, "a core module begins otherwise")
	}
	r.pos = min(len(coreHeader), len(bin))
	elements := 0
	for !r.done() {
		id := r.byte()
		part := r.sub(r.u32())
		m.section(id, part, &elements)
		r.ended(part)
	}
	if r.err == nil && len(m.bodies) != len(m.funcs) {
		r.fail(ErrMalformed, "%d functions have %d bodies", len(m.funcs), len(m.bodies))
	}
	return m, r.err
}

func (m *coreModule) section(id byte, r *reader, elements *int) {
	switch id {
	case 0, 12: // custom sections, and the number of data segments
		r.pos = len(r.buf)
	case 1:
		r.list(func() { m.types = append(m.types, funcType(r)) })
	case 2:
		r.list(func() { m.imports = append(m.imports, m.imported(r)) })
	case 3:
		r.list(func() { m.funcs = append(m.funcs, r.u32()) })
	case 4:
		r.list(func() { m.tables = append(m.tables, readTable(r)) })
	case 5:
		r.list(func() {
			if m.memory != nil {
				r.fail(ErrUnsupported, "several memories")
			}
			l := readLimits(r)
			m.memory = &l
		})
	case 6:
		r.list(func() {
			g := globalDef{typ: [2]byte{r.byte(), r.byte()}}
			g.init = constant(r)
			m.globals = append(m.globals, g)
		})
	case 7:
		r.list(func() { m.exports = append(m.exports, coreExport{r.name(), r.byte(), r.u32()}) })
	case 8:
		m.start = int(r.u32())
	case 9:
		r.list(func() { m.elems = append(m.elems, readElements(r, elements)) })
	case 10:
		r.list(func() { m.bodies = append(m.bodies, r.take(r.u32())) })
	case 11:
		r.list(func() { m.datas = append(m.datas, readData(r)) })
	default:
		r.fail(ErrUnsupported, "section %d of a core module", id)
	}
}

// funcType reads a type and returns its bytes.
func funcType(r *reader) string {
	at := r.pos
	if r.byte() != 0x60 {
		r.fail(ErrUnsupported, "a type that is none of a function")
	}
	for range 2 {
		r.list(func() { r.byte() })
	}
	if r.err != nil {
		return ""
	}
	return string(r.buf[at:r.pos])
}

func (m *coreModule) imported(r *reader) coreImport {
	i := coreImport{module: r.name(), name: r.name(), kind: r.byte()}
	switch i.kind {
	case sortFunc:
		i.typ = r.u32()
		if int64(i.typ) >= int64(len(m.types)) {
			r.fail(ErrMalformed, "import of type %d", i.typ)
		}
	case sortTable:
		i.table = readTable(r)
	case sortMemory:
		i.memory = readLimits(r)
	case sortGlobal:
		i.global = [2]byte{r.byte(), r.byte()}
	default:
		r.fail(ErrUnsupported, "an import of kind %d", i.kind)
	}
	return i
}

func readTable(r *reader) tableType {
	return tableType{ref: refType(r), limits: readLimits(r)}
}

func refType(r *reader) byte {
	t := r.byte()
	if t != funcRef && t != externRef {
		r.fail(ErrUnsupported, "a reference of type %#x", t)
	}
	return t
}

func readLimits(r *reader) limits {
	l := limits{}
	switch flags := r.byte(); flags {
	case 0:
		l.min = r.u32()
	case 1:
		l.min, l.max, l.bounded = r.u32(), r.u32(), true
	default:
		r.fail(ErrUnsupported, "limits of form %#x, such as those of shared memories", flags)
	}
	return l
}

// constant reads a constant expression and returns its bytes, with the end.
func constant(r *reader) []byte {
	at := r.pos
	for {
		var in instr
		r.next(&in)
		if r.err != nil {
			return nil
		}
		if in.op == opEnd {
			return r.buf[at:r.pos]
		}
	}
}

func readElements(r *reader, elements *int) segment {
	flags := r.u32()
	if flags > 7 {
		r.fail(ErrUnsupported, "elements of form %#x", flags)
	}
	s := segment{mode: active, ref: funcRef}
	if flags&1 != 0 {
		if s.mode = passive; flags&2 != 0 {
			s.mode = declared
		}
	} else {
		if flags&2 != 0 {
			s.table = r.u32()
		}
		s.offset = constant(r)
	}
	if flags&3 != 0 {
		if flags&4 != 0 {
			s.ref = refType(r)
		} else if r.byte() != 0 {
			r.fail(ErrUnsupported, "elements that are no functions")
		}
	}
	for n := r.count(maxElements); n > 0 && r.err == nil; n-- {
		if *elements++; *elements > maxElements {
			r.fail(ErrUnsupported, "more than %d elements", maxElements)
		}
		if flags&4 == 0 {
			s.funcs = append(s.funcs, int64(r.u32()))
		} else {
			s.funcs = append(s.funcs, element(r))
		}
	}
	return s
}

// element reads an expression for an element: a function or null.
func element(r *reader) int64 {
	var in instr
	f := int64(-1)
	if r.next(&in); in.op == opRefFunc {
		f = int64(in.x)
	} else if in.op != opRefNull {
		r.fail(ErrUnsupported, "an element by opcode %#x", in.op)
	}
	if r.byte() != opEnd {
		r.fail(ErrUnsupported, "an element of several instructions")
	}
	return f
}

func readData(r *reader) segment {
	s := segment{mode: active}
	switch flags := r.u32(); flags {
	case 0:
		s.offset = constant(r)
	case 1:
		s.mode = passive
	default:
		r.fail(ErrUnsupported, "data of form %d", flags)
	}
	s.bytes = r.take(r.u32())
	return s
}
