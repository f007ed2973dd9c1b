package wasmbin

import (
	"fmt"
	"math"
	"math/bits"
)

// shape counts what makes a function expensive to compile.
type shape struct {
	blocks, loops, labels int
	// branches counts the conditional ones: the code behind each of them is a block as well.
	branches int
	// open are the open blocks. inside counts the loops among them. nested is the sum,
	// over all loops, of the number of loops around each.
	open           []opened
	inside, nested int
	// height is the height of the operand stack. dead reports that control does not reach
	// the current instruction.
	height int
	dead   bool
	// crossed is the sum of the heights at which blocks begin, carried the number of
	// values that calls and blocks hand over.
	crossed, carried uint64
	hard
}

// opened is an open block.
type opened struct {
	// base is the height of the operand stack below its parameters. dead reports that
	// control does not reach the block.
	base            int
	params, results int32
	loop, dead      bool
	joined
}

// count adds an instruction. labels are the labels if it is a br_table.
func (s *shape) count(m *module, in *instr, labels []uint32) {
	s.work += uint64(work[in.op])
	if s.height > registers && work[in.op] >= workPlain {
		s.work += workSpill
	}
	s.ops++
	if in.op == opLocalSet || in.op == opLocalTee {
		s.sets++
	}
	if in.op >= opSelect && in.op < opMisc { // most are plain
		s.change(int(effects[in.op]))
		return
	}
	switch in.op {
	case opBlock, opLoop, opIf:
		s.enter(m, in)
	case opElse:
		s.otherwise()
	case opEnd:
		s.leave()
	case opBrTable:
		s.labels += len(labels)
		s.ops += len(labels)
		s.work += workLabel * uint64(len(labels))
		for _, l := range labels {
			s.carry(s.arity(l))
			s.goTo(l)
		}
		s.dead = true
	case opBr:
		s.goTo(in.x)
		s.dead = true
	case opReturn, opUnreachable, opReturnCall, opReturnCallIn:
		s.dead = true
	case opBrIf:
		s.change(-1)
		s.branches++
		s.cross()
		s.carry(s.arity(in.x))
		s.goTo(in.x)
		s.deeper(1)
	default:
		s.change(m.effect(in))
		switch in.op {
		case opCall:
			s.carry(m.funcType(in.x).arity())
		case opCallIndirect:
			s.carry(m.types[in.x].arity())
		}
	}
}

// change changes the height, but not to less than the base of the current block.
func (s *shape) change(by int) {
	base := 0
	if n := len(s.open); n > 0 {
		base = s.open[n-1].base
	}
	s.height = max(s.height+by, base)
	s.peak = max(s.peak, s.height)
}

// cross notes that a block begins here.
func (s *shape) cross() {
	if !s.dead {
		s.crossed += uint64(s.height)
	}
}

func (s *shape) carry(values int) {
	s.work += workValue * uint64(values)
	if !s.dead {
		s.carried += uint64(values)
	}
}

// arity returns the number of values that a branch to a label passes on.
func (s *shape) arity(label uint32) int {
	i := len(s.open) - 1 - int(label)
	switch {
	case i < 0: // the label of the function
		return 0
	case s.open[i].loop:
		return int(s.open[i].params)
	}
	return int(s.open[i].results)
}

func (s *shape) enter(m *module, in *instr) {
	params, results := m.blockType(in)
	if in.op == opIf {
		s.change(-1)
	}
	s.blocks++
	s.ops += 3
	s.cross()
	s.carry(params + results)
	loop := in.op == opLoop
	s.open = append(s.open, opened{max(s.height-params, 0), int32(params), int32(results), loop, s.dead,
		joined{head: int32(s.depth), isIf: in.op == opIf}})
	if in.op == opIf {
		s.deeper(1)
	}
	if loop {
		s.deeper(4) // the head, and the blocks that the meter puts around it
		s.loops++
		s.nested += s.inside
		s.inside++
	}
}

func (s *shape) otherwise() {
	if n := len(s.open); n > 0 {
		b := &s.open[n-1]
		b.isIf, b.then = false, !s.dead // an if with else has no path around both arms
		s.height, s.dead = b.base+int(b.params), b.dead
		s.depth = int(b.head)
		s.deeper(1)
	}
}

// leave ends a block, or the function.
func (s *shape) leave() {
	last := len(s.open) - 1
	if last < 0 {
		return
	}
	b := s.open[last]
	if b.loop {
		s.inside--
	}
	s.join(&b)
	s.height, s.dead = b.base+int(b.results), b.dead
	s.peak = max(s.peak, s.height)
	s.open = s.open[:last]
}

// cost estimates a function's compile time, in a unit of its own. Measurements show that
// the time grows with
//
//   - the number of blocks, times the locals or the values on the operand stack there;
//   - the square of the number of loops;
//   - the number of locals, times the labels of all br_tables;
//   - the number of locals, times the nesting of all loops;
//   - the number of values that blocks and calls hand over.
//
// 200 nested loops around 1,000 locals (4.5 KB) took 13 seconds; 4,000 conditional branches
// past 2,000 locals (40 KB) took 50 seconds.
func (s *shape) cost(locals uint64) int {
	total, over := uint64(0), false
	for _, c := range [...]struct{ a, b uint64 }{
		{locals + uint64(s.loops), uint64(s.blocks + s.branches)}, {locals, uint64(s.nested)},
		{locals + 4, uint64(s.labels)}, {1, s.crossed}, {1, s.carried},
	} {
		hi, lo := bits.Mul64(c.a, c.b)
		over = over || hi != 0 || lo > math.MaxInt/8
		total += lo
	}
	if over {
		return math.MaxInt / 2
	}
	return int(total)
}

// checkBody refuses a body with too many bytes or locals.
func (b Bounds) checkBody(body *body) error {
	switch {
	case body.size > b.BodySize:
		return &LimitError{What: fmt.Sprintf("body of function %d", body.index), Value: uint64(body.size), Max: uint64(b.BodySize),
			Unit: "bytes", CompileOnly: true, Remedy: "split the function, or run the plugin with engine: interpreter"}
	case body.locals > uint64(b.Locals):
		return &LimitError{What: fmt.Sprintf("locals of function %d", body.index), Value: body.locals, Max: uint64(b.Locals)}
	}
	return nil
}

// checkCost refuses a body that would take too long to compile with extra further locals. It
// adds the estimate to total.
func (b Bounds) checkCost(body *body, s *shape, extra int, total *int) error {
	cost := s.cost(body.locals + uint64(extra))
	if cost > b.LocalBlocks {
		return tooComplex(fmt.Sprintf("locals × blocks of function %d", body.index), cost, b.LocalBlocks)
	}
	*total = min(*total, math.MaxInt/2) + cost
	if *total > b.TotalBlocks {
		return tooComplex("locals × blocks of all functions", *total, b.TotalBlocks)
	}
	return nil
}

func tooComplex(what string, value, limit int) error {
	return &LimitError{What: what, Value: uint64(value), Max: uint64(limit), CompileOnly: true,
		Remedy: "split the function, or run the plugin with engine: interpreter"}
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
