package wasmbin

// step is one instruction of a listing.
type step struct {
	op           byte
	typed, value bool   // of a block: see instr
	x            uint32 // as in instr
	offset       uint32 // of an access to memory
	at           int    // in the file
	constant     int64  // of i32.const and i64.const
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
	// ends and elses are, for the first instruction of a block, its other ones; an
	// else that is not there is -1.
	ends, elses []int
	tables      map[int][]uint32 // labels of br_table
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
	f := &listing{types: w.m.localTypes(b), tables: map[int][]uint32{}, heads: map[int][]head{}}
	r := b.r.from(first)
	r.err = nil
	var open []int
	for !r.done() {
		var labels []uint32
		s, ok := readStep(&r, &labels)
		if !ok || len(f.code) == traceCode {
			return nil
		}
		i := len(f.code)
		f.add(s, &open)
		switch s.op {
		case opBrTable:
			f.tables[i] = labels
		case opBr:
			f.noteHead(i)
		case opCall:
			if w.moves(s.x) {
				f.noteLoop(i)
			}
		}
	}
	return f
}

// add appends an instruction. open are the blocks it stands in.
func (f *listing) add(s step, open *[]int) {
	i, in := len(f.code), -1
	if n := len(*open); n > 0 {
		in = (*open)[n-1]
	}
	f.code = append(f.code, s)
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
	for in := f.inside[i]; in >= 0; in = f.inside[in] {
		if f.code[in].op == opLoop {
			if n := len(f.loops); n == 0 || f.loops[n-1] != in {
				f.loops = append(f.loops, in)
			}
			return
		}
	}
}

// noteHead notes a branch to a loop before which a local is set to a constant.
func (f *listing) noteHead(i int) {
	if i < 2 || f.code[i-1].op != opLocalSet || f.code[i-2].op != opI32Const {
		return
	}
	in := f.inside[i]
	for label := f.code[i].x; label > 0 && in >= 0; label-- {
		in = f.inside[in]
	}
	if in >= 0 && f.code[in].op == opLoop && len(f.heads[in]) < traceHeads {
		f.heads[in] = append(f.heads[in], head{f.code[i-1].x, f.code[i-2].constant})
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
