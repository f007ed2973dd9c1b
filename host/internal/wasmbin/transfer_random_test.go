package wasmbin

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// choices are bytes that steer a generator; behind their end all are zero.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	v := int((*c)[0])
	*c = (*c)[1:]
	return v % n
}

// rarely is true for one choice of n, not for the first.
func (c *choices) rarely(n int) bool { return c.below(n) == n-1 }

// randomChoices are those of a seed.
func randomChoices(seed uint64) choices {
	r := rand.New(rand.NewPCG(seed, 11))
	c := make(choices, 400)
	for i := range c {
		c[i] = byte(r.Uint32())
	}
	return c
}

// The locals of the function with the loop, parameters first.
const (
	atLocal    = iota // i32: where the guest's bytes begin
	offLocal          // i64: where the host's begin
	nLocal            // i64
	baseLocal         // i32: variables in memory
	indexLocal        // i64
	shortLocal        // i32: an index, too
	ptrLocal          // i32
	posLocal          // i64
	leftLocal         // i64
	endLocal          // i32
	xLocal            // i64
	yLocal            // i32
	wordLocal         // i64
	byteLocal         // i32
	stateLocal        // i32
	floatLocal        // f64
)

var loopLocals = []ValueType{I64, I32, I32, I64, I64, I32, I64, I32, I64, I32, I32, F64}

// The functions that a random loop may call, in front of its own.
const (
	callLoad  = 7 + iota // i64 -> i64: load_u64
	callStore            // i64 i64 -> (): store_u64
	callFrame            // i32 -> (): load_u64 from and to the frame
)

// loopWriter writes a random loop that moves bytes. Most of what it chooses is what
// such loops are like, so that many are understood.
type loopWriter struct {
	choices
	code  []byte
	how   Transfer
	width int64
	// exit is the label of the loop's end.
	exit byte
	// used are the variables that the address and the offset are made of.
	used []byte
}

func (g *loopWriter) op(ops ...byte) *loopWriter { g.code = append(g.code, ops...); return g }
func (g *loopWriter) get(l int) *loopWriter      { return g.op(opLocalGet, byte(l)) }
func (g *loopWriter) set(l int) *loopWriter      { return g.op(opLocalSet, byte(l)) }
func (g *loopWriter) i32(v int64) *loopWriter {
	g.code = appendS64(g.op(opI32Const).code, int64(int32(v)))
	return g
}
func (g *loopWriter) i64(v int64) *loopWriter { g.code = appendS64(g.op(opI64Const).code, v); return g }
func (g *loopWriter) mem(op byte, off int) *loopWriter {
	g.code = appendU32(g.op(op, 0).code, uint32(off))
	return g
}

// loopProgram is a module with run, i32 i64 i64 i32 -> i64.
func loopProgram(c choices) []byte {
	g := &loopWriter{choices: c}
	g.how = []Transfer{LoadU64, StoreU64, LoadU8, StoreU8, InputLoadU64, InputLoadU8}[g.below(6)]
	g.width = int64(g.how.Width())
	g.op(byte(len(loopLocals)))
	for _, t := range loopLocals {
		g.op(1, byte(t))
	}
	g.begin()
	if g.below(3) == 2 {
		g.dispatched()
	} else {
		g.exit = 1
		g.op(opBlock, blockVoid, opLoop, blockVoid)
		g.turn()
		g.op(opBr, 0, opEnd, opEnd)
	}
	g.result()
	return loopModule(string(g.op(opEnd).code))
}

// loopModule is a module with that body. Its first function has another, of the same type.
func loopModule(run string) []byte { return loopModuleBehind("\x00\x42\x00\x0b", run) }

func loopModuleBehind(first, run string) []byte { return loopModuleOf(5, first, run) }

// loopModuleOf has a first function of a type, and more of the type i64 -> i64.
func loopModuleOf(firstType byte, first, run string, more ...string) []byte {
	const imports = "\x06\x01k\x07load_u8\x00\x00\x01k\x08load_u64\x00\x01\x01k\x0dinput_load_u8\x00\x00\x01k\x0einput_load_u64\x00\x01" +
		"\x01k\x08store_u8\x00\x02\x01k\x09store_u64\x00\x03"
	load, store := "\x00\x20\x00\x10\x01\x0b", "\x00\x20\x00\x20\x01\x10\x05\x0b"
	frame := "\x01\x01\x7e\x20\x00\x29\x00\x10\x10\x01\x21\x01\x20\x00\x20\x01\x37\x00\x18\x0b"
	count := string(rune(5 + len(more)))
	code := count
	for _, f := range append([]string{first, load, store, frame, run}, more...) {
		code += sized(f)
	}
	return moduleOf(secType, "\x06\x60\x01\x7e\x01\x7f\x60\x01\x7e\x01\x7e\x60\x02\x7e\x7f\x00\x60\x02\x7e\x7e\x00\x60\x01\x7f\x00\x60\x04\x7f\x7e\x7e\x7f\x01\x7e",
		secImport, imports, secFunction, count+string(rune(firstType))+"\x01\x03\x04\x05"+strings.Repeat("\x01", len(more)), secMemory, "\x01\x01\x01\x01",
		secGlobal, "\x03\x7f\x01\x41\x00\x0b\x7e\x01\x42\x00\x0b\x7c\x01\x44\x00\x00\x00\x00\x00\x00\x00\x00\x0b",
		secExport, "\x05\x06memory\x02\x00\x03run\x00\x0a\x02g0\x03\x00\x02g1\x03\x01\x02f0\x03\x02", secCode, code)
}

// begin sets the variables.
func (g *loopWriter) begin() {
	if g.rarely(4) {
		g.number64(1).set(indexLocal)
	}
	switch g.below(6) {
	case 4:
		g.number32(1).set(shortLocal)
	case 5:
		g.get(nLocal).op(opI32Wrap).set(shortLocal)
	}
	g.get(atLocal).set(ptrLocal)
	g.get(offLocal).set(posLocal)
	g.get(nLocal).set(leftLocal)
	g.get(atLocal).get(nLocal).op(opI32Wrap, opI32Add).set(endLocal)
	if g.rarely(3) {
		g.get(offLocal).set(xLocal)
	}
	if g.rarely(3) {
		g.get(nLocal).op(opGlobalSet, 1).get(nLocal).op(opI32Wrap, opGlobalSet, 0)
	}
	if g.rarely(3) {
		g.get(baseLocal).get(nLocal).mem(opI64Store, 8)
	}
	g.i64(0x3ff0000000000000).op(0xbf).set(floatLocal) // reinterpret: 1
}

// dispatched writes a loop whose turns are the second of two states.
func (g *loopWriter) dispatched() {
	g.exit = 0
	g.op(opLoop, blockVoid, opBlock, blockVoid, opBlock, blockVoid, opBlock, blockVoid)
	g.get(stateLocal).op(opBrTable, 2, 0, 1, 2, opEnd)
	g.i32(1).set(stateLocal).op(opBr, 2, opEnd)
	g.turn()
	g.i32(int64(1+g.below(8)/7)).set(stateLocal).op(opBr, 1, opEnd, opEnd)
}

// result leaves all that the locals hold.
func (g *loopWriter) result() {
	g.get(wordLocal)
	for _, l := range []int{indexLocal, posLocal, leftLocal, xLocal} {
		g.i64(31).op(opI64Mul).get(l).op(opI64Add)
	}
	for _, l := range []int{shortLocal, ptrLocal, yLocal, byteLocal} {
		g.i64(31).op(opI64Mul).get(l).op(opI64ExtendU, opI64Add)
	}
	g.get(floatLocal).op(0xbd, opI64Add) // reinterpret
}

// turn writes one turn: what is moved, conditions, and the rest in some order.
func (g *loopWriter) turn() {
	begin := len(g.code)
	g.move() // first: what it uses is what steps
	move := slices.Clone(g.code[begin:])
	g.code = g.code[:begin]
	parts := []func(){func() { g.op(move...) }, g.condition, g.step}
	for range g.below(3) {
		parts = append(parts, g.rest)
	}
	if g.rarely(3) {
		parts = append(parts, g.condition)
	}
	for i := range parts {
		k := i + g.below(len(parts)-i)
		parts[i], parts[k] = parts[k], parts[i]
	}
	for _, part := range parts {
		part()
	}
}

// move writes what moves bytes.
func (g *loopWriter) move() {
	switch {
	case g.how.Store() && g.width == 1 && g.rarely(5):
		g.offset().number32(1).op(opCall, 4)
	case g.how.Store():
		g.offset().address()
		g.guestOp(opI64Load, opI32Load8U)
		g.value()
		g.transfer()
	case g.how == LoadU64 && g.rarely(4):
		g.get(baseLocal).offset().mem(opI64Store, 16).get(baseLocal).op(opCall, callFrame)
		g.address().get(baseLocal).mem(opI64Load, 24)
		g.guestOp(opI64Store, opI32Store8)
	default:
		g.address().offset()
		g.transfer()
		g.value()
		g.guestOp(opI64Store, opI32Store8)
	}
}

func (g *loopWriter) guestOp(word, byt byte) {
	if g.width == 1 {
		word = byt
	}
	g.mem(word, []int{0, 0, 0, 8, 1000, 0xffff_fff8}[g.below(6)*g.below(2)])
}

func (g *loopWriter) transfer() {
	f := map[Transfer]byte{LoadU8: 0, LoadU64: 1, InputLoadU8: 2, InputLoadU64: 3, StoreU8: 4, StoreU64: 5}[g.how]
	switch {
	case g.how == LoadU64 && g.rarely(3):
		f = callLoad
	case g.how == StoreU64 && g.rarely(3):
		f = callStore
	}
	g.op(opCall, f)
}

// value takes what is moved some way: by a local, by the memory, by an operation.
func (g *loopWriter) value() {
	local, store, load := wordLocal, byte(opI64Store), byte(opI64Load)
	if g.width == 1 {
		local, store, load = byteLocal, opI32Store, opI32Load
	}
	switch g.below(8) {
	case 1, 2:
		g.op(opLocalTee, byte(local))
	case 3:
		g.set(local).get(baseLocal).get(local).mem(store, 32).get(baseLocal).mem(load, 32)
	case 4:
		g.mask()
	case 5:
		if g.width == 8 {
			g.op(opI32Wrap, opI64ExtendU)
		} else {
			g.op(opI64ExtendU, opI32Wrap)
		}
	}
}

func (g *loopWriter) mask() {
	if g.width == 8 {
		g.i64([]int64{0xff, -1, 0xfe}[g.below(3)]).op(opI64And)
	} else {
		g.i32([]int64{0xff, -1, 0xfe}[g.below(3)]).op(opI32And)
	}
}

// address leaves the address of the guest's bytes.
func (g *loopWriter) address() *loopWriter {
	switch g.below(6) {
	case 0, 1:
		g.used = append(g.used, indexLocal)
		return g.get(atLocal).get(indexLocal).op(opI32Wrap, opI32Add)
	case 2:
		g.used = append(g.used, shortLocal)
		return g.get(shortLocal).get(atLocal).op(opI32Add)
	case 3, 4:
		g.used = append(g.used, ptrLocal)
		return g.get(ptrLocal)
	}
	return g.number32(2)
}

// offset leaves the offset of the host's bytes.
func (g *loopWriter) offset() *loopWriter {
	switch g.below(8) {
	case 0, 1, 2:
		g.used = append(g.used, indexLocal)
		return g.get(offLocal).get(indexLocal).op(opI64Add)
	case 3, 4:
		g.used = append(g.used, posLocal)
		return g.get(posLocal)
	case 5:
		g.used = append(g.used, shortLocal)
		return g.get(offLocal).get(shortLocal).op(byte(opI64ExtendS+g.below(2)), opI64Add)
	case 6:
		g.used = append(g.used, ptrLocal)
		return g.get(ptrLocal).op(byte(opI64ExtendS + g.below(2)))
	}
	return g.number64(2)
}

// step changes the variables: those that are used by the width, others by anything.
func (g *loopWriter) step() {
	for _, l := range []byte{indexLocal, shortLocal, ptrLocal, posLocal, leftLocal, yLocal} {
		by := g.width
		if g.rarely(25) || !slices.Contains(g.used, l) && g.rarely(2) {
			by = []int64{1, 8, -1, -8, 16, 3, 0, -16, 1 << 31, 1 << 62}[g.below(10)]
		}
		if l == leftLocal {
			by = -by
		}
		switch {
		case l == yLocal && g.rarely(4):
			g.get(shortLocal).i32(by).op(opI32Add).set(yLocal)
		case l == indexLocal || l == posLocal || l == leftLocal:
			g.get(int(l)).i64(by).op(opI64Add).set(int(l))
		default:
			g.get(int(l)).i32(by).op(opI32Add).set(int(l))
		}
	}
}

// condition leaves the loop, where it is met or where it is not.
func (g *loopWriter) condition() {
	g.compare()
	switch g.below(4) {
	case 1:
		g.op(opIf, blockVoid, opElse, opBr, g.exit+1, opEnd)
	case 2:
		g.op(opI32Eqz, opBrIf, g.exit)
	default:
		g.op(opBrIf, g.exit)
	}
}

// compare leaves whether something has been reached; sometimes whether it has not.
func (g *loopWriter) compare() {
	rel := byte([]relation{isGeU, isGeS, isGtU, isGtS, isEq}[g.below(5)])
	if g.rarely(8) {
		rel = byte([]relation{isLtU, isLtS, isLeU, isLeS, isNe}[g.below(5)])
	}
	switch g.below(11) {
	case 0, 1, 2, 3:
		g.get(indexLocal).get(nLocal).op(opI64Eq + rel)
	case 8:
		g.get(shortLocal).get(nLocal).op(opI32Wrap, opI32Eq+rel)
	case 9:
		g.get(ptrLocal).get(endLocal).op(opI32Eq + rel)
	case 4:
		g.i64([]int64{0, 7, 8, -8}[g.below(4)]).get(leftLocal).op(opI64Eq + rel)
	case 5:
		g.get(indexLocal).get(baseLocal).mem(opI64Load, 8).op(opI64Eq + rel)
	case 6:
		g.number64(2).number64(2).op(opI64Eq + rel)
	default:
		g.number32(2).number32(2).op(opI32Eq + rel)
	}
}

// understoodProgram is the first from a seed on with a loop that is understood.
func understoodProgram(tb testing.TB, seed uint64) []byte {
	for {
		bin := loopProgram(randomChoices(seed))
		if w, _ := mustMove(tb, bin); w.moved > -freeMoves {
			return bin
		}
		seed++
	}
}

// loopArguments are an address, an offset, a number and a frame.
func loopArguments(c *choices) []uint64 {
	at, off, n, base := uint64(4096), uint64(128), uint64(800), uint64(1024)
	pick := func(v *uint64, from []uint64, spread int) {
		if c.below(2) == 1 {
			*v = from[c.below(len(from))] + uint64(c.below(spread)) - uint64(c.below(spread))
		}
	}
	pick(&at, []uint64{0, 1024, 800, 2000, PageSize, PageSize - 800, 1 << 31, 1 << 32, 1<<32 - 400}, 17)
	pick(&off, []uint64{0, kernelFirst, inputSize, inputSize - 400, kernelSize, kernelSize - 400, 1 << 31, 1 << 32, 1<<32 - 400, 1 << 63, 1<<63 - 400,
		math.MaxUint64 - 1<<32 + 929, math.MaxUint64 - 1<<31 + 929}, 17)
	pick(&n, []uint64{264, 400, 512, 1600, 6000, 0, 1 << 31, 1<<31 + 800, 1<<31 - 800, 1<<31 - 800, 1<<32 - 800, 1<<32 - 800, 1<<32 + 800, 1 << 63, 1<<63 + 800, 1<<63 - 800, 1 << 62}, 9)
	pick(&base, []uint64{4200, 4096, 4896, 0, 16, PageSize, PageSize - 32, 1 << 31, 1<<32 - 16}, 9)
	return []uint64{uint64(uint32(at)), off, n, uint64(uint32(base))}
}

// checkLoop runs a random loop in every way, and says how many are understood, and how
// often move was called.
func checkLoop(t *testing.T, c choices, engine string) (understood, calls int) {
	t.Helper()
	bin := loopProgram(c)
	if w, _ := mustMove(t, bin); w.moved == -freeMoves {
		return 0, 0 // nothing differs
	}
	f, understood := newFleet(t, engine, bin, []int64{100, DefaultSlice})
	slices.Reverse(c)
	args := slices.Clone(c)
	for range 12 {
		if err := f.compare("run", loopArguments(&args)); err != nil {
			t.Fatalf("%v\n%d\n% x", err, c, bin)
		}
	}
	calls, _ = f.moves()
	return understood, calls
}

// TestRandomLoopsKeepTheirMeaning runs random loops that move bytes.
func TestRandomLoopsKeepTheirMeaning(t *testing.T) {
	understood, called, calls := 0, 0, 0
	programs := uint64(2000)
	if testing.Short() {
		programs /= 2
	}
	for seed := range programs {
		u, c := checkLoop(t, randomChoices(seed), []string{"compiler", "interpreter"}[seed%2])
		understood, calls = understood+u, calls+c
		if c > 0 {
			called++
		}
	}
	t.Logf("%d of %d programs are understood, %d move bytes, %d times", understood, programs, called, calls)
	if called < int(programs)/16 {
		t.Error("too little is moved")
	}
}

// FuzzTransfers runs loops that are steered by bytes.
func FuzzTransfers(f *testing.F) {
	for seed := range uint64(40) {
		f.Add([]byte(randomChoices(seed)))
	}
	f.Fuzz(func(t *testing.T, c []byte) {
		if len(c) < 1000 {
			checkLoop(t, c, []string{"compiler", "interpreter"}[len(c)%2])
		}
	})
}
