package wasmbin

import "slices"

// A Go program calls each of its imports through a function of its own, which loads the
// arguments from the memory and stores the result there. For a light import that is more
// work than the import itself. So the rewrite replaces a call of such a function by the
// code of the function: straight code that calls inert imports and nothing else. Other
// short functions are straight code as well: they load a field, or pass their arguments on
// to another function. Calling such a function takes longer than its code, and so does
// metering it. The caller pays in its own charge what the call and the function would pay
// together. A trap in that code names the caller.

const (
	// A function is written out only if its body has at most inlineSize bytes, its weight
	// is at most inlineWeight, and it has at most inlineLocals parameters and locals.
	inlineSize, inlineWeight, inlineLocals = 64, 96, 8
	// inlineAdded is the most locals that a caller gets for this, and inlineTotal the most
	// bytes that are written out in a module: a leaf may be 30 times as long as its call.
	// Nothing is written out in callers that take long to compile.
	inlineAdded, inlineTotal = 16, 64 << 10
	// inlineOther is the greatest weight of a function that is written out without
	// calling an inert import. Such functions get half of inlineTotal and leave the rest to
	// those that call one, which gain more.
	inlineOther = 16
)

// findLeaves collects the functions that are written out. It ignores errors of the code,
// because the rewrite of the body reports them.
func (w *rewriter) findLeaves() {
	w.leaves = map[uint32]*leaf{}
	_ = w.m.bodies(func(b *body) error {
		if l := w.m.leaf(b); l != nil {
			w.leaves[b.index] = l
		}
		return nil
	})
}

// leaf returns the leaf of a function, nil if the function is not written out.
func (m *module) leaf(b *body) *leaf {
	if b.size > inlineSize || b.locals > inlineLocals {
		return nil
	}
	t := m.funcType(b.index)
	l := &leaf{from: b.r.pos, locals: m.localTypes(b), params: len(t.Params), weight: len(t.Results) / valuesPerWeight}
	if !allNumbers(l.locals) {
		return nil
	}
	height := 0
	set := make([]bool, len(l.locals))
	for i := range l.params {
		set[i] = true
	}
	var in instr
	for {
		b.r.next(&in, nil)
		if b.r.err != nil || !m.leafOp(&in, len(set)) {
			return nil
		}
		if l.weight += m.weight(&in); l.weight > inlineWeight {
			return nil
		}
		switch in.op {
		case opReturn, opEnd:
			l.to = in.at
			if height != len(t.Results) || !l.worthIt() {
				return nil
			}
			return l
		case opCall:
			l.count(m, in.x)
		case opLocalGet, opLocalSet, opLocalTee:
			if in.op == opLocalGet && !set[in.x] {
				l.unset = append(l.unset, in.x)
			}
			set[in.x] = true
		}
		l.mayTrap = l.mayTrap || mayTrap(in.op)
		height += m.effect(&in)
	}
}

// count notes a call in the function.
func (l *leaf) count(m *module, f uint32) {
	if m.inertAt(f) {
		l.inert++
	} else {
		l.others++
	}
}

// worthIt reports whether the calls and the weight of the function allow to write it out. A
// function that divides or truncates is not written out, because its author looks for its
// name in the trace of a trap.
func (l *leaf) worthIt() bool {
	if l.inert > 0 {
		return l.others == 0
	}
	return l.others <= 1 && l.weight <= inlineOther && !l.mayTrap
}

// mayTrap reports whether an opcode is a division or a truncation of a float, which trap for
// some operands.
func mayTrap(op byte) bool {
	return op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}

// room returns the number of bytes written out so far above which calls of this function are
// not written out.
func (l *leaf) room() int {
	if l.inert > 0 {
		return inlineTotal
	}
	return inlineTotal / 2
}

// leafOp reports whether a leaf may have an instruction: it ends the function, calls an inert
// import or a function of the module, or works on numbers, globals and memory.
func (m *module) leafOp(in *instr, locals int) bool {
	switch immediates[in.op] {
	case immFunc:
		return in.op == opCall && (m.inertAt(in.x) || int(in.x) >= m.imported[KindFunc] && int(in.x) < len(m.funcs))
	case immLocal:
		return int(in.x) < locals
	case immGlobal, immMem, immI32, immI64, immF32, immF64:
		return true
	case immNone:
		return in.op == opReturn || in.op == opEnd || in.op == opDrop || in.op == opSelect || in.op >= 0x45
	}
	return false
}

// localTypes returns the types of the parameters and locals, of which there must be few.
func (m *module) localTypes(b *body) []ValueType {
	types := slices.Clone(m.funcType(b.index).Params)
	r := b.r.from(b.start)
	for n := r.u32("the locals"); n > 0; n-- {
		count := r.u32("a number of locals")
		t := r.valueType("a local")
		for ; count > 0; count-- {
			types = append(types, t)
		}
	}
	return types
}

func allNumbers(types []ValueType) bool {
	return !slices.ContainsFunc(types, func(t ValueType) bool { return !t.number() })
}

// leafAt returns the leaf that is written out in place of the current instruction, nil if
// there is none. It assigns locals of the caller to the locals of the leaf.
func (w *rewriter) leafAt(b *body, in *instr) *leaf {
	if in.op != opCall || w.leaves == nil {
		return nil
	}
	l, c := w.leaves[in.x], &w.code
	if l == nil || w.inlined > l.room() || b.locals > MaxLocals-inlineAdded || c.shape.cost(b.locals) > outsideCost || !c.place(b, l) {
		return nil
	}
	return l
}

// place assigns added locals of the caller to the locals of a leaf, and adds further ones if
// needed. It reports false if that would be more than inlineAdded.
func (c *codeWriter) place(b *body, l *leaf) bool {
	c.places = c.places[:0]
	extra := c.extra
	for _, t := range l.locals {
		i := 0
		for i < len(extra) && (extra[i] != t || slices.Contains(c.places, uint32(b.locals)+uint32(i))) {
			i++
		}
		if i == len(extra) {
			extra = append(extra, t)
		}
		c.places = append(c.places, uint32(b.locals)+uint32(i))
	}
	if len(extra) > inlineAdded {
		return false
	}
	c.extra = extra
	return true
}

// writeOut writes a leaf in place of the current call, whose arguments are on the stack.
func (w *rewriter) writeOut(b *body, in *instr, l *leaf) {
	c := &w.code
	c.flush(b, in.at)
	c.copied = b.r.pos
	begin := len(c.code)
	for i := l.params - 1; i >= 0; i-- {
		c.code = appendU32(append(c.code, opLocalSet), c.places[i])
	}
	for _, i := range l.unset {
		c.code = append(append(c.code, zeros[l.locals[i]]...), opLocalSet)
		c.code = appendU32(c.code, c.places[i])
	}
	r, copied := b.r.from(l.from), l.from
	r.end = l.to
	var op instr
	for !r.done() {
		r.next(&op, nil)
		var index uint32
		switch immediates[op.op] {
		case immLocal:
			index = c.places[op.x]
		case immFunc:
			index = w.out.moved(op.x)
		default:
			continue
		}
		c.code = append(append(c.code, r.buf[copied:op.at]...), op.op)
		c.code = appendU32(c.code, index)
		copied = r.pos
	}
	c.code = append(c.code, r.buf[copied:l.to]...)
	w.inlined += len(c.code) - begin
}

// zeros are the instructions that leave the initial value of a local.
var zeros = map[ValueType][]byte{
	I32: {opI32Const, 0},
	I64: {opI64Const, 0},
	F32: {opF32Const, 0, 0, 0, 0},
	F64: {opF64Const, 0, 0, 0, 0, 0, 0, 0, 0},
}

// declare appends the declarations of a body's locals: its own and the added ones.
func (c *codeWriter) declare(out []byte, own reader) []byte {
	out = appendU32(out, own.u32("the locals")+uint32(len(c.extra)))
	out = append(out, own.buf[own.pos:own.end]...)
	for _, t := range c.extra {
		out = append(out, 1, byte(t))
	}
	return out
}
