package component

// The opcodes that this package treats individually.
const (
	opEnd               = 0x0b
	opGlobalGet         = 0x23
	opGlobalSet         = 0x24
	opI32Const          = 0x41
	opI64Const          = 0x42
	opF32Const          = 0x43
	opF64Const          = 0x44
	opI32Add            = 0x6a
	opI32Sub            = 0x6b
	opI32Mul            = 0x6c
	opRefNull           = 0xd0
	opRefFunc           = 0xd2
	opMisc              = 0xfc
	opVector            = 0xfd
	opCall              = 0x10
	opCallThrough       = 0x11
	opReturnCallThrough = 0x13
)

// kind says what an index of an instruction counts.
type kind byte

const (
	none kind = iota
	ofFunc
	ofTable
	ofMemory
	ofGlobal
	ofType
	ofElem
	ofData
)

// instr is one instruction: its opcode, and the indices among its immediates.
type instr struct {
	op byte
	// at is the offset of the opcode, imm that of the first immediate.
	at, imm int
	// x and y are indices of the kinds kx and ky, in the order of the immediates. There are no
	// other immediates if kx is not none.
	x, y   uint32
	kx, ky kind
}

// next reads one instruction.
func (r *reader) next(in *instr) {
	*in = instr{at: r.pos}
	in.op = r.byte()
	in.imm = r.pos
	switch op := in.op; {
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op >= 0x02 && op <= 0x04:
		r.blockType(in)
	case op == 0x0c, op == 0x0d, op >= 0x20 && op <= 0x22:
		r.u32()
	case op == 0x0e:
		for n := r.count(len(r.buf)); n >= 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == opCall, op == 0x12, op == opRefFunc:
		in.kx, in.x = ofFunc, r.u32()
	case op == opCallThrough, op == opReturnCallThrough:
		in.kx, in.x, in.ky, in.y = ofType, r.u32(), ofTable, r.u32()
	case op == 0x1c:
		r.list(func() { r.byte() })
	case op == opGlobalGet, op == opGlobalSet:
		in.kx, in.x = ofGlobal, r.u32()
	case op == 0x25, op == 0x26:
		in.kx, in.x = ofTable, r.u32()
	case op >= 0x28 && op <= 0x3e:
		r.memArg()
	case op == 0x3f, op == 0x40:
		in.kx, in.x = ofMemory, r.u32()
	case op == opI32Const, op == opI64Const:
		r.signed()
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opRefNull:
		r.byte()
	case op == opMisc:
		r.misc(in)
	case op == opVector:
		r.vector()
	default:
		r.fail(ErrUnsupported, "opcode %#x, such as those of exceptions, threads and garbage collection", op)
	}
}

// blockType reads the type of a block.
func (r *reader) blockType(in *instr) {
	at := r.pos
	if v := r.signed(); v >= 0 {
		in.kx, in.x = ofType, uint32(v)
	} else if r.pos != at+1 {
		r.fail(ErrMalformed, "a block type")
	}
}

// memArg reads the alignment and the offset of an access. A set bit says that the access names a
// memory.
func (r *reader) memArg() {
	if r.u32()&0x40 != 0 {
		r.fail(ErrUnsupported, "several memories")
	}
	r.u32()
}

// misc reads the rest of an instruction of the group of bulk operations.
func (r *reader) misc(in *instr) {
	sub := r.u32()
	in.imm = r.pos
	two := func(x, y kind) { in.kx, in.x, in.ky, in.y = x, r.u32(), y, r.u32() }
	switch sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case 8:
		two(ofData, ofMemory)
	case 9:
		in.kx, in.x = ofData, r.u32()
	case 10:
		two(ofMemory, ofMemory)
	case 11:
		in.kx, in.x = ofMemory, r.u32()
	case 12:
		two(ofElem, ofTable)
	case 13:
		in.kx, in.x = ofElem, r.u32()
	case 14:
		two(ofTable, ofTable)
	case 15, 16, 17:
		in.kx, in.x = ofTable, r.u32()
	default:
		r.fail(ErrUnsupported, "opcode 0xfc %d", sub)
	}
}

// vector reads the rest of an instruction on vectors.
func (r *reader) vector() {
	switch sub := r.u32(); {
	case sub <= 11, sub == 92, sub == 93:
		r.memArg()
	case sub == 12, sub == 13:
		r.take(16)
	case sub >= 21 && sub <= 34:
		r.byte()
	case sub >= 84 && sub <= 91:
		r.memArg()
		r.byte()
	case sub > 255:
		r.fail(ErrUnsupported, "opcode 0xfd %d", sub)
	}
}
