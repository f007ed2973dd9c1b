package wasmbin

// The three flag bits of an element segment, which together give 8 kinds.
const (
	elemInactive = 1 // passive or declarative
	elemExplicit = 2 // with a table index, or declarative when inactive
	elemExprs    = 4 // elements are expressions, not function indices
)

// elements reads the element segments and returns their number. If out is not nil, it
// appends the segments to out, with new function indices.
func (m *module) elements(r *reader, out *output) int {
	n := r.bounded(2, MaxDeclared, "the element segments")
	out.u32(uint32(n))
	left := MaxTable
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		flags := r.u32("an element segment")
		if flags > 7 {
			r.fail(ErrMalformed, at, "element segment of unknown kind %d", flags)
			return 0
		}
		out.u32(flags)
		m.elementHead(r, flags, out)
		if flags&elemExprs != 0 {
			left -= m.elementExprs(r, out)
		} else {
			left -= m.elementFuncs(r, out)
		}
		if left < 0 {
			r.exceed("the elements of all segments", MaxTable-left, MaxTable)
		}
	}
	return n
}

// elementHead reads the parts before the elements: table, offset and type.
func (m *module) elementHead(r *reader, flags uint32, out *output) {
	if flags&elemInactive == 0 {
		if flags&elemExplicit != 0 {
			out.u32(m.tableIndex(r))
		}
		m.constExpr(r, out)
	}
	if flags&(elemInactive|elemExplicit) == 0 {
		return
	}
	if flags&elemExprs != 0 {
		out.byte(byte(r.refType("an element segment's type")))
		return
	}
	r.zero("an element segment's kind")
	out.byte(0)
}

// elementExprs and elementFuncs read the elements and return their number.
func (m *module) elementExprs(r *reader, out *output) int {
	n := r.count(2, "the elements")
	out.u32(uint32(n))
	for i := 0; i < n && r.err == nil; i++ {
		m.constExpr(r, out)
	}
	return n
}

func (m *module) elementFuncs(r *reader, out *output) int {
	n := r.count(1, "the elements")
	out.u32(uint32(n))
	for i := 0; i < n && r.err == nil; i++ {
		f := m.funcIndex(r)
		m.escapes(f)
		out.function(f)
	}
	return n
}

// escapes notes that a function can be called through a reference.
func (m *module) escapes(i uint32) {
	if int(i) < m.imported[KindFunc] {
		m.hostInTable = true
	}
}

func (m *module) funcIndex(r *reader) uint32 {
	return r.index(len(m.funcs), "function")
}

func (m *module) tableIndex(r *reader) uint32 {
	return r.index(len(m.tables), "table")
}

// index reads an index below n. It refuses other indices, with which a guest could reach
// what metering adds behind its own declarations.
func (r *reader) index(n int, space string) uint32 {
	at := r.pos
	i := r.u32("an index")
	if r.err == nil && int64(i) >= int64(n) {
		r.fail(ErrMalformed, at, "%s %d of %d", space, i, n)
		return 0
	}
	return i
}

// constExpr reads a constant expression. If out is not nil, it appends the expression to
// out, with new function indices.
func (m *module) constExpr(r *reader, out *output) {
	var in instr
	for r.err == nil {
		r.next(&in, nil)
		if r.err != nil {
			return
		}
		switch in.op {
		case opEnd:
			out.bytes(r.buf[in.at:r.pos])
			return
		case opRefFunc:
			r.pos = in.imm
			i := m.funcIndex(r)
			m.escapes(i)
			out.byte(opRefFunc)
			out.function(i)
			continue
		case opGlobalGet:
			r.pos = in.imm
			r.index(len(m.globals), "global")
		case opI32Const, opI64Const, 0x43, 0x44, opRefNull:
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub, mul of extended constant expressions
		case opVector:
			if in.sub != vecConst {
				r.fail(ErrMalformed, in.at, "vector opcode %d in a constant expression", in.sub)
			}
		default:
			r.fail(ErrMalformed, in.at, "opcode %#x in a constant expression", in.op)
		}
		out.bytes(r.buf[in.at:r.pos])
	}
}
