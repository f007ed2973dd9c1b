package wasmbin

import "slices"

// The opcodes that a trace gives a meaning, beside those that others name.
const (
	opI64Load    = 0x29
	opI32Load    = 0x28
	opI32Load8U  = 0x2d
	opI64Load8U  = 0x31
	opI64Load32U = 0x35
	opI32Store   = 0x36
	opI64Store   = 0x37
	opI32Store8  = 0x3a
	opI64Store8  = 0x3c
	opI64Store32 = 0x3e
	opI32Eqz     = 0x45
	opI32GeU     = 0x4f
	opI64Eqz     = 0x50
	opI64Eq      = 0x51
	opI64GeU     = 0x5a
	opI32Mul     = 0x6c
	opI32And     = 0x71
	opI32Shl     = 0x74
	opI64Mul     = 0x7e
	opI64DivS    = 0x7f
	opI64And     = 0x83
	opI64Or      = 0x84
	opI64ShrU    = 0x88
	opI32Wrap    = 0xa7
	opI64ExtendS = 0xac
)

// plain executes an instruction that leads nowhere else. It reports false where the
// trace cannot go on.
func (t *tracer) plain(p *path, in *step, locals []value) bool {
	switch op := in.op; {
	case op == opNop:
	case op == opDrop:
		p.pop()
	case op == opLocalGet:
		p.push(t.local(p, locals, in.x))
	case op == opLocalSet:
		locals[in.x] = p.pop()
	case op == opLocalTee:
		locals[in.x] = p.pop()
		p.push(locals[in.x])
	case op == opGlobalGet:
		p.push(t.global(p, in.x))
	case op == opGlobalSet:
		p.setGlobal(in.x, p.pop())
	case op == opI32Const, op == opI64Const:
		p.push(value{kind: number, a: constantSum(uint64(in.constant), op == opI32Const)})
	case op == opCall:
		return t.call(p, in)
	case immediates[op] == immMem:
		return t.access(p, in)
	case op >= opI32Eqz && op <= opI64GeU:
		p.compare(op)
	case op > opI64GeU && op <= 0xc4 && !mayTrap(op), op == opSelect:
		t.compute(p, op)
	default:
		return false
	}
	return true
}

// local is the value of a local. In the function of the loop, it is a symbol
// until it is set.
func (t *tracer) local(p *path, locals []value, i uint32) value {
	if locals[i].kind == untouched {
		locals[i] = t.first(p, symbol{kind: inLocal, index: i}, t.f.types[i])
	}
	return locals[i]
}

// first is the value of what is read for the first time. Floats and references are
// not known, nor what a turn makes of them.
func (t *tracer) first(p *path, s symbol, of ValueType) value {
	if of != I32 && of != I64 {
		p.opaque = true
		return value{}
	}
	s.narrow = of == I32
	v := t.symbols.find(s)
	p.reads = append(p.reads, v.terms[0].symbol)
	return value{kind: number, a: v}
}

// global is the value of a global. Those that a function to be written out names were
// not checked yet.
func (t *tracer) global(p *path, index uint32) value {
	for _, g := range p.globals {
		if g.index == index {
			return g.now
		}
	}
	if int(index) >= len(t.w.m.globals) {
		return value{}
	}
	v := t.first(p, symbol{kind: inGlobal, index: index}, t.w.m.globals[index].Type)
	p.globals = append(p.globals, globalValue{index, v})
	return v
}

func (p *path) setGlobal(index uint32, v value) {
	for i := range p.globals {
		if p.globals[i].index == index {
			p.globals[i].now = v
			return
		}
	}
	p.globals = append(p.globals, globalValue{index, v})
}

// compare executes a comparison, or one with zero.
func (p *path) compare(op byte) {
	if op == opI32Eqz || op == opI64Eqz {
		switch v := p.pop(); v.kind {
		case truth:
			v.rel = negated[v.rel]
			p.push(v)
		case number:
			p.push(value{kind: truth, rel: isEq, a: v.a, b: constantSum(0, v.a.narrow)})
		default:
			p.push(value{})
		}
		return
	}
	b, a := p.pop(), p.pop()
	if a.kind != number || b.kind != number {
		p.push(value{})
		return
	}
	rel := op - opI32Eq
	if op > opI64Eqz {
		rel = op - opI64Eq
	}
	p.push(value{kind: truth, rel: relation(rel), a: a.a, b: b.a})
}

// mayTrap tells whether an operation on numbers traps on some of them: divisions, and
// truncations of floats.
func mayTrap(op byte) bool {
	return op >= 0x6d && op <= 0x70 || op >= opI64DivS && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}

// compute executes an operation on numbers. What is not a sum is not known.
func (t *tracer) compute(p *path, op byte) {
	switch op {
	case opSelect:
		p.pop()
		p.pop()
		p.pop()
		p.push(value{})
	case opI32Wrap, opI64ExtendU, opI64ExtendS:
		p.push(t.convert(p, p.pop(), op))
	case opI32Add, opI64Add, opI32Sub, opI64Sub, opI32Mul, opI64Mul, opI32Shl, opI64Shl, opI32And, opI64And:
		b, a := p.pop(), p.pop()
		p.push(t.combine(p, a, b, op))
	default:
		for range 1 - int(effects[op]) {
			p.pop()
		}
		p.push(value{})
	}
}

// convert changes the width of a number. The bytes that are moved stay what they are
// if they are one.
func (t *tracer) convert(p *path, v value, op byte) value {
	switch {
	case v.kind == carried && p.how.Width() == 1 && op != opI64ExtendS:
		return v
	case v.kind != number:
		return value{}
	case op == opI32Wrap:
		s, ok := t.symbols.wrap(v.a)
		return numberIf(s, ok)
	}
	return value{kind: number, a: t.symbols.extend(v.a, op == opI64ExtendS)}
}

func numberIf(s sum, ok bool) value {
	if !ok {
		return value{}
	}
	return value{kind: number, a: s}
}

// combine executes an operation of two numbers.
func (t *tracer) combine(p *path, a, b value, op byte) value {
	if op == opI32And || op == opI64And {
		if c, ok := b.a.constant(); a.kind == carried && p.how.Width() == 1 && b.kind == number && ok && c == 0xff {
			return a
		}
		return value{}
	}
	if a.kind != number || b.kind != number {
		return value{}
	}
	switch op {
	case opI32Add, opI64Add:
		s, ok := a.a.plus(b.a)
		return numberIf(s, ok)
	case opI32Sub, opI64Sub:
		s, ok := a.a.minus(b.a)
		return numberIf(s, ok)
	case opI32Shl, opI64Shl:
		n, ok := b.a.constant()
		bits := uint64(64)
		if a.a.narrow {
			bits = 32
		}
		return numberIf(a.a.times(1<<(n%bits)), ok)
	}
	if c, ok := b.a.constant(); ok {
		return value{kind: number, a: a.a.times(c)}
	}
	c, ok := a.a.constant()
	return numberIf(b.a.times(c), ok)
}

// call executes a transfer, or a function that is written out.
func (t *tracer) call(p *path, in *step) bool {
	if int(in.x) < t.w.m.imported[KindFunc] {
		return t.transfer(p, t.w.m.transferOf(in.x))
	}
	l := t.w.leaves[in.x]
	if l == nil || l.others > 0 {
		return false
	}
	p.impure = true
	locals := make([]value, len(l.locals))
	for i, v := range l.locals {
		locals[i] = value{kind: number, a: constantSum(0, v == I32)}
		if v != I32 && v != I64 {
			locals[i] = value{}
		}
	}
	for i := l.params - 1; i >= 0; i-- {
		locals[i] = p.pop()
	}
	r := reader{buf: t.w.m.bin, pos: l.from, end: l.to}
	for !r.done() {
		t.steps--
		op, ok := readStep(&r, nil)
		if !ok || t.steps < 0 || !t.plain(p, &op, locals) {
			return false
		}
	}
	return true
}

// transfer executes the call that moves bytes.
func (t *tracer) transfer(p *path, how Transfer) bool {
	if how == NoTransfer || p.moved || p.done && !how.Store() {
		return false
	}
	v := value{kind: carried}
	if how.Store() {
		v = p.pop()
	}
	off := p.pop()
	if off.kind != number {
		return false
	}
	switch {
	case how == StoreU8 && v.kind != carried && !p.done && t.w.wordwise:
		p.computed, p.done = true, true
	case v.kind != carried, how.Store() && (!p.done || p.how.Width() != how.Width()):
		return false
	}
	if !how.Store() {
		p.push(v)
	}
	p.moved, p.how, p.offset = true, how, off.a
	return true
}

// access reads or writes memory: a slot, or what is moved.
func (t *tracer) access(p *path, in *step) bool {
	store := in.op >= opI32Store
	p.impure = true
	var v value
	if store {
		v = p.pop()
	}
	at := p.pop()
	size := accessSize(in.op)
	if at.kind != number || size == 0 {
		return false
	}
	if off, ok := t.fromBase(p, at.a); ok {
		p.low = min(p.low, off) // where the address wraps around, whatever is added to it
		off += int64(in.offset)
		if store {
			return p.write(off, size, v)
		}
		return t.read(p, off, size, in.op)
	}
	return p.guestSide(in, at.a, v, size, store)
}

// accessSize is the number of bytes that a load or store touches, 0 for those that a
// trace does not follow.
func accessSize(op byte) int64 {
	switch op {
	case opI64Load, opI64Store:
		return 8
	case opI32Load, opI32Store, opI64Load32U, opI64Store32:
		return 4
	case opI32Load8U, opI64Load8U, opI32Store8, opI64Store8:
		return 1
	}
	return 0
}

// guestSide notes the access to the bytes that are moved.
func (p *path) guestSide(in *step, at sum, v value, size int64, store bool) bool {
	if p.done {
		return false
	}
	p.done, p.memory, p.beyond = true, at, in.offset
	if store {
		return p.moved && !p.how.Store() && v.kind == carried && size == int64(p.how.Width())
	}
	if p.moved || in.op == opI64Load32U {
		return false
	}
	switch size {
	case 8:
		p.how = StoreU64
	case 1:
		p.how = StoreU8
	default:
		return false
	}
	p.push(value{kind: carried})
	return true
}

// fromBase tells whether an address is at a constant distance from the base. The
// first local that is used as an address is the base.
func (t *tracer) fromBase(p *path, at sum) (int64, bool) {
	if t.noBase || at.terms[0].symbol == 0 || at.terms[0].by != 1 || at.terms[1].symbol != 0 {
		return 0, false
	}
	s := t.symbols.of(at.terms[0])
	if s.kind != inLocal || !s.narrow {
		return 0, false
	}
	if p.base < 0 {
		p.base = int(s.index)
	}
	return int64(int32(uint32(at.c))), p.base == int(s.index)
}

// write writes a slot. Of a number, a byte is not known.
func (p *path) write(at, size int64, v value) bool {
	if size == 1 && v.kind == number {
		v = value{}
	}
	for i := range p.slots {
		switch s := &p.slots[i]; {
		case s.at == at && s.size == size:
			s.now = v
			return true
		case s.at < at+size && at < s.at+s.size:
			return false
		}
	}
	p.slots = append(p.slots, slot{at: at, size: size, now: v})
	return len(p.slots) <= traceSlots
}

// read reads a slot, which is a symbol if it was not written.
func (t *tracer) read(p *path, at, size int64, op byte) bool {
	i := slices.IndexFunc(p.slots, func(s slot) bool { return s.at < at+size && at < s.at+s.size })
	if i < 0 {
		if size == 1 || len(p.slots) == traceSlots {
			return false
		}
		of := I64
		if size == 4 {
			of = I32
		}
		p.slots = append(p.slots, slot{at: at, size: size, now: t.first(p, symbol{kind: inSlot, at: at}, of)})
		i = len(p.slots) - 1
	}
	s := &p.slots[i]
	if s.at != at || s.size != size {
		return false
	}
	v := s.now
	switch {
	case v.kind == carried && p.how.Width() == 8:
		if op != opI64Load {
			return false
		}
	case v.kind == carried, v.kind != number:
	case op == opI64Load32U:
		v = t.convert(p, narrowed(&t.symbols, v), opI64ExtendU)
	case op == opI32Load:
		v = narrowed(&t.symbols, v)
	}
	p.push(v)
	return true
}

// narrowed is a number as its low half.
func narrowed(ss *symbols, v value) value {
	if v.a.narrow {
		return v
	}
	s, ok := ss.wrap(v.a)
	return numberIf(s, ok)
}
