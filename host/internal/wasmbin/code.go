package wasmbin

// body is one function body. The cursor r is at its first instruction.
type body struct {
	r     reader
	index uint32 // of the function, imports first
	size  int    // of the body in bytes
	// start is the offset of the local declarations.
	start int
	// locals counts parameters and locals.
	locals uint64
}

// bodies calls f for every function body.
func (m *module) bodies(f func(*body) error) error {
	r, ok := m.content(secCode)
	if !ok {
		return nil
	}
	n := r.count(1, "the function bodies")
	var b body
	for i := 0; i < n; i++ {
		b = body{index: uint32(m.imported[KindFunc] + i)}
		b.r = r.sub(r.u32("a function body's size"), "a function body")
		b.start, b.size = b.r.pos, b.r.end-b.r.pos
		b.readLocals(m)
		if b.r.err != nil {
			return b.r.err
		}
		if err := f(&b); err != nil {
			return err
		}
	}
	return r.finish("the function bodies")
}

func (b *body) readLocals(m *module) {
	r := &b.r
	if r.err != nil {
		return
	}
	b.locals = uint64(len(m.types[m.funcs[b.index]].Params))
	for n := r.count(2, "the locals"); n > 0 && r.err == nil; n-- {
		b.locals += uint64(r.u32("a number of locals"))
		if r.valueType("a local") == ExnRef {
			m.info.Uses.Exceptions = true
		}
	}
}

// checkIndices refuses an instruction with an index that is out of range. depth is the
// number of open blocks, including that of the function. The engine checks the types of
// operands, but this package must check indices, because metering adds types, globals and
// functions that a guest must not reach.
func (m *module) checkIndices(b *body, in *instr, labels []uint32, depth int) {
	if !indexed[immediates[in.op]] {
		return
	}
	space, n, i := "", 0, in.x
	switch immediates[in.op] {
	case immLocal:
		space, n = "local", int(b.locals)
	case immGlobal:
		space, n = "global", len(m.globals)
	case immLabel:
		space, n = "label", depth
	case immFunc:
		space, n = "function", len(m.funcs)
	case immTable:
		space, n = "table", len(m.tables)
	case immTag:
		space, n = "tag", m.tags
	case immBlock, immTry:
		if in.typed {
			space, n = "type", len(m.types)
		}
	case immIndirect:
		if int64(in.y) >= int64(len(m.tables)) {
			b.r.fail(ErrMalformed, in.at, "table %d of %d", in.y, len(m.tables))
		}
		space, n = "type", len(m.types)
	case immMisc:
		m.checkMisc(b, in)
	}
	if space != "" && int64(i) >= int64(n) {
		b.r.fail(ErrMalformed, in.at, "%s %d of %d", space, i, n)
	}
	for _, l := range labels {
		if int64(l) >= int64(depth) {
			b.r.fail(ErrMalformed, in.at, "label %d of %d", l, depth)
		}
	}
}

func (m *module) checkMisc(b *body, in *instr) {
	space, n := "", 0
	switch in.sub {
	case miscMemoryInit, miscDataDrop:
		space, n = "data segment", m.info.DataSegments
	case miscTableInit, miscElemDrop:
		space, n = "element segment", m.info.ElemSegments
	case miscTableGrow, miscTableSize, miscTableFill, miscTableCopy:
		space, n = "table", len(m.tables)
	}
	if space != "" && int64(in.x) >= int64(n) {
		b.r.fail(ErrMalformed, in.at, "%s %d of %d", space, in.x, n)
	}
	if (in.sub == miscTableInit || in.sub == miscTableCopy) && int64(in.y) >= int64(len(m.tables)) {
		b.r.fail(ErrMalformed, in.at, "table %d of %d", in.y, len(m.tables))
	}
}
