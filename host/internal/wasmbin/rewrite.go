package wasmbin

// rewriter holds the state of one Meter or Prepare call.
type rewriter struct {
	m *module
	o MeterOptions
	// window and straight are the weights after which a region is cut: window where
	// there are branches, straight where there are none.
	window, straight int
	out              output
	// Indices of the added declarations, in the rewritten module.
	fuel   uint32 // global: the counter
	denied uint32 // global: see DeniedExport
	tick   uint32 // function, imported
	refill uint32 // function: see helpers
	bytes  uint32
	elems  uint32
	pages  uint32
	slots  uint32
	undo   uint32
	fill   uint32
	copy   uint32
	// vectors are the mutable globals of type v128 that are opened to the host.
	vectors []uint32
	check   sequence // charges, and calls the host if the counter is negative
	leave   sequence // charges in a loop that calls the host from outside
	enter   sequence // charges in a function's body that calls the host from outside
	again   sequence // calls the host for leave and enter
	spend   sequence // charges
	code    codeWriter
	leaves  map[uint32]*leaf // by function: those that are written out where they are called
	inlined int              // bytes written out so far
	locals  []byte           // declarations of the current body
	front   []byte           // code at the entry of the current body
	cost    int              // estimate of the compile time of the bodies so far
	named   bool             // a name section has been written
	// open is set when the module's state is opened to the host.
	open *Prepared
	// shell leaves out the code.
	shell bool
	// trace collects where code comes from.
	trace tracer
}

func newRewriter(m *module, o MeterOptions, window, straight int) *rewriter {
	w := &rewriter{m: m, o: o, window: window, straight: straight}
	w.fuel = uint32(len(m.globals))
	w.denied = w.fuel + 1
	w.tick = uint32(m.imported[KindFunc])
	w.out.host = w.tick
	w.refill = uint32(len(m.funcs)) + 1
	w.bytes, w.elems, w.pages, w.slots, w.undo = w.refill+1, w.refill+2, w.refill+3, w.refill+4, w.refill+5
	w.fill, w.copy = w.refill+6, w.refill+7
	w.sequences()
	return w
}

// added are the sections that metering needs, in the order of a module.
var added = [...]byte{secType, secImport, secFunction, secGlobal, secExport, secCode}

// rewrite writes the sections in their order, including those that the module lacks and
// metering needs.
func (w *rewriter) rewrite() ([]byte, error) {
	if w.out.buf == nil {
		w.out.buf = make([]byte, 0, len(w.m.bin)+len(w.m.bin)/6+512)
	}
	w.out.bytes(w.m.bin[:8])
	next := 0
	missing := func(before int) error {
		for ; next < len(added) && sectionOrder[added[next]] < before; next++ {
			if w.m.index[added[next]] == 0 {
				if err := w.section(section{id: added[next]}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, s := range w.m.sections {
		if s.id != secCustom {
			if err := missing(sectionOrder[s.id]); err != nil {
				return nil, err
			}
		}
		if err := w.section(s); err != nil {
			return nil, err
		}
	}
	if err := missing(len(sectionOrder)); err != nil {
		return nil, err
	}
	w.out.bytes(w.o.Trace)
	return w.out.buf, nil
}

// section writes one section. It writes the content first and then moves it behind the
// header, because the size of the header depends on the size of the content.
func (w *rewriter) section(s section) error {
	if s.id == secCustom {
		w.custom(s)
		return nil
	}
	if w.leftOut(s.id) {
		return nil
	}
	w.out.byte(s.id)
	start := len(w.out.buf)
	r, _ := w.m.content(s.id)
	err := w.content(s.id, &r)
	w.out.sizeAt(start)
	return err
}

// leftOut reports whether the output lacks a section, because the host does its work.
func (w *rewriter) leftOut(id byte) bool {
	switch {
	case w.open == nil:
		return false
	case id == secStart:
		return w.open.Start
	case id == secData, id == secDataCount:
		return w.open.Lifted
	}
	return false
}

// content writes the content of a section. r is empty if the module does not have the
// section.
func (w *rewriter) content(id byte, r *reader) error {
	switch id {
	case secType:
		w.extend(r, helperTypes)
	case secImport:
		im := appendName(appendName(nil, w.o.TickModule), w.o.TickName)
		w.extend(r, [][]byte{appendU32(append(im, byte(KindFunc)), w.typeIndex(typeTick))})
	case secFunction:
		w.extend(r, w.helperDeclarations())
	case secTable:
		w.tables()
		return nil
	case secMemory:
		w.memories()
		return nil
	case secGlobal:
		w.globals(r)
	case secExport:
		w.exports()
		return nil
	case secStart:
		w.out.function(r.u32("the start function"))
	case secElement:
		w.m.elements(r, &w.out)
	case secCode:
		if w.shell {
			w.stubs()
			return nil
		}
		return w.codes(r)
	default:
		w.out.bytes(r.buf[r.pos:r.end])
		r.pos = r.end
	}
	return r.err
}

// extend copies a vector and adds elements to it.
func (w *rewriter) extend(r *reader, elems [][]byte) {
	n := w.length(r)
	w.out.u32(n + uint32(len(elems)))
	w.out.bytes(r.buf[r.pos:r.end])
	for _, e := range elems {
		w.out.bytes(e)
	}
}

// length reads the length of a vector; it is 0 for a section that the module does not have.
func (w *rewriter) length(r *reader) uint32 {
	if r.done() {
		return 0
	}
	return r.u32("a count")
}

func (w *rewriter) tables() {
	own := w.m.info.Tables
	w.out.u32(uint32(len(own)))
	// All tables may grow by the same number of elements.
	more := (uint64(w.o.MaxTable) - w.m.tableElements()) / uint64(max(len(own), 1))
	for _, t := range own {
		t.Limits.Max, t.Limits.HasMax = t.Limits.largest(more), true
		w.out.byte(byte(t.Elem))
		w.limits(t.Limits, 0)
	}
}

func (w *rewriter) memories() {
	own := w.m.info.Memories
	w.out.u32(uint32(len(own)))
	for _, l := range own {
		w.limits(l, uint64(w.o.MaxMemoryPages))
	}
}

// limits writes l with its maximum capped at limit; 0 means no cap.
func (w *rewriter) limits(l Limits, limit uint64) {
	if limit != 0 && (!l.HasMax || l.Max > limit) {
		l.Max, l.HasMax = limit, true
	}
	if !l.HasMax {
		w.out.byte(0)
		w.out.u32(uint32(l.Min))
		return
	}
	w.out.byte(1)
	w.out.u32(uint32(l.Min))
	w.out.u32(uint32(l.Max))
}

// globals copies the globals, moves the function indices in their initialisers, and adds
// the counter. The counter starts at 0, so the first check calls the host.
func (w *rewriter) globals(r *reader) {
	n := w.length(r)
	own := uint32(1)
	if w.open != nil {
		own = 2
	}
	w.out.u32(n + own)
	for ; n > 0 && r.err == nil; n-- {
		at := r.pos
		r.globalType()
		w.out.bytes(r.buf[at:r.pos])
		w.m.constExpr(r, &w.out)
	}
	w.out.bytes([]byte{byte(I64), 1, opI64Const, 0, opEnd})
	if w.open != nil {
		w.out.bytes([]byte{byte(I32), 1, opI32Const, 0, opEnd})
	}
}

func (w *rewriter) exports() {
	n := len(w.m.info.Exports) + 1
	var globals []uint32
	if w.open != nil {
		globals = w.m.mutableGlobals(ValueType.number)
		n += len(globals) + 2*len(w.vectors) + 1
		if w.open.Start {
			n++
		}
	}
	w.out.u32(uint32(n))
	for _, e := range w.m.info.Exports {
		w.out.name(e.Name)
		w.out.byte(byte(e.Kind))
		if e.Kind == KindFunc {
			w.out.function(e.Index)
		} else {
			w.out.u32(e.Index)
		}
	}
	w.exportGlobal(w.o.FuelExport, w.fuel)
	if w.open != nil {
		w.exportGlobal(DeniedExport, w.denied)
	}
	for i, g := range globals {
		w.exportGlobal(w.open.Globals[i], g)
	}
	for i := range w.vectors {
		get := w.copy + 1 + 2*uint32(i)
		w.exportHelper(w.open.Vectors[i].Get, get)
		w.exportHelper(w.open.Vectors[i].Set, get+1)
	}
	if w.open != nil && w.open.Start {
		w.out.name(StartExport)
		w.out.byte(byte(KindFunc))
		w.out.function(w.m.info.Start)
	}
}

// exportHelper exports a function by its index in the rewritten module.
func (w *rewriter) exportHelper(name string, i uint32) {
	w.out.name(name)
	w.out.byte(byte(KindFunc))
	w.out.u32(i)
}

func (w *rewriter) exportGlobal(name string, i uint32) {
	w.out.name(name)
	w.out.byte(byte(KindGlobal))
	w.out.u32(i)
}

// custom writes the section with names. An engine reads no other custom section, and many refer to
// offsets in the code, which move.
func (w *rewriter) custom(s section) {
	if s.name != "name" {
		return
	}
	if content := w.names(s); content != nil {
		w.out.buf = appendSection(w.out.buf, secCustom, append(appendName(nil, s.name), content...))
	}
}

// The types that metering adds behind the module's own.
const (
	typeTick      = iota // () -> i64
	typeRefill           // () -> ()
	typeCharge           // i32 -> i32
	typeGrown            // i32 i32 -> i32
	typeUndo             // i64 -> ()
	typeBulk             // i32 i32 i32 -> ()
	typeGetVector        // () -> i64 i64
	typeSetVector        // i64 i64 -> ()
)

var helperTypes = [][]byte{
	{0x60, 0, 1, byte(I64)},
	{0x60, 0, 0},
	{0x60, 1, byte(I32), 1, byte(I32)},
	{0x60, 2, byte(I32), byte(I32), 1, byte(I32)},
	{0x60, 1, byte(I64), 0},
	{0x60, 3, byte(I32), byte(I32), byte(I32), 0},
	{0x60, 0, 2, byte(I64), byte(I64)},
	{0x60, 2, byte(I64), byte(I64), 0},
}

// opening is how a body begins, which decides how its function pays.
type opening uint8

const (
	// opensChecked: the function checks when it pays.
	opensChecked opening = iota
	// opensWithLoop: only straight code stands before a loop, and the loop checks.
	opensWithLoop
	// opensLeaf: the function is short, has few locals and calls nothing but a few
	// inert functions. It cannot recurse, and a loop or recursion that calls it has a
	// check of its own.
	opensLeaf
)

// codeWriter rewrites one function body after another.
type codeWriter struct {
	code    []byte // rewritten instructions of the current body
	copied  int    // offset in the file up to which code has been copied
	labels  []uint32
	frames  []frame
	regions []region
	shape   shape
	opening opening
	// first is the loop with which the body begins, once it is reached.
	first       site
	firstCharge int
	// extra are the types of the locals that are added to the body; places are the
	// indices, in the body, of the locals of the current leaf.
	extra  []ValueType
	places []uint32
	// added is the number of added blocks that surround the current instruction.
	added int
	// spans are the copied pieces, if traced.
	traced bool
	spans  []span
}

// site holds the two offsets of a charge in the code: head, where it is paid, and back,
// where it is given back. -1 means that there is none.
type site struct{ head, back int }

func (s site) set(code []byte, charge int) {
	setCharge(code, s.head, charge)
	if s.back >= 0 {
		setCharge(code, s.back, charge)
	}
}

// leaf is a function that is written out where it is called.
type leaf struct {
	from, to int // offsets of its instructions in the file
	// locals are the types of its parameters and locals. unset are the indices of locals
	// that it reads before it sets them; they begin as 0.
	locals []ValueType
	params int
	unset  []uint32
	weight int // of one call
	// inert counts its calls of inert imports, others its calls of functions of the module.
	inert, others int
	// mayTrap reports that it divides or truncates.
	mayTrap bool
}

// sequence is code that takes a charge from the counter. The charge takes two bytes at
// offset charge, which setCharge fills in once the charge is known.
type sequence struct {
	code   []byte
	charge int
}

// maxCharge is the largest charge that fits into a sequence.
const maxCharge = 1<<13 - 1

// setCharge fills in a charge as a signed LEB128 number of two bytes.
func setCharge(code []byte, at, charge int) {
	code[at] = byte(charge)&0x7f | 0x80
	code[at+1] = byte(charge >> 7)
}
