package wasmbin

// rest is what a loop may do beside moving bytes.
func (g *loopWriter) rest() {
	switch g.below(14) {
	case 0, 1:
		g.number64(2).set(xLocal)
	case 2:
		g.number32(2).set(yLocal)
	case 3:
		g.number64(1).op(opGlobalSet, 1)
	case 4:
		g.number32(1).op(opGlobalSet, 0)
	case 5:
		g.get(baseLocal).number64(1).mem([]byte{opI64Store, opI64Store, opI64Store8, opI64Store32}[g.below(4)], 8*g.below(6))
	case 6:
		g.frame().number32(1).mem([]byte{opI32Store, opI32Store8}[g.below(2)], 4*g.below(10))
	case 7:
		g.get(floatLocal).get(floatLocal).op(0xa0).set(floatLocal) // add
	case 8:
		g.get(floatLocal).op(opGlobalGet, 2, 0xa0, opGlobalSet, 2)
	case 9:
		g.compare()
		g.op(opIf, blockVoid).number64(1).set(xLocal).op(opElse).number32(1).set(yLocal).op(opEnd)
	case 10:
		g.op(opBlock, blockVoid).compare()
		g.op(opBrIf, 0).number64(1).set(xLocal).op(opEnd)
	case 11:
		g.number64(1).number64(1)
		g.compare()
		g.op(opSelect).set(xLocal)
	case 12:
		g.number64(1).number64(1).op(opI64DivS + byte(g.below(4))).set(xLocal)
	default:
		g.get(xLocal).get(indexLocal).set(xLocal).set(posLocal)
	}
}

// frame leaves an address of the loop's variables in memory.
func (g *loopWriter) frame() *loopWriter {
	g.get(baseLocal)
	switch g.below(4) {
	case 1:
		return g.i32(16).op(opI32Sub)
	case 2:
		return g.i32(40).op(opI32Add)
	}
	return g
}

// number64 leaves a number, made of others up to a depth.
func (g *loopWriter) number64(depth int) *loopWriter {
	if depth == 0 || g.below(3) == 0 {
		switch g.below(8) {
		case 0, 1, 2, 3:
			return g.get([]int{offLocal, nLocal, indexLocal, posLocal, leftLocal, xLocal}[g.below(6)])
		case 4:
			return g.op(opGlobalGet, 1)
		case 5:
			return g.frame().mem([]byte{opI64Load, opI64Load32U, opI64Load8U}[g.below(3)], 8*g.below(6))
		}
		return g.i64([]int64{0, 1, 8, -1, 255, 800, 1 << 31, 1 << 32, -1 << 63, 1<<63 - 1}[g.below(10)])
	}
	switch k := g.below(8); k {
	case 0, 1:
		return g.number64(depth - 1).number64(depth - 1).op(opI64Add + byte(k))
	case 2:
		return g.number64(depth - 1).i64([]int64{1, 8, -1, 3, 1 << 32}[g.below(5)]).op(opI64Mul)
	case 3:
		return g.number64(depth - 1).i64([]int64{0, 3, 32, 63, 65}[g.below(5)]).op(opI64Shl)
	case 4:
		return g.number64(depth - 1).number64(depth - 1).op([]byte{opI64And, opI64Or, opI64ShrU}[g.below(3)])
	}
	return g.number32(depth - 1).op(byte(opI64ExtendS + g.below(2)))
}

// number32 is the same of 32 bits.
func (g *loopWriter) number32(depth int) *loopWriter {
	if depth == 0 || g.below(3) == 0 {
		switch g.below(8) {
		case 0, 1, 2, 3:
			return g.get([]int{atLocal, baseLocal, shortLocal, ptrLocal, endLocal, yLocal}[g.below(6)])
		case 4:
			return g.op(opGlobalGet, 0)
		case 5:
			return g.frame().mem([]byte{opI32Load, opI32Load8U}[g.below(2)], 4*g.below(12))
		}
		return g.i32([]int64{0, 1, 8, -1, 255, 800, 1 << 31, 1<<31 - 1}[g.below(8)])
	}
	switch k := g.below(8); k {
	case 0, 1:
		return g.number32(depth - 1).number32(depth - 1).op(opI32Add + byte(k))
	case 2:
		return g.number32(depth - 1).i32([]int64{1, 8, -1, 3, 1 << 31}[g.below(5)]).op(opI32Mul)
	case 3:
		return g.number32(depth - 1).i32([]int64{0, 3, 31, 33}[g.below(4)]).op(opI32Shl)
	case 4:
		return g.number32(depth - 1).number32(depth - 1).op(opI32And)
	}
	return g.number64(depth - 1).op(opI32Wrap)
}
