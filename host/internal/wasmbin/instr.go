package wasmbin

// The opcodes that this package treats individually.
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opReturnCall   = 0x12
	opReturnCallIn = 0x13
	opDrop         = 0x1a
	opSelect       = 0x1b
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eq        = 0x46
	opI32Ne        = 0x47
	opI32GtU       = 0x4b
	opI32LeU       = 0x4d
	opI64LtS       = 0x53
	opI64LeU       = 0x58
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64Shl       = 0x86
	opI64ExtendU   = 0xad
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opVector       = 0xfd
	opAtomic       = 0xfe

	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	vecConst      = 12
	vecShuffle    = 13
	vecI64Splat   = 18
	vecI64Extract = 29
	vecI64Replace = 30

	blockVoid = 0x40
)

// immediate is the format of the bytes that follow an opcode.
type immediate uint8

const (
	immInvalid  immediate = iota // no such opcode
	immRefused                   // an opcode of a proposal that is refused
	immNone                      // nothing
	immBlock                     // a block type
	immLabel                     // a label
	immLabels                    // a vector of labels and a default
	immFunc                      // a function index
	immIndirect                  // a type index and a table index
	immLocal                     // a local index
	immGlobal                    // a global index
	immTable                     // a table index
	immTag                       // a tag index
	immMem                       // alignment and offset
	immZero                      // the memory index, one zero byte
	immI32                       // a signed constant
	immI64                       // a signed constant
	immF32                       // 4 bytes
	immF64                       // 8 bytes
	immSelect                    // one value type in a vector
	immRefType                   // a reference type
	immTry                       // a block type and a vector of catch clauses
	immMisc                      // a second opcode, 0xfc
	immVector                    // a second opcode, 0xfd
	immAtomic                    // a second opcode, 0xfe
)

// immediates is the format of the immediates of each opcode.
var immediates = func() (t [256]immediate) {
	set := func(from, to int, i immediate) {
		for op := from; op <= to; op++ {
			t[op] = i
		}
	}
	set(0x00, 0x01, immNone) // unreachable, nop
	set(opBlock, opIf, immBlock)
	set(opElse, opElse, immNone)
	set(0x06, 0x07, immRefused) // try, catch of the first exception proposal
	set(0x08, 0x08, immTag)     // throw
	set(0x09, 0x09, immRefused) // rethrow
	set(0x0a, opEnd, immNone)   // throw_ref, end
	set(opBr, opBrIf, immLabel)
	set(opBrTable, opBrTable, immLabels)
	set(opReturn, opReturn, immNone)
	t[opCall], t[opReturnCall] = immFunc, immFunc
	t[opCallIndirect], t[opReturnCallIn] = immIndirect, immIndirect
	set(0x14, 0x15, immRefused) // call_ref, return_call_ref
	set(0x18, 0x19, immRefused) // delegate, catch_all
	set(opDrop, opSelect, immNone)
	t[0x1c] = immSelect
	t[0x1f] = immTry
	set(opLocalGet, 0x22, immLocal)
	set(opGlobalGet, opGlobalSet, immGlobal)
	set(0x25, opTableSet, immTable)
	set(0x28, 0x3e, immMem)
	set(0x3f, opMemoryGrow, immZero)
	t[opI32Const], t[opI64Const], t[0x43], t[0x44] = immI32, immI64, immF32, immF64
	set(0x45, 0xc4, immNone)
	t[opRefNull], t[0xd1], t[opRefFunc] = immRefType, immNone, immFunc
	set(0xd3, 0xd6, immRefused) // ref.as_non_null, ref.eq, br_on_null, br_on_non_null
	set(0xfb, 0xfb, immRefused) // garbage collection
	t[opMisc], t[opVector], t[opAtomic] = immMisc, immVector, immAtomic
	return t
}()

// indexed reports for each format whether it has an index that checkIndices must check.
var indexed = func() (t [immAtomic + 1]bool) {
	for _, i := range []immediate{immLocal, immGlobal, immLabel, immLabels, immFunc, immTable, immTag, immBlock, immTry,
		immIndirect, immMisc} {
		t[i] = true
	}
	return t
}()

// instr is one decoded instruction.
type instr struct {
	op  byte
	sub uint32 // the second opcode of a prefixed instruction
	at  int    // offset of the opcode
	imm int    // offset behind the opcodes
	// x is the first index: label, function, type, local, global, table, segment or tag.
	// For block types it is the type index, valid when typed is set.
	x     uint32
	y     uint32 // the second index: table of call_indirect, source of a copy
	typed bool
	value bool // a block without a type index leaves one value
}

// next reads one instruction. The labels of br_table and of catch clauses are
// appended to labels, unless that is nil.
//
// It accepts only the shortest encoding of a vector opcode. The engine reads a vector
// opcode as a single byte, so a longer encoding could hide instructions from this package.
func (r *reader) next(in *instr, labels *[]uint32) {
	*in = instr{at: r.pos, imm: r.pos + 1}
	if r.pos >= r.end {
		r.short("an instruction")
		return
	}
	in.op = r.buf[r.pos]
	r.pos++
	switch immediates[in.op] {
	case immNone:
	case immLocal, immGlobal, immLabel, immFunc, immTable, immTag:
		in.x = r.u32("an index")
	case immMem:
		r.memArg()
	case immI32:
		r.signed(32, "a constant")
	case immI64:
		r.signed(64, "a constant")
	case immF32:
		r.take(4, "a constant")
	case immF64:
		r.take(8, "a constant")
	case immBlock:
		r.blockType(in)
	case immLabels:
		r.labels(labels)
	case immIndirect:
		in.x, in.y = r.u32("a type index"), r.u32("a table index")
	case immZero:
		r.zero("the memory index")
	default:
		r.nextRare(in, labels)
	}
}

func (r *reader) nextRare(in *instr, labels *[]uint32) {
	switch immediates[in.op] {
	case immSelect:
		if r.byte("the types of select") != 1 {
			r.fail(ErrMalformed, in.at, "select with a number of types other than one")
		}
		r.valueType("the type of select")
	case immRefType:
		r.refType("the type of ref.null")
	case immTry:
		r.blockType(in)
		r.catches(labels)
	case immMisc:
		r.misc(in)
	case immVector:
		r.vector(in)
	case immAtomic:
		in.sub = uint32(r.byte("an atomic instruction"))
		if in.sub > 0x4e {
			r.fail(ErrMalformed, in.at, "unknown atomic instruction %#x", in.sub)
		} else if in.sub == 3 {
			r.zero("the byte after atomic.fence")
		} else {
			r.memArg()
		}
	case immRefused:
		r.fail(ErrUnsupported, in.at, "opcode %#x (%s)", in.op, proposalOf(in.op))
	default:
		r.fail(ErrMalformed, in.at, "unknown opcode %#x", in.op)
	}
}

func proposalOf(op byte) string {
	switch op {
	case 0x06, 0x07, 0x09, 0x18, 0x19:
		return "legacy exception handling"
	case 0xfb:
		return "garbage collection"
	}
	return "typed function references"
}

func (r *reader) memArg() {
	at := r.pos
	if align := r.u32("an alignment"); align >= 32 {
		if align&0x40 != 0 {
			r.fail(ErrUnsupported, at, "an access to a second memory (multiple memories)")
		} else {
			r.fail(ErrMalformed, at, "alignment 2^%d", align)
		}
	}
	r.u32("an offset")
}

func (r *reader) zero(what string) {
	at := r.pos
	if c := r.byte(what); c != 0 && r.err == nil {
		r.fail(ErrMalformed, at, "%s is %d instead of 0", what, c)
	}
}

// blockType reads a block type: nothing, one value type or a type index.
func (r *reader) blockType(in *instr) {
	if r.pos < r.end && r.buf[r.pos] == blockVoid {
		r.pos++
		return
	}
	at := r.pos
	v := r.signed(33, "a block type")
	if r.err != nil {
		return
	}
	if v >= 0 {
		in.x, in.typed = uint32(v), true
		return
	}
	in.value = v != -64
	switch t := ValueType(v & 0x7f); {
	case v < -64 || v != -64 && !t.known() && !t.reference():
		r.fail(ErrMalformed, at, "unknown block type")
	case v != -64 && t.reference():
		r.fail(ErrUnsupported, at, "a block type with a typed function reference")
	}
}

func (r *reader) labels(labels *[]uint32) {
	n := r.count(1, "the labels of br_table")
	for i := 0; i <= n && r.err == nil; i++ {
		l := r.u32("a label")
		if labels != nil {
			*labels = append(*labels, l)
		}
	}
}

func (r *reader) catches(labels *[]uint32) {
	n := r.count(2, "the clauses of try_table")
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		switch k := r.byte("a catch clause"); k {
		case 0, 1:
			r.u32("a tag index")
		case 2, 3:
		default:
			r.fail(ErrMalformed, at, "unknown catch clause %d", k)
		}
		l := r.u32("a label")
		if labels != nil {
			*labels = append(*labels, l)
		}
	}
}

func (r *reader) misc(in *instr) {
	in.sub = r.u32("an instruction")
	switch in.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating truncation
	case miscMemoryInit:
		in.x = r.u32("a segment index")
		r.zero("the memory index")
	case miscMemoryCopy:
		r.zero("the memory index")
		r.zero("the memory index")
	case miscMemoryFill:
		r.zero("the memory index")
	case miscTableInit, miscTableCopy:
		in.x, in.y = r.u32("an index"), r.u32("an index")
	case miscDataDrop, miscElemDrop, miscTableGrow, miscTableSize, miscTableFill:
		in.x = r.u32("an index")
	default:
		r.fail(ErrMalformed, in.at, "unknown opcode 0xfc %d", in.sub)
	}
}

func (r *reader) vector(in *instr) {
	in.sub = uint32(r.byte("an instruction"))
	if in.sub >= 0x80 {
		switch more := r.byte("an instruction"); {
		case r.err != nil:
		case more == 2:
			r.fail(ErrUnsupported, in.at, "relaxed SIMD")
		case more != 1:
			r.fail(ErrMalformed, in.at, "unknown or overlong vector opcode")
		}
	}
	switch s := in.sub; {
	case s <= 11, s == 92, s == 93:
		r.memArg()
	case s == vecConst, s == vecShuffle:
		r.take(16, "a vector")
	case s >= 21 && s <= 34:
		r.byte("a lane")
	case s >= 84 && s <= 91:
		r.memArg()
		r.byte("a lane")
	}
}
