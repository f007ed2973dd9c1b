package wasmbin

// step is one instruction of a listing.
type step struct {
	op           byte
	typed, value bool   // of a block: see instr
	x            uint32 // as in instr
	offset       uint32 // of an access to memory
	at           int    // in the file
	constant     int64  // of i32.const and i64.const
	to           int    // of br and br_if: the block, as in inside
}

// readStep reads one instruction.
func readStep(r *reader, labels *[]uint32) (step, bool) {
	var in instr
	r.next(&in, labels)
	s := step{op: in.op, typed: in.typed, value: in.value, x: in.x, at: in.at}
	imm := r.from(in.imm)
	switch immediates[in.op] {
	case immI32:
		s.constant = imm.signed(32, "a constant")
	case immI64:
		s.constant = imm.signed(64, "a constant")
	case immMem:
		imm.u32("an alignment")
		s.offset = imm.u32("an offset")
	}
	return s, r.err == nil
}

// listing is the code of a function, with what leads where.
type listing struct {
	code  []step
	types []ValueType // of the locals
	// inside is the block that each instruction stands in, by its first one, and -1
	// for the function's. Those of else and end are the blocks they belong to.
	inside []int
	// around is the loop that each instruction stands in, -1 for none.
	around []int
	// ends and elses are, for the first instruction of a block, its other ones; an
	// else that is not there is -1.
	ends, elses []int
	tables      map[int][]int // the blocks that br_table leads to
	// loops are those in which bytes are moved, and not in loops inside of them.
	loops []int
	heads map[int][]head
}

// head is a value that a local has where a branch leads back to a loop.
type head struct {
	local    uint32
	constant int64
}

// list reads the code of a function, nil if there is too much of it.
func (w *rewriter) list(b *body, first int) *listing {
	if b.locals > traceLocals || b.r.end-first > 4*traceCode {
		return nil
	}
	f := &listing{types: w.m.localTypes(b), tables: map[int][]int{}, heads: map[int][]head{}}
	r := b.r.from(first)
	r.err = nil
	var open []int
	for !r.done() {
		var labels []uint32
		s, ok := readStep(&r, &labels)
		if w.traceSteps--; !ok || len(f.code) == traceCode || w.traceSteps < 0 {
			return nil
		}
		i := len(f.code)
		switch s.op {
		case opBrTable:
			for _, l := range labels {
				f.tables[i] = append(f.tables[i], target(open, l))
			}
			w.traceSteps -= len(labels) / 4
		case opBr, opBrIf:
			s.to = target(open, s.x)
		}
		f.add(s, &open)
		switch {
		case s.op == opBr:
			f.noteHead(i)
		case s.op == opCall && w.moves(s.x):
			f.noteLoop(i)
		}
	}
	return f
}

// target is the block that a label of an instruction in open blocks names, -1 for the
// function's.
func target(open []int, label uint32) int {
	if i := len(open) - 1 - int(label); i >= 0 {
		return open[i]
	}
	return -1
}

// add appends an instruction. open are the blocks it stands in.
func (f *listing) add(s step, open *[]int) {
	i, in, around := len(f.code), -1, -1
	if n := len(*open); n > 0 {
		in = (*open)[n-1]
		if around = f.around[in]; f.code[in].op == opLoop {
			around = in
		}
	}
	f.code, f.around = append(f.code, s), append(f.around, around)
	f.inside, f.ends, f.elses = append(f.inside, in), append(f.ends, -1), append(f.elses, -1)
	switch s.op {
	case opBlock, opLoop, opIf:
		*open = append(*open, i)
	case opElse:
		if in >= 0 {
			f.elses[in] = i
		}
	case opEnd:
		if in >= 0 {
			f.ends[in] = i
			*open = (*open)[:len(*open)-1]
		}
	}
}

// noteLoop notes the loop around an instruction that moves bytes.
func (f *listing) noteLoop(i int) {
	loop, n := f.around[i], len(f.loops)
	if loop >= 0 && (n == 0 || f.loops[n-1] != loop) {
		f.loops = append(f.loops, loop)
	}
}

// noteHead notes a branch to a loop before which a local is set to a constant.
func (f *listing) noteHead(i int) {
	if i < 2 || f.code[i-1].op != opLocalSet || f.code[i-2].op != opI32Const {
		return
	}
	to := f.code[i].to
	if to >= 0 && f.code[to].op == opLoop && len(f.heads[to]) < traceHeads {
		f.heads[to] = append(f.heads[to], head{f.code[i-1].x, f.code[i-2].constant})
	}
}

// moves tells whether a function moves bytes: a transfer, or what is written out for
// one.
func (w *rewriter) moves(f uint32) bool {
	if int(f) < w.m.imported[KindFunc] {
		return w.m.transferOf(f) != NoTransfer
	}
	l := w.leaves[f]
	return l != nil && l.moves
}
