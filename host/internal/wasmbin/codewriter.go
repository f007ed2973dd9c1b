package wasmbin

import "fmt"

// Thresholds of the placement of checks.
const (
	// mergeWeight is the charge of a function up to which it is added to that of
	// the loop its body opens with, instead of being spent at the entry. The loop
	// then pays it in every iteration.
	mergeWeight = 8
	// uncheckedWindows is how many windows in a row may spend without a check.
	uncheckedWindows = 32
)

// codeWriter rewrites one function body after another.
type codeWriter struct {
	code    []byte // rewritten instructions of the body at hand
	copied  int    // offset in the file up to which code has been copied
	labels  []uint32
	frames  []frame
	regions []region
	shape   shape
	calls   bool
	// straight holds until control can go elsewhere than to the next instruction.
	straight bool
	// first is the loop the body opens with: where its charge stands, or -1.
	first       int
	firstCharge int
}

// codes rewrites the code section.
func (w *rewriter) codes(r *reader) error {
	helpers := w.helpers()
	w.out.u32(uint32(w.m.info.Functions + len(helpers)))
	if err := w.m.bodies(w.function); err != nil {
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
	c := &w.code
	first := b.r.pos
	*c = codeWriter{code: c.code[:0], labels: c.labels, frames: c.frames[:0], regions: c.regions[:0],
		copied: first, straight: true, first: -1}
	c.frames = append(c.frames, frame{lowest: noWindow})
	c.regions = append(c.regions, newRegion(-1))
	c.regions[0].weight = localsWeight(b.locals)
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
	if err := b.r.finish("the end of a function"); err != nil {
		return err
	}
	if err := w.o.Bounds.checkCost(b, c.shape, &w.cost); err != nil {
		return err
	}
	c.flush(b, b.r.end)
	w.finishFunction(b, first)
	return nil
}

// instruction charges for an instruction and writes it.
func (w *rewriter) instruction(b *body, in *instr) error {
	c := &w.code
	if weight := w.m.weight(in); weight > 0 {
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
	case immLabels:
		c.shape.count(in, c.labels)
		for _, l := range c.labels {
			c.branch(l)
		}
		c.regions[len(c.regions)-1].dispatched()
	case immFunc:
		w.moveFunction(b, in)
	case immIndirect:
		c.calls, c.straight = true, false
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

// plain handles the instructions without immediates, of which few matter.
func (w *rewriter) plain(b *body, in *instr) error {
	c := &w.code
	switch in.op {
	case opElse:
		return c.elseArm(b, in)
	case opEnd:
		c.endBlock()
	case opReturn, 0x00:
		c.straight = false
	case 0x0a:
		return &FormatError{Kind: ErrUnsupported, Offset: in.at, Section: "code", Detail: "throw_ref (exception handling)"}
	}
	return nil
}

// pay adds weight to the current window, beginning a new one first where it is due.
func (w *rewriter) pay(b *body, at, weight int) {
	c := &w.code
	g := &c.regions[len(c.regions)-1]
	if g.due || g.weight >= w.window {
		c.flush(b, at)
		c.closeWindow(g)
		s := &w.spend
		if (g.window+1)%uncheckedWindows == 0 {
			s = &w.check
		}
		g.open(c.append(s))
	}
	g.weight += weight
}

// closeWindow ends a window and fills in its charge, where it has one of its own.
func (c *codeWriter) closeWindow(g *region) {
	g.close()
	if g.patch >= 0 {
		setCharge(c.code, g.patch, g.weight)
	}
}

// append writes a sequence and returns where its charge stands.
func (c *codeWriter) append(s *sequence) int {
	at := len(c.code) + s.charge
	c.code = append(c.code, s.code...)
	return at
}

// flush copies the instructions up to offset at.
func (c *codeWriter) flush(b *body, at int) {
	c.code = append(c.code, b.r.buf[c.copied:at]...)
	c.copied = at
}

func (w *rewriter) openBlock(b *body, in *instr) error {
	c := &w.code
	c.shape.count(in, nil)
	if len(c.frames) > w.o.Bounds.Depth {
		return &LimitError{What: fmt.Sprintf("nesting of blocks in function %d", b.index),
			Value: uint64(len(c.frames)), Max: uint64(w.o.Bounds.Depth)}
	}
	top := len(c.regions) - 1
	f := frame{op: in.op, region: top, lowest: noWindow, site: c.regions[top].window}
	switch in.op {
	case opLoop:
		c.flush(b, b.r.pos)
		patch := c.append(&w.check)
		if c.straight {
			c.first = patch
		}
		c.straight = false
		c.regions = append(c.regions, newRegion(patch))
		f.region++
	case opIf:
		c.straight = false
	}
	c.frames = append(c.frames, f)
	return nil
}

// branch notes a branch to label l.
func (c *codeWriter) branch(l uint32) {
	c.straight = false
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

func (c *codeWriter) endBlock() {
	f := &c.frames[len(c.frames)-1]
	g := &c.regions[f.region]
	switch f.op {
	case opLoop:
		c.closeWindow(g)
		setCharge(c.code, g.at, g.charge())
		if g.at == c.first {
			c.firstCharge = g.charge()
		}
		c.regions = c.regions[:f.region]
	case opIf:
		f.from(f.site)
		fallthrough
	case opBlock, opElse:
		g.arrive(f.lowest, f.zero)
	}
	c.frames = c.frames[:len(c.frames)-1]
}

// charge writes a call of a helper, which charges for the number on the stack.
func (w *rewriter) charge(b *body, in *instr, helper uint32) {
	c := &w.code
	c.flush(b, in.at)
	c.code = appendU32(append(c.code, opCall), helper)
}

// chargeGrown writes a call of a helper behind the instruction at hand, which
// grows what size measures: only what was granted is paid for.
func (w *rewriter) chargeGrown(b *body, size []byte, helper uint32) {
	c := &w.code
	c.flush(b, b.r.pos)
	c.code = append(c.code, size...)
	c.code = appendU32(append(c.code, opCall), helper)
}

func (w *rewriter) misc(b *body, in *instr) {
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		w.charge(b, in, w.bytes)
	case miscTableInit, miscTableCopy, miscTableFill:
		w.charge(b, in, w.elems)
	case miscTableGrow:
		w.chargeGrown(b, appendU32([]byte{opMisc, miscTableSize}, in.x), w.slots)
	}
}

// moveFunction writes an instruction that names a function under its new index.
func (w *rewriter) moveFunction(b *body, in *instr) {
	c := &w.code
	if in.op != opRefFunc {
		c.calls, c.straight = true, false
	}
	c.flush(b, in.at)
	c.code = appendU32(append(c.code, in.op), w.out.moved(in.x))
	c.copied = b.r.pos
}

// finishFunction puts the pieces of a body together: its size, its local
// declarations, the charge at its entry and its code.
func (w *rewriter) finishFunction(b *body, first int) {
	c := &w.code
	g := &c.regions[0]
	c.closeWindow(g)
	locals := b.r.buf[b.start:first]
	entry := w.entry(g)
	if entry == nil {
		w.out.u32(uint32(len(locals) + len(c.code)))
		w.out.bytes(locals)
	} else {
		w.out.u32(uint32(len(locals) + len(entry.code) + len(c.code)))
		w.out.bytes(locals)
		at := len(w.out.buf) + entry.charge
		w.out.bytes(entry.code)
		setCharge(w.out.buf, at, g.charge())
	}
	w.out.bytes(c.code)
}

// entry chooses how a function pays for its region; nil when it need not. A check is left out where
// one follows at once, and where the function is short and calls nothing: it
// cannot recurse, and who calls it in a loop or recursion checks there.
func (w *rewriter) entry(g *region) *sequence {
	c := &w.code
	charge := g.charge()
	switch {
	case c.first >= 0 && charge <= mergeWeight:
		setCharge(c.code, c.first, c.firstCharge+charge)
		return nil
	case charge == 0:
		return nil
	case c.first >= 0, !c.calls && g.window == 0:
		return &w.spend
	}
	return &w.check
}
