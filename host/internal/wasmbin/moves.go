package wasmbin

import "slices"

// Guests built with an Extism kit read their input and write their output 8 bytes or
// one at a time: a loop calls an import, and does some hundred instructions for each
// of these words. Where such a loop is understood (see trace.go), code at its head
// does many turns at once: it tells from the loop's conditions and from the fuel how
// many are certain to come, has the host move their bytes, sets the loop's variables
// to what so many turns make of them, and pays what they would have paid. The last
// of these turns runs as it is written, again. It computes everything else anew, so
// that nothing but the time tells the difference.

const (
	// minTurns is the number of turns from which on they are done at once: below, they
	// take less time than the call of the host.
	minTurns = 32
	// movesPerFunction and movesPerModule are how many loops are given such code, which
	// takes time to compile.
	movesPerFunction, movesPerModule = 8, 64
	// moveAsks is the size of the code that asks whether turns can be done at once, in
	// bytes. No fuel is taken for it. A loop of Go has 200.
	moveAsks = 1 << 10
	// manyTurns is where the number begins that conditions make smaller.
	manyTurns = 1 << 30
)

// mover is the code at the head of a loop, in the body at hand.
type mover struct {
	*turns
	// enabled is where the code stands that has it used; fuel is where the charge of a
	// turn stands in it, and paid is where the charges of a turn stand in the body.
	enabled int
	fuel    [2]int
	paid    []int
	// broken tells that a turn pays for more than it does here.
	broken bool
}

// The locals that a function with such loops is given.
const (
	moveOff    = iota // i32: 1 where the host could not move all
	moveTurns         // i64: how many turns
	moveOther         // i64
	moveWord          // i64: bytes that are computed
	moveLocals = iota
)

// wordTurns is how many bytes that are computed are stored at once.
const wordTurns = 8

// notePaid notes the charge of a window that begins at an offset of the file.
func (c *codeWriter) notePaid(at, charge int) {
	for i := range c.movers {
		if _, ok := slices.BinarySearch(c.movers[i].visited, at); ok {
			c.movers[i].paid = append(c.movers[i].paid, charge)
		}
	}
}

// breakMovers gives up where a function is called that a trace took for one that is
// written out.
func (c *codeWriter) breakMovers(at int) {
	for i := range c.movers {
		if _, ok := slices.BinarySearch(c.movers[i].visited, at); ok {
			c.movers[i].broken = true
		}
	}
}

// setMovers fills in what a turn pays, which is known when the body is written.
func (c *codeWriter) setMovers() {
	for i := range c.movers {
		m, total := &c.movers[i], 0
		for _, at := range m.paid {
			total += chargeAt(c.code, at)
		}
		if m.broken || total == 0 || total > maxCharge {
			c.code[m.enabled] = 0
			total = 1
		}
		for _, at := range m.fuel {
			setCharge(c.code, at, total)
		}
	}
}

// chargeAt is the charge that setCharge wrote.
func chargeAt(code []byte, at int) int { return int(code[at]&0x7f) | int(code[at+1])<<7 }

// openMover writes the code at the head of the loop at hand, if there is some for it.
func (w *rewriter) openMover(b *body, in *instr) *mover {
	c := &w.code
	t := c.turns[in.at]
	if t == nil || len(c.movers) == movesPerFunction {
		return nil
	}
	c.movers = append(c.movers, mover{turns: t})
	m := &c.movers[len(c.movers)-1]
	if !w.appendMover(b, m) {
		c.movers = c.movers[:len(c.movers)-1]
		return nil
	}
	return m
}

// appendMover reports false where that would take too much code.
func (w *rewriter) appendMover(b *body, m *mover) bool {
	e := &moveCode{w: w, m: m, b: w.code.code, own: uint32(b.locals)}
	m.enabled = len(e.b) + 1
	e.op(opI32Const, 1).get(moveOff).op(opI32GtU)
	if m.assumed >= 0 {
		e.op(opLocalGet).u32(uint32(m.assumed)).op(opI32Const).s64(int64(int32(m.value))).op(opI32Eq, opI32And)
	}
	e.op(opIf, blockVoid, opBlock, blockVoid)
	e.frameWithin()
	for _, s := range m.same {
		e.wide(sum{narrow: m.narrow(s.local), terms: [maxTerms]term{m.local(s.local)}}, false)
		e.wide(s.value, false).op(opI64Ne, opBrIf, 0)
	}
	e.op(opI64Const).s64(manyTurns).set(moveTurns)
	for _, l := range m.limits {
		e.limit(l)
	}
	e.payable()
	if len(e.b)-m.enabled > moveAsks {
		return false
	}
	if m.computed != nil {
		e.compute()
	} else {
		e.move()
		e.settle()
	}
	e.pay()
	e.op(opEnd, opEnd)
	w.code.code = e.b
	return true
}

// narrow tells whether a local has 32 bits.
func (m *mover) narrow(local uint32) bool { return m.symbols.of(m.local(local)).narrow }

// local is the symbol of a local, which is known to be one.
func (m *mover) local(local uint32) term {
	i := slices.IndexFunc(m.symbols, func(s symbol) bool { return s.kind == inLocal && s.index == local })
	return term{int16(i + 1), 1}
}

// moveCode appends code.
type moveCode struct {
	w   *rewriter
	m   *mover
	b   []byte
	own uint32 // the first of the locals that were added
}

func (e *moveCode) op(ops ...byte) *moveCode { e.b = append(e.b, ops...); return e }

func (e *moveCode) u32(v uint32) *moveCode { e.b = appendU32(e.b, v); return e }

func (e *moveCode) s64(v int64) *moveCode { e.b = appendS64(e.b, v); return e }

func (e *moveCode) get(local uint32) *moveCode { return e.op(opLocalGet).u32(e.own + local) }

func (e *moveCode) set(local uint32) *moveCode { return e.op(opLocalSet).u32(e.own + local) }

func (e *moveCode) tee(local uint32) *moveCode { return e.op(opLocalTee).u32(e.own + local) }

// frameWithin leaves where the loop's variables are not within the memory.
func (e *moveCode) frameWithin() {
	if e.m.base < 0 {
		return
	}
	base := func() *moveCode { return e.op(opLocalGet).u32(uint32(e.m.base)).op(opI64ExtendU) }
	base().op(opI64Const).s64(e.m.high).op(opI64Add, opMemorySize, 0, opI64ExtendU, opI64Const, 16, opI64Shl, opI64GtU, opBrIf, 0)
	if e.m.low < 0 {
		base().op(opI64Const).s64(-e.m.low).op(opI64LtU, opBrIf, 0)
	}
}

// wide writes a sum, as 64 bits: a narrow one extended.
func (e *moveCode) wide(s sum, signed bool) *moveCode {
	if s.c != 0 || s.terms[0].symbol == 0 {
		c := int64(s.c)
		if s.narrow {
			c = int64(int32(uint32(s.c)))
		}
		e.op(opI64Const).s64(c)
	}
	for i, t := range s.terms {
		if t.symbol == 0 {
			break
		}
		e.symbol(e.m.symbols.of(t))
		if t.by != 1 {
			e.op(opI64Const).s64(int64(t.by)).op(opI64Mul)
		}
		if i > 0 || s.c != 0 {
			e.op(opI64Add)
		}
	}
	if s.narrow {
		e.op(opI32Wrap, extension(signed))
	}
	return e
}

func extension(signed bool) byte {
	if signed {
		return opI64ExtendS
	}
	return opI64ExtendU
}

// symbol writes the value of a symbol, as 64 bits.
func (e *moveCode) symbol(s symbol) {
	switch s.kind {
	case inLocal:
		e.op(opLocalGet).u32(s.index)
	case inGlobal:
		e.op(opGlobalGet).u32(s.index)
	case inSlot:
		load := byte(opI64Load)
		if s.narrow {
			load = opI32Load
		}
		e.op(opLocalGet).u32(uint32(e.m.base)).op(opI32Const).s64(int64(int32(s.at))).op(opI32Add, load, 0, 0)
	case extended:
		e.wide(s.of, s.signed)
		return
	}
	if s.narrow {
		e.op(opI64ExtendU)
	}
}

// limit leaves where a condition does not hold, and makes the number of turns smaller
// where it ends.
func (e *moveCode) limit(l limit) {
	signed := l.rel.signed()
	e.wide(l.moving, signed)
	e.wide(l.fixed, signed).op(opI64Eq+byte(negated[l.rel]), opBrIf, 0)
	if l.shift < 0 {
		return
	}
	far, near := l.fixed, l.moving
	if l.down {
		far, near = near, far
	}
	e.wide(far, signed)
	e.wide(near, signed).op(opI64Sub)
	if l.rel == isNe && l.moving.narrow {
		e.op(opI32Wrap, opI64ExtendU)
	}
	strict := l.rel == isLtS || l.rel == isLtU || l.rel == isGtS || l.rel == isGtU
	if strict {
		e.op(opI64Const, 1, opI64Sub)
	}
	if l.shift > 0 {
		e.op(opI64Const).s64(int64(l.shift)).op(opI64ShrU)
	}
	if l.rel != isNe {
		e.op(opI64Const, 1, opI64Add)
	}
	e.least()
}

// least makes the number of turns the one on the stack, if that is smaller.
func (e *moveCode) least() {
	e.tee(moveOther).get(moveTurns).get(moveOther).get(moveTurns).op(opI64LtU, opSelect).set(moveTurns)
}

// payable makes the number of turns what the fuel suffices for, and leaves where that
// is not much.
func (e *moveCode) payable() {
	few := func() { e.get(moveTurns).op(opI64Const).s64(minTurns).op(opI64LeU, opBrIf, 0) }
	few()
	fuel := func() *moveCode { return e.op(opGlobalGet).u32(e.w.fuel) }
	fuel().op(opI64Const, 0, opI64LtS, opBrIf, 0)
	fuel().turnCharge(0).op(opI64DivS)
	e.least()
	few()
}

// turnCharge writes the constant of what a turn pays.
func (e *moveCode) turnCharge(i int) *moveCode {
	e.op(opI64Const)
	e.m.fuel[i] = len(e.b)
	return e.op(0x80, 0)
}

// move calls the host, and makes the number of turns what it did. Where that is less,
// it is not called again.
func (e *moveCode) move() {
	shift := byte(0)
	if e.m.how.Width() == 8 {
		shift = 3
	}
	e.op(opI32Const).s64(int64(e.m.how))
	e.wide(e.m.memory, false)
	if e.m.beyond != 0 {
		e.op(opI64Const).s64(int64(e.m.beyond)).op(opI64Add)
	}
	e.wide(e.m.offset, false).get(moveTurns).op(opI64Const, shift, opI64Shl)
	for _, at := range []int64{e.m.low, e.m.high} {
		if e.m.base < 0 {
			e.op(opI64Const, 0)
			continue
		}
		e.op(opLocalGet).u32(uint32(e.m.base)).op(opI64ExtendU, opI64Const).s64(at).op(opI64Add)
	}
	e.op(opCall).u32(e.w.move).op(opI64Const, shift, opI64ShrU)
	e.done()
	// The last of these turns runs as it is written, once more, before anything else can
	// happen: it sets what turns set and do not read. The one behind it may trap.
	e.get(moveTurns).get(moveTurns).op(opI64Eqz, opI32Eqz, opI64ExtendU, opI64Sub).set(moveTurns)
}

// done makes the number of turns what the host returned. Where that is less, it is not
// asked again.
func (e *moveCode) done() {
	e.tee(moveOther).get(moveTurns).op(opI64LtU, opIf, blockVoid, opI32Const, 1).set(moveOff).op(opEnd)
	e.get(moveOther).set(moveTurns)
}

// compute executes the turns, as many as can be stored, without their calls: the bytes
// of 8 turns are stored at once.
func (e *moveCode) compute() {
	e.op(opI32Const).s64(int64(Reach)).op(opI64Const, 0)
	e.wide(e.m.offset, false).get(moveTurns).op(opI64Const, 0, opI64Const, 0, opCall).u32(e.w.move)
	e.done()
	e.get(moveTurns).op(opI64Const).s64(-wordTurns).op(opI64And).tee(moveTurns).tee(moveOther).op(opI64Eqz, opBrIf, 0)
	e.op(opLoop, blockVoid)
	e.wide(e.m.offset, false).op(opI64Const, 0).set(moveWord)
	for i := range wordTurns {
		e.turn(byte(i))
	}
	e.get(moveWord).op(opCall).u32(e.w.storeU64)
	e.get(moveOther).op(opI64Const, wordTurns, opI64Sub).tee(moveOther).op(opI64Eqz, opI32Eqz, opBrIf, 0, opEnd)
}

// turn executes one turn, whose byte is one of the word.
func (e *moveCode) turn(i byte) {
	for _, p := range e.m.computed {
		switch {
		case p.drop:
			e.op(opDrop)
		case p.call:
			e.op(opI64ExtendU, opI64Const).s64(0xff).op(opI64And, opI64Const, 8*i, opI64Shl).get(moveWord).op(opI64Or).set(moveWord)
			e.op(opDrop) // the offset
		default:
			e.op(e.w.m.bin[p.from:p.to]...)
		}
	}
}

// settle sets the loop's variables.
func (e *moveCode) settle() {
	for _, c := range e.m.counts {
		e.op(opLocalGet).u32(c.local).get(moveTurns)
		if c.narrow {
			e.op(opI32Wrap, opI32Const).s64(int64(int32(uint32(c.by)))).op(opI32Mul, opI32Add)
		} else {
			e.op(opI64Const).s64(int64(c.by)).op(opI64Mul, opI64Add)
		}
		e.op(opLocalSet).u32(c.local)
	}
}

// pay takes what the turns would have paid.
func (e *moveCode) pay() {
	e.op(opGlobalGet).u32(e.w.fuel).get(moveTurns).turnCharge(1).op(opI64Mul, opI64Sub, opGlobalSet).u32(e.w.fuel)
}
