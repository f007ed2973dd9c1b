package wasmbin

import "time"

// Budget returns the default bounds for loading a module with code bytes of code.
func Budget(code int) Estimate {
	return Estimate{
		Memory: LoadMemory + LoadMemoryPerByte*int64(code),
		Time:   max(LoadTime, time.Duration(code)*LoadTimePerMiB>>20),
	}
}

// The memory, in bytes, that the compiler needs for an instruction while it compiles the
// function. The time is proportional to it. RATIONALE.md has the measurements.
const (
	workPlain  = 320  // arithmetic, constants, locals, globals
	workSelect = 700  // instructions that compile to a few machine instructions
	workAccess = 4000 // loads and stores, including the check of the address
	workFloat  = 3000 // minimum, maximum, conversions from unsigned numbers
	workDivide = 6600 // divisions, including the checks of the operands
	workTrunc  = 8600 // truncations, including the checks of the range
	workVector = 3400
	workBulk   = 12_000 // bulk operations, and all others that leave compiled code
	workCall   = 5000
	workBlock  = 5500 // a block or a branch, including what metering adds
	workLoop   = 14_000
	workLabel  = 2500 // a label of a br_table
	workValue  = 500  // a value that a call or a block hands over
	workBody   = 12_000
	// workSpill is added for an instruction with more than registers values on the
	// operand stack: machines have few registers.
	workSpill, registers = 9000, 12
)

// work is the memory in bytes for each opcode.
var work = func() (t [256]uint16) {
	set := func(from, to int, bytes uint16) {
		for op := from; op <= to; op++ {
			t[op] = bytes
		}
	}
	set(0, 255, workPlain)
	set(opBlock, opReturn, workBlock)
	t[opNop], t[opElse], t[opEnd], t[opDrop], t[opLocalGet] = 16, workPlain, workPlain, 32, 100
	t[opLoop] = workLoop
	set(opCall, opReturnCallIn, workCall)
	t[opCallIndirect], t[opReturnCallIn] = 3*workCall, 3*workCall
	t[opSelect], t[0x1c] = workSelect, workSelect
	set(0x25, opTableSet, workAccess)
	set(0x28, 0x3e, workAccess)
	t[opMemoryGrow], t[opRefFunc] = workBulk, workBulk
	set(0x67, 0x69, workSelect)
	set(0x6d, 0x70, workDivide)
	set(0x79, 0x7b, workSelect)
	set(0x7f, 0x82, workDivide)
	set(0x8b, 0x91, workSelect)
	set(0x96, 0x98, workFloat)
	set(0x99, 0x9f, workSelect)
	set(0xa4, 0xa6, workFloat)
	set(0xa8, 0xab, workTrunc)
	set(0xae, 0xb1, workTrunc)
	set(0xb2, 0xba, workFloat)
	t[opVector], t[opMisc] = workVector, workBulk
	return t
}()

// hard counts what makes a function expensive to compile and to interpret.
type hard struct {
	// work is the sum of the work of its instructions.
	work uint64
	// depth is the approximate depth of the current block in the tree of dominators.
	// walked counts the steps of the compiler in that tree, which it walks up for every
	// branch.
	depth  int
	walked uint64
	// peak is the greatest height of the operand stack, ops the number of instructions
	// and labels. sets counts the instructions that set a local: for each of them the
	// compiler looks at all locals that are alive.
	peak, ops, sets int
}

// joined describes the branches to the end of an open block.
type joined struct {
	// branches counts them. nearest is the least depth from which one comes. head is the
	// depth at which the block begins.
	branches      int
	nearest, head int32
	// then reports that control reaches the end of the first arm of an if.
	isIf, then bool
}
