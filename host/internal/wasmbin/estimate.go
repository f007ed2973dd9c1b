package wasmbin

import (
	"fmt"
	"math"
	"time"
)

// Estimate is an upper bound, derived from measurements, of the memory and time that an
// engine needs to make a metered module ready to run, with one goroutine.
type Estimate struct {
	// Memory is the peak in bytes. Time is the time of one processor of about 3 GHz.
	Memory int64
	Time   time.Duration
	// Mostly names the part of the module that needs most of the memory, Longest the one
	// that needs most of the time.
	Mostly, Longest string
}

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

// goTo counts a branch to a label.
func (s *shape) goTo(label uint32) {
	if s.dead {
		return
	}
	s.walked += uint64(s.depth)
	i := len(s.open) - 1 - int(label)
	if i < 0 {
		return
	}
	j := &s.open[i].joined
	s.walked += uint64(j.branches) / 4 // the compiler compares each with those before it
	if j.branches++; j.branches == 1 || int32(s.depth) < j.nearest {
		j.nearest = int32(s.depth)
	}
}

// deeper enters a block that has only the current block as predecessor.
func (s *shape) deeper(by int) {
	if !s.dead {
		s.depth += by
		s.walked += uint64(4 * s.depth * by)
	}
}

// join continues behind the end of an open block.
func (s *shape) join(o *opened) {
	j := &o.joined
	if o.loop {
		return
	}
	if j.isIf {
		s.walked += uint64(4 * j.head) // the path on which the condition is false has a block as well
	}
	depth, reached := int32(math.MaxInt32), false
	if j.branches > 0 {
		depth, reached = j.nearest, true
	}
	if !s.dead {
		depth, reached = min(depth, int32(s.depth)), true
	}
	switch {
	case j.isIf && !o.dead: // an if without else: control comes here if the condition is false
		depth = j.head + 1
		if reached {
			depth = j.head
		}
	case j.then && reached: // both arms
		depth = min(depth, j.head)
	case j.then, !reached:
		depth = j.head + 1
	}
	s.depth = int(depth) + 1
	s.walked += uint64(2 * s.depth)
	if j.branches > 0 || j.isIf || j.then {
		s.walked += uint64(2 * s.depth)
	}
}

// toll adds up the memory and time for the functions of a module.
type toll struct {
	// work is the memory in bytes for all functions in the compiler, largest that of the
	// largest function. nanos is the time for all functions, long that of the slowest.
	work, largest, nanos  uint64
	largestFunc, longFunc uint32
	long                  uint64
	// ops counts the instructions and locals for the interpreter, most those of the
	// function with the most.
	ops, most uint64
	mostFunc  uint32
	locals    uint64
	frame     uint64
	frameFunc uint32
	values    uint64 // parameters and results of all types
}

// add adds a function.
func (t *toll) add(b *body, s *shape, values int) {
	cost := uint64(s.cost(b.locals))
	w := s.work + workBody + 40*min(cost, math.MaxInt32) + 130*b.locals + workValue*uint64(values)
	if w > t.largest {
		t.largest, t.largestFunc = w, b.index
	}
	t.work += w
	nanos := w + w/1024*w/200_000 + 8*s.walked + 30*b.locals*uint64(s.sets) + 150*min(cost, math.MaxInt32)
	if nanos > t.long {
		t.long, t.longFunc = nanos, b.index
	}
	t.nanos += nanos
	ops := uint64(s.ops) + b.locals
	t.ops += ops
	if ops > t.most {
		t.most, t.mostFunc = ops, b.index
	}
	t.locals += b.locals
	if frame := 2 * 8 * (b.locals + uint64(s.peak) + 8); frame > t.frame {
		t.frame, t.frameFunc = frame, b.index
	}
}

// estimate returns the estimates for the compiler and for the interpreter.
func (m *module) estimate() (compiled, interpreted Estimate) {
	t := &m.toll
	i := &m.info
	declared := uint64(len(m.types)+len(i.Imports)+len(i.Exports)+len(m.globals)+len(m.tables)+i.DataSegments+i.ElemSegments) +
		uint64(len(i.Customs))
	file := share{"the bytes of the module", uint64(2 * i.Size), uint64(40 * i.Size)}
	types := share{"parameters and results of all types", 130 * t.values, 1200 * t.values}
	declarations := share{"what the module declares", 1200 * declared, 6000 * declared}
	functions := share{"the number of functions", 1100 * uint64(i.Functions), 4000 * uint64(i.Functions)}
	locals := share{"the locals of all functions", 3 * t.locals, 20 * t.locals}
	compiled = addUp(16<<20, file, types, declarations, functions, locals,
		share{fmt.Sprintf("function %d", t.largestFunc), t.largest, 0}, share{fmt.Sprintf("function %d", t.longFunc), 0, t.long},
		share{"the code", t.work / 100, t.nanos - t.long})
	interpreted = addUp(16<<20, file, types, declarations, functions, locals,
		share{fmt.Sprintf("function %d", t.mostFunc), 250 * t.most, 0},
		share{"the code", 50 * t.ops, 250 * t.ops})
	return compiled, interpreted
}

// share is the memory and time, in bytes and nanoseconds, that one part needs.
type share struct {
	what         string
	bytes, nanos uint64
}

func addUp(base uint64, shares ...share) (e Estimate) {
	bytes, nanos, most, longest := base, uint64(0), uint64(0), uint64(0)
	for _, s := range shares {
		bytes, nanos = bytes+s.bytes, nanos+s.nanos
		if s.bytes > most {
			most, e.Mostly = s.bytes, s.what
		}
		if s.nanos > longest {
			longest, e.Longest = s.nanos, s.what
		}
	}
	e.Memory, e.Time = int64(min(bytes, math.MaxInt64)), time.Duration(min(nanos, math.MaxInt64))
	return e
}
