package wasmbin

import (
	"math/bits"
	"slices"
)

// turns is a loop many turns of which can be done at once: what is known of one turn
// says what so many do.
type turns struct {
	how Transfer
	// visited are the offsets in the file of what a turn executes of the function.
	visited []int
	// computed is the code of a turn that stores a byte which it computes, nil for one
	// that moves bytes of the memory.
	computed []stretch
	symbols  symbols
	// assumed is a local that has a value at the head, unless it is negative.
	assumed int
	value   int64
	// base is the local that the loop's variables in memory are counted from, -1
	// without; they lie from low to high.
	base      int
	low, high int64
	// same are locals that must have a value for the rest to be true, counts those
	// that change by a constant.
	same   []same
	counts []count
	limits []limit
	memory sum
	beyond uint32
	offset sum
}

// stretch is a part of the file that is executed as it stands, or where it leads
// somewhere: a condition that is known is dropped, the call is replaced.
type stretch struct {
	from, to   int
	drop, call bool
}

// stretches is the straight code of the instructions of a turn.
func (f *listing) stretches(visited []int) []stretch {
	out := []stretch{} // not nil
	for _, i := range visited {
		at := stretch{from: f.code[i].at, to: f.code[i+1].at}
		switch f.code[i].op {
		case opBlock, opElse, opEnd, opBr, opNop:
			continue
		case opIf, opBrIf, opBrTable:
			at.drop = true
		case opCall:
			at.call = true
		}
		if n := len(out); n > 0 && !at.drop && !at.call && !out[n-1].drop && !out[n-1].call && out[n-1].to == at.from {
			out[n-1].to = at.to
			continue
		}
		out = append(out, at)
	}
	return out
}

// same is a local that has the value of a sum, though its own code does not say so.
type same struct {
	local uint32
	value sum
}

// count is a local that grows in each turn.
type count struct {
	local  uint32
	narrow bool
	by     uint64
}

// limit is a condition that a turn needs: moving, which grows by a constant in each
// turn, is in a relation to what stays.
type limit struct {
	moving, fixed sum
	rel           relation
	// down says that moving falls; shift is the logarithm of its step, -1 where it does
	// not move at all.
	down  bool
	shift int
}

// findTurns looks for such loops in a function.
func (w *rewriter) findTurns(b *body, first int) map[int]*turns {
	f := w.list(b, first)
	if f == nil {
		return nil
	}
	found := map[int]*turns{}
	for _, loop := range f.loops {
		if in := &f.code[loop]; in.typed || in.value || w.traceSteps <= 0 {
			continue
		}
		if t := w.turnsOf(f, loop); t != nil {
			found[f.code[loop].at] = t
		}
	}
	return found
}

// turnsOf tries what may hold at the head of a loop: nothing, or one of the values
// that a local is given before a branch to it.
func (w *rewriter) turnsOf(f *listing, loop int) *turns {
	for _, h := range append([]head{{}}, f.heads[loop]...) {
		for _, noBase := range []bool{false, true} {
			t := &tracer{w: w, f: f, loop: loop, steps: min(loopSteps, w.traceSteps), noBase: noBase, assumed: -1}
			w.traceSteps -= t.steps
			p := &path{locals: make([]value, len(f.types)), base: -1}
			for i := range p.locals {
				p.locals[i].kind = untouched
			}
			if h != (head{}) {
				t.assumed = int(h.local)
				p.locals[h.local] = value{kind: number, a: constantSum(uint64(h.constant), true)}
			}
			t.follow(p, loop+1)
			w.traceSteps += max(0, t.steps)
			if best := t.best(h); best != nil {
				return best
			}
		}
	}
	return nil
}

// best is what moves most of the traces that were found.
func (t *tracer) best(h head) *turns {
	var best *turns
	for _, p := range t.found {
		u := t.turns(p, h)
		if u != nil && (best == nil || u.how.Width() > best.how.Width()) {
			best = u
		}
	}
	return best
}

// turns is what a trace says about many turns, nil if they cannot be told.
func (t *tracer) turns(p *path, h head) *turns {
	u := &turns{how: p.how, symbols: t.symbols,
		assumed: t.assumed, value: h.constant, base: p.base, memory: p.memory, beyond: p.beyond, offset: p.offset}
	for _, i := range p.visited {
		u.visited = append(u.visited, t.f.code[i].at)
	}
	slices.Sort(u.visited)
	if p.computed {
		if len(p.visited) > traceComputed {
			return nil
		}
		u.computed = t.f.stretches(p.visited)
	}
	s := &steps{t: t, p: p, u: u, by: make([]uint64, len(t.symbols)), known: make([]bool, len(t.symbols))}
	if !t.ends(p, h) || !s.settle() {
		return nil
	}
	width := p.how.Width()
	if m, ok := s.of(p.memory); !p.computed && (!ok || m != uint64(uint32(width))) {
		return nil
	}
	if o, ok := s.of(p.offset); !ok || o != width {
		return nil
	}
	for _, c := range p.conds {
		if !s.limit(c.a, c.b, c.rel) {
			return nil
		}
	}
	u.low = p.low
	for i := range p.slots {
		u.high = max(u.high, p.slots[i].at+p.slots[i].size)
	}
	return u
}

// ends tells whether a trace ends with what it began with: the base and the local that
// is assumed to have a value.
func (t *tracer) ends(p *path, h head) bool {
	if t.assumed >= 0 {
		v := p.locals[t.assumed]
		if c, ok := v.a.constant(); v.kind != number || !ok || uint32(c) != uint32(h.constant) || !v.a.narrow {
			return false
		}
	}
	if p.base >= 0 {
		v := p.locals[p.base]
		return v.kind == number && v.a == t.symbols.find(symbol{kind: inLocal, narrow: true, index: uint32(p.base)})
	}
	return true
}

// steps finds by how much symbols change in a turn.
type steps struct {
	t     *tracer
	p     *path
	u     *turns
	by    []uint64
	known []bool
}

// settle finds the steps of all symbols that are found in locals, globals and slots.
// Those of a local that is computed from others follow from theirs.
func (s *steps) settle() bool {
	var computed []int
	for _, id := range s.p.reads {
		i := int(id - 1)
		sym := s.t.symbols[i]
		end := s.p.at(sym)
		if end.kind != number || end.a.narrow != sym.narrow {
			if s.p.computed {
				continue // its own code computes it
			}
			return false
		}
		d, ok := end.a.minus(s.t.symbols.find(sym))
		c, constant := d.constant()
		switch {
		case ok && constant && (c == 0 || sym.kind == inLocal):
			s.by[i], s.known[i] = c, true
			s.count(sym, c)
		case sym.kind == inLocal:
			computed = append(computed, i)
		case !s.p.computed:
			return false
		}
	}
	for _, i := range computed {
		if !s.compute(i) && !s.p.computed {
			return false
		}
	}
	return true
}

func (s *steps) count(sym symbol, by uint64) {
	if by != 0 {
		s.u.counts = append(s.u.counts, count{sym.index, sym.narrow, by})
	}
}

// compute finds the step of a local that a turn sets to a sum of others. That it is
// what it was set to by a turn before is a condition.
func (s *steps) compute(i int) bool {
	sym := s.t.symbols[i]
	end := s.p.locals[sym.index].a
	by, ok := s.of(end)
	if !ok {
		return false
	}
	before, ok := end.minus(constantSum(by, sym.narrow))
	if !ok {
		return false
	}
	s.u.same = append(s.u.same, same{sym.index, before})
	s.by[i], s.known[i] = by, true
	s.count(sym, by)
	return true
}

// at is the value that a turn leaves where a symbol was found.
func (p *path) at(s symbol) value {
	switch s.kind {
	case inLocal:
		return p.locals[s.index]
	case inGlobal:
		for _, g := range p.globals {
			if g.index == s.index {
				return g.now
			}
		}
	case inSlot:
		for _, l := range p.slots {
			if l.at == s.at {
				return l.now
			}
		}
	}
	return value{}
}

// of is the step of a sum. Those of what is extended are right as long as it does not
// wrap around, which becomes a condition.
func (s *steps) of(a sum) (uint64, bool) {
	total := uint64(0)
	for _, t := range a.terms {
		if t.symbol == 0 {
			break
		}
		i := int(t.symbol - 1)
		if !s.known[i] {
			if s.t.symbols[i].kind != extended || !s.extension(i) {
				return 0, false
			}
		}
		total += t.by * s.by[i]
	}
	if a.narrow {
		total = uint64(uint32(total))
	}
	return total, true
}

// extension finds the step of an extended sum.
func (s *steps) extension(i int) bool {
	sym := s.t.symbols[i]
	by, ok := s.of(sym.of)
	if !ok {
		return false
	}
	s.by[i], s.known[i] = uint64(int64(int32(uint32(by)))), true
	if by == 0 {
		return true
	}
	rel, end := isLeU, uint64(0xffff_ffff)
	switch up := int32(uint32(by)) > 0; {
	case sym.signed && up:
		rel, end = isLeS, 0x7fff_ffff
	case sym.signed:
		rel, end = isGeS, 0x8000_0000
	case !up:
		rel, end = isGeU, 0
	}
	return s.limit(sym.of, constantSum(end, true), rel)
}

// limit adds the condition that a relation holds in every turn. Of the sides at most
// one may move, toward the end of what the relation allows, by a power of two.
func (s *steps) limit(a, b sum, rel relation) bool {
	da, ok := s.of(a)
	db, also := s.of(b)
	if !ok || !also || da != 0 && db != 0 {
		return false
	}
	if db != 0 {
		a, b, da, rel = b, a, db, swapped[rel]
	}
	l := limit{moving: a, fixed: b, rel: rel, shift: -1}
	if da != 0 {
		by := int64(da)
		if a.narrow {
			by = int64(int32(uint32(da)))
		}
		if l.down = by < 0; l.down {
			by = -by
		}
		if by <= 0 || bits.OnesCount64(uint64(by)) != 1 || !l.toward() {
			return false
		}
		l.shift = bits.TrailingZeros64(uint64(by))
	}
	s.u.limits = append(s.u.limits, l)
	return true
}

// toward tells whether what moves comes nearer to the end of what is allowed.
func (l *limit) toward() bool {
	switch l.rel {
	case isNe:
		return true
	case isLtS, isLtU, isLeS, isLeU:
		return !l.down
	case isGtS, isGtU, isGeS, isGeU:
		return l.down
	}
	return false
}
