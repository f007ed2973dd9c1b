package wasmbin

import "slices"

// The analysis of loops that move bytes. One iteration of a loop is followed through
// its code with symbols for what is not known: the locals and globals at its head,
// and what lies in memory at constant distances from one local, the base, as in the
// frames of Go's functions. Where a condition cannot be told, both ways are followed.
// A trace is the way of an iteration that ends at the head again and has moved bytes
// once; the conditions it met are those under which it is taken.

const (
	// traceSteps is how many instructions of a module are followed, loopSteps how
	// many of a loop.
	traceSteps, loopSteps = 1 << 17, 1 << 12
	// traceLocals, traceCode and traceSlots are the locals, the instructions of a
	// function, and the places in memory up to which it is looked at.
	traceLocals, traceCode, traceSlots = 64, 1 << 13, 64
	// traceConditions is how many conditions a trace may have.
	traceConditions = 8
	// traceComputed is how many instructions a turn may have whose code is repeated.
	traceComputed = 128
	// traceSymbols is how many values that are not known a loop may have.
	traceSymbols = 128
	// traceHeads is how many values are tried for the local that a loop dispatches on.
	traceHeads = 16
)

// valueKind is what is known of a value.
type valueKind uint8

const (
	unknown   valueKind = iota // nothing
	number                     // a sum
	truth                      // a comparison of two sums
	carried                    // the bytes that are moved
	untouched                  // what the head found there
)

// value is what an instruction leaves, or what lies in a local, global or slot.
type value struct {
	kind valueKind
	a, b sum      // the number; the sides of a comparison
	rel  relation // of a comparison
}

// relation is a comparison, in the order of the opcodes.
type relation uint8

const (
	isEq relation = iota
	isNe
	isLtS
	isLtU
	isGtS
	isGtU
	isLeS
	isLeU
	isGeS
	isGeU
)

// negated is what holds where a relation does not, swapped the one of exchanged sides.
var (
	negated = [...]relation{isNe, isEq, isGeS, isGeU, isLeS, isLeU, isGtS, isGtU, isLtS, isLtU}
	swapped = [...]relation{isEq, isNe, isGtS, isGtU, isLtS, isLtU, isGeS, isGeU, isLeS, isLeU}
)

func (r relation) signed() bool { return r == isLtS || r == isGtS || r == isLeS || r == isGeS }

// slot is a place in memory that a trace has read or written.
type slot struct {
	at   int64 // from the base
	size int64
	now  value
}

// path is the state of a trace on its way.
type path struct {
	locals  []value
	stack   []value
	globals []globalValue
	slots   []slot
	reads   []int16 // the symbols of what was read before it was written
	base    int     // the local that slots are counted from, -1 before the first
	low     int64   // the lowest address, from the base
	conds   []value
	marks   []mark
	visited []int // the instructions it executed, in their order
	moved   bool  // the transfer was called
	done    bool  // the guest's side of it, too
	how     Transfer
	memory  sum    // where in the guest's memory
	beyond  uint32 // of it, the offset of the instruction
	offset  sum    // what the transfer was given
	// computed tells that what is stored does not come from memory; impure that the
	// trace did more than compute, so that it can be told apart from what it moves;
	// opaque that it read what may change in a way that is not followed.
	computed, impure, opaque bool
}

// globalValue is a global that a trace has read or written.
type globalValue struct {
	index uint32
	now   value
}

// mark is a block that was entered, and the height of the stack then.
type mark struct{ block, height int }

func (p *path) clone() *path {
	c := *p
	c.locals, c.stack, c.globals = slices.Clone(p.locals), slices.Clone(p.stack), slices.Clone(p.globals)
	c.reads = slices.Clone(p.reads)
	c.slots, c.conds, c.marks, c.visited = slices.Clone(p.slots), slices.Clone(p.conds), slices.Clone(p.marks), slices.Clone(p.visited)
	return &c
}

// tracer follows the iterations of one loop.
type tracer struct {
	w       *rewriter
	f       *listing
	loop    int // the instruction
	steps   int // left
	noBase  bool
	symbols symbols
	// assumed is the local that is assumed to have a value at the head, -1 for none.
	assumed int
	found   []*path
}

// follow collects the traces from a path on, which is about to execute instruction i.
func (t *tracer) follow(p *path, i int) {
	for t.steps > 0 && len(p.globals) <= traceSlots && len(t.symbols) <= traceSymbols {
		t.steps--
		in := &t.f.code[i]
		p.visited = append(p.visited, i)
		next, ok := i+1, true
		switch in.op {
		case opBlock, opIf:
			next, ok = t.enter(p, i)
		case opElse:
			next = t.f.ends[t.f.inside[i]] + 1
			p.leave(t.f.inside[i])
		case opEnd:
			if t.f.inside[i] == t.loop {
				return // out of the loop
			}
			p.leave(t.f.inside[i])
		case opBr:
			next, ok = t.branch(p, in.to)
		case opBrIf:
			next, ok = t.branchIf(p, i)
		case opBrTable:
			next, ok = t.dispatch(p, i)
		default:
			ok = t.plain(p, in, p.locals)
		}
		if !ok {
			return
		}
		i = next
	}
}

// enter enters a block, or an arm of an if.
func (t *tracer) enter(p *path, i int) (next int, ok bool) {
	in := &t.f.code[i]
	if in.typed || in.value {
		return 0, false
	}
	if in.op == opBlock {
		p.marks = append(p.marks, mark{i, len(p.stack)})
		return i + 1, true
	}
	c, ok := p.condition()
	if !ok {
		return 0, false
	}
	p.marks = append(p.marks, mark{i, len(p.stack)})
	otherwise := t.f.elses[i]
	if otherwise < 0 {
		otherwise = t.f.ends[i]
	} else {
		otherwise++
	}
	return t.fork(p, c, i+1, otherwise)
}

// leave ends a block at its end.
func (p *path) leave(block int) {
	for len(p.marks) > 0 {
		m := p.marks[len(p.marks)-1]
		p.marks = p.marks[:len(p.marks)-1]
		if m.block == block {
			return
		}
	}
}

// branch goes to the head, where the trace ends, or behind a block.
func (t *tracer) branch(p *path, block int) (next int, ok bool) {
	switch {
	case block < t.loop:
		return 0, false // leaves the loop
	case block == t.loop:
		if p.moved && p.done && (p.computed && !p.impure || !p.computed && !p.opaque) {
			t.found = append(t.found, p.clone())
		}
		return 0, false
	}
	for k := len(p.marks) - 1; k >= 0; k-- {
		if p.marks[k].block == block {
			if len(p.stack) < p.marks[k].height {
				return 0, false // not valid
			}
			p.impure = p.impure || len(p.stack) != p.marks[k].height
			p.stack, p.marks = p.stack[:p.marks[k].height], p.marks[:k]
			return t.f.ends[block] + 1, true
		}
	}
	return 0, false
}

func (t *tracer) branchIf(p *path, i int) (next int, ok bool) {
	c, ok := p.condition()
	if !ok {
		return 0, false
	}
	to := t.f.code[i].to
	if known, holds := c.decide(); known {
		if holds {
			return t.branch(p, to)
		}
		return i + 1, true
	}
	if to < t.loop {
		return i + 1, p.require(c, false) // out of the loop
	}
	if other := t.split(p); other.require(c, true) {
		if next, ok := t.branch(other, to); ok {
			t.follow(other, next)
		}
	}
	return i + 1, p.require(c, false)
}

// fork goes on at one place if a condition holds, and at another if not.
func (t *tracer) fork(p *path, c value, then, otherwise int) (next int, ok bool) {
	if known, holds := c.decide(); known {
		if holds {
			return then, true
		}
		return otherwise, true
	}
	if other := t.split(p); other.require(c, true) {
		t.follow(other, then)
	}
	return otherwise, p.require(c, false)
}

// split copies a path where it forks, which takes as long as some steps.
func (t *tracer) split(p *path) *path {
	t.steps -= (len(p.locals) + len(p.stack) + len(p.slots) + len(p.globals) + (len(p.marks)+len(p.visited))/8) / 4
	return p.clone()
}

// dispatch goes to the label that a constant selects.
func (t *tracer) dispatch(p *path, i int) (next int, ok bool) {
	v := p.pop()
	n, known := v.a.constant()
	if v.kind != number || !known {
		return 0, false
	}
	labels := t.f.tables[i]
	return t.branch(p, labels[min(n, uint64(len(labels)-1))])
}

// condition takes what an if or br_if decides by.
func (p *path) condition() (value, bool) {
	v := p.pop()
	switch v.kind {
	case truth:
		return v, true
	case number:
		return value{kind: truth, rel: isNe, a: v.a, b: constantSum(0, v.a.narrow)}, true
	}
	return v, false
}

// decide tells a comparison that does not depend on symbols.
func (v value) decide() (known, holds bool) {
	a, ok := v.a.constant()
	b, also := v.b.constant()
	if !ok || !also {
		return false, false
	}
	if v.a.narrow && v.rel.signed() {
		a, b = uint64(int64(int32(uint32(a)))), uint64(int64(int32(uint32(b))))
	}
	return true, v.rel.holds(a, b)
}

func (r relation) holds(a, b uint64) bool {
	switch r {
	case isEq:
		return a == b
	case isNe:
		return a != b
	case isLtS:
		return int64(a) < int64(b)
	case isLtU:
		return a < b
	case isGtS:
		return int64(a) > int64(b)
	case isGtU:
		return a > b
	case isLeS:
		return int64(a) <= int64(b)
	case isLeU:
		return a <= b
	case isGeS:
		return int64(a) >= int64(b)
	}
	return a >= b
}

// require notes that the trace is taken only if a comparison holds, or does not.
func (p *path) require(c value, holds bool) bool {
	if !holds {
		c.rel = negated[c.rel]
	}
	p.conds = append(p.conds, c)
	return len(p.conds) <= traceConditions
}

func (p *path) push(v value) { p.stack = append(p.stack, v) }

// pop takes a value. Below the loop's own there is nothing that is known.
func (p *path) pop() value {
	if len(p.stack) == 0 {
		return value{}
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v
}
