package wasmbin

import (
	"errors"
	"fmt"
)

// Thresholds of the placement of checks.
const (
	// mergeWeight is the largest charge of a function that is added to the charge of the
	// loop with which its body begins, instead of being paid at the entry. The loop then
	// pays it in every iteration.
	mergeWeight = 8
	// A function without a check has a body of at most leafSize bytes, calls at most
	// leafCalls inert functions, and calls no other.
	leafSize, leafCalls = 128, 2
	// Loops call the host from outside of themselves up to outsideCost, an estimate of
	// the function's compile time, and up to outsideDepth nested loops. The blocks for
	// that take time to compile, and the time grows faster than the nesting.
	outsideCost, outsideDepth = 250_000, 8
)

// codes rewrites the code section.
func (w *rewriter) codes(r *reader) error {
	w.trace.begin = len(w.out.buf)
	w.findLeaves()
	helpers := w.helpers()
	w.out.u32(uint32(w.m.info.Functions + len(helpers)))
	start := len(w.out.buf)
	err := w.m.bodies(w.function)
	if limit := (*LimitError)(nil); w.inlined > 0 && errors.As(err, &limit) && limit.CompileOnly {
		// The added locals may have exceeded the limit: try again without them.
		w.out.buf, w.leaves, w.inlined, w.cost, w.trace.spans = w.out.buf[:start], nil, 0, 0, nil
		err = w.m.bodies(w.function)
	}
	if err != nil {
		return err
	}
	for _, h := range helpers {
		w.out.u32(uint32(len(h)))
		w.out.bytes(h)
	}
	return nil
}

// function rewrites one body.
func (w *rewriter) function(b *body) error {
	if err := w.o.Bounds.checkBody(b); err != nil {
		return err
	}
	first := b.r.pos
	if err := w.body(b); err != nil {
		return err
	}
	if err := w.o.Bounds.checkCost(b, &w.code.shape, len(w.code.extra), &w.cost); err != nil {
		return err
	}
	w.code.flush(b, b.r.end)
	w.finishFunction(b, first)
	return nil
}

// body writes the instructions of a body.
func (w *rewriter) body(b *body) error {
	c := &w.code
	*c = codeWriter{code: c.code[:0], labels: c.labels, frames: c.frames[:0], regions: c.regions[:0], shape: shape{open: c.shape.open[:0]},
		extra: c.extra[:0], places: c.places, copied: b.r.pos, opening: w.m.opening(b), first: site{-1, -1},
		traced: w.trace.on, spans: c.spans[:0]}
	c.frames = append(c.frames, frame{lowest: noWindow})
	c.regions = append(c.regions, newRegion(-1))
	c.regions[0].weight = localsWeight(b.locals) + len(w.m.funcType(b.index).Results)/valuesPerWeight
	var in instr
	for len(c.frames) > 0 {
		c.labels = c.labels[:0]
		b.r.next(&in, &c.labels)
		w.m.checkIndices(b, &in, c.labels, len(c.frames))
		if b.r.err != nil {
			return b.r.err
		}
		if err := w.instruction(b, &in); err != nil {
			return err
		}
	}
	return b.r.finish("the end of a function")
}

// instruction charges for an instruction and writes it.
func (w *rewriter) instruction(b *body, in *instr) error {
	c := &w.code
	c.shape.count(w.m, in, c.labels)
	weight, l := w.m.weight(in), w.leafAt(b, in)
	if l != nil {
		weight += l.weight
	}
	if weight > 0 {
		w.pay(b, in.at, weight)
	}
	switch immediates[in.op] {
	case immLocal, immGlobal, immMem, immI32, immI64, immF32, immF64, immVector, immZero, immTable:
		if in.op == opMemoryGrow {
			w.chargeGrown(b, []byte{opMemorySize, 0}, w.pages)
		}
	case immBlock:
		return w.openBlock(b, in)
	case immLabel:
		c.branch(in.x)
		c.relabel(b, in)
	case immLabels:
		for _, l := range c.labels {
			c.branch(l)
		}
		c.relabelTable(b, in)
		c.regions[len(c.regions)-1].dispatched()
	case immFunc:
		if l != nil {
			w.writeOut(b, in, l)
		} else {
			w.moveFunction(b, in)
		}
	case immMisc:
		w.misc(b, in)
	case immNone:
		return w.plain(b, in)
	case immTry, immTag:
		return &FormatError{Kind: ErrUnsupported, Offset: in.at, Section: "code", Detail: "an exception instruction (exception handling)",
			Remedy: "build without exceptions, for C++ with -fno-exceptions"}
	case immAtomic:
		return &FormatError{Kind: ErrUnsupported, Offset: in.at, Section: "code", Detail: "an atomic instruction (threads)",
			Remedy: "build without threads"}
	}
	return nil
}

// plain handles the instructions without immediates. Only a few of them need treatment.
func (w *rewriter) plain(b *body, in *instr) error {
	c := &w.code
	switch in.op {
	case opElse:
		return c.elseArm(b, in)
	case opEnd:
		c.endBlock(b, w)
	case opReturn, 0x00:
		c.regions[len(c.regions)-1].left = true
	case 0x0a:
		return &FormatError{Kind: ErrUnsupported, Offset: in.at, Section: "code", Detail: "throw_ref (exception handling)"}
	}
	return nil
}

// pay adds weight to the current window. If a new window is due, it begins it first.
func (w *rewriter) pay(b *body, at, weight int) {
	c := &w.code
	g := &c.regions[len(c.regions)-1]
	if w.cut(g) {
		c.flush(b, at)
		c.closeWindow(g)
		s := &w.spend
		if g.unchecked >= straightWeight {
			s, g.unchecked = &w.check, 0
		}
		g.open(c.append(s))
	}
	g.weight += weight
}

// cut reports whether the next instruction begins a new window.
func (w *rewriter) cut(g *region) bool {
	return g.due || g.left && g.weight >= w.window || g.landing >= 0 && g.weight-g.landing >= landingWeight || g.weight >= w.straight
}

// closeWindow ends a window, and fills in its charge if it has one of its own.
func (c *codeWriter) closeWindow(g *region) {
	g.close()
	if g.patch >= 0 {
		setCharge(c.code, g.patch, g.weight)
	}
}

// append writes a sequence and returns the offset of its charge.
func (c *codeWriter) append(s *sequence) int {
	at := len(c.code) + s.charge
	c.code = append(c.code, s.code...)
	return at
}

// flush copies the instructions up to the offset at, which counts in the file.
func (c *codeWriter) flush(b *body, at int) {
	if c.traced {
		c.spans = append(c.spans, span{len(c.code), c.copied, at - c.copied})
	}
	c.code = append(c.code, b.r.buf[c.copied:at]...)
	c.copied = at
}

func (w *rewriter) openBlock(b *body, in *instr) error {
	c := &w.code
	if len(c.frames) > w.o.Bounds.Depth {
		return &LimitError{What: fmt.Sprintf("nesting of blocks in function %d", b.index),
			Value: uint64(len(c.frames)), Max: uint64(w.o.Bounds.Depth)}
	}
	top := len(c.regions) - 1
	f := frame{op: in.op, region: top, lowest: noWindow, site: c.regions[top].window}
	switch in.op {
	case opLoop:
		f.outside = w.openLoop(b, in)
		f.region++
	case opIf:
		c.regions[top].left = true
	}
	f.added = c.added
	c.frames = append(c.frames, f)
	return nil
}

// branch notes a branch to label l.
func (c *codeWriter) branch(l uint32) {
	c.regions[len(c.regions)-1].left = true
	f := &c.frames[len(c.frames)-1-int(l)]
	if f.op != opLoop && f.op != 0 {
		f.from(c.regions[f.region].window)
	}
}

func (c *codeWriter) elseArm(b *body, in *instr) error {
	f := &c.frames[len(c.frames)-1]
	if f.op != opIf {
		b.r.fail(ErrMalformed, in.at, "else without if")
		return b.r.err
	}
	f.otherwise(&c.regions[f.region])
	return nil
}

func (c *codeWriter) endBlock(b *body, w *rewriter) {
	f := &c.frames[len(c.frames)-1]
	g := &c.regions[f.region]
	switch f.op {
	case opLoop:
		c.closeWindow(g)
		w.closeLoop(b, f, g)
		c.regions = c.regions[:f.region]
		c.regions[f.region-1].left = true
	case opIf:
		f.from(f.site)
		fallthrough
	case opBlock, opElse:
		g.arrive(f.lowest, f.zero)
	}
	c.frames = c.frames[:len(c.frames)-1]
}

// charge writes a call of a helper that charges for the number on top of the stack.
func (w *rewriter) charge(b *body, in *instr, helper uint32) {
	c := &w.code
	c.flush(b, in.at)
	c.code = appendU32(append(c.code, opCall), helper)
}

// replace writes a call of a helper in place of an instruction. A module without a memory
// keeps the instruction, so that the engine refuses it.
func (w *rewriter) replace(b *body, in *instr, helper uint32) {
	if len(w.m.memories) == 0 {
		return
	}
	w.charge(b, in, helper)
	w.code.copied = b.r.pos
}

// chargeGrown writes a call of a helper behind an instruction that grows a memory or a
// table. size is code that leaves the new size. The guest pays only for growth that was
// granted.
func (w *rewriter) chargeGrown(b *body, size []byte, helper uint32) {
	c := &w.code
	c.flush(b, b.r.pos)
	c.code = append(c.code, size...)
	c.code = appendU32(append(c.code, opCall), helper)
}

func (w *rewriter) misc(b *body, in *instr) {
	switch in.sub {
	case miscMemoryInit:
		w.charge(b, in, w.bytes)
	case miscMemoryCopy:
		w.replace(b, in, w.copy)
	case miscMemoryFill:
		w.replace(b, in, w.fill)
	case miscTableInit, miscTableCopy, miscTableFill:
		w.charge(b, in, w.elems)
	case miscTableGrow:
		w.chargeGrown(b, appendU32([]byte{opMisc, miscTableSize}, in.x), w.slots)
	}
}

// moveFunction writes an instruction that names a function, with the function's new index.
func (w *rewriter) moveFunction(b *body, in *instr) {
	c := &w.code
	c.flush(b, in.at)
	c.code = appendU32(append(c.code, in.op), w.out.moved(in.x))
	c.copied = b.r.pos
}
