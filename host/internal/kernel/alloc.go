package kernel

import "github.com/anchor-host/anchor-host/abi"

// The code of alloc and free. Local has the same algorithm in Go.

// class appends code that leaves the size class of the local n: 64 - clz(n-1), at least
// minClass. The code uses the local tmp.
func class(c *code, n, tmp uint64) *code {
	c.i64(64).get(n).i64(1).op(opI64Sub, opI64Clz, opI64Sub).set(tmp)
	c.get(tmp).i64(minClass).op(opI64LtU).when().i64(minClass).set(tmp).end()
	return c.get(tmp)
}

func (m *builder) allocBody() (*code, []abi.ValueType) {
	// The parameter n, four locals of type i64, and one of type i32.
	const n, cl, size, off, flag, q = 0, 1, 2, 3, 4, 5
	refuse := func(c *code) { c.i64(1).gset(gRefused).i64(0).op(opReturn) }
	c := new(code)
	c.get(n).op(opI64Eqz).when().i64(0).op(opReturn).end()
	c.get(n).i64(maxBlock).op(opI64GtU).when()
	refuse(c)
	c.end()
	c.i64(1)
	class(c, n, cl).op(opI64Shl).set(size)
	c.get(cl).i64(4).op(opI64Shl, opI32Wrap).set(q) // a queue is 16 bytes
	m.reuse(c)
	c.gget(gPos).i64(header).op(opI64Add).tee(off).get(size).op(opI64Add).call(uint64(m.room)).op(opI32Eqz).when()
	c.get(n).i64(15).op(opI64Add).i64(-16).op(opI64And).set(size)
	c.i64(1).set(flag)
	c.get(off).get(size).op(opI64Add).call(uint64(m.room)).op(opI32Eqz).when()
	refuse(c)
	c.end().end()
	before(c, off, header).get(n).op(opI32Wrap).at(opI32Store, 0)
	before(c, off, 12).get(flag).op(opI32Wrap).at(opI32Store, 0)
	before(c, off, 8).get(off).i64(cookie).op(opI64Xor).at(opI64Store, 0)
	c.get(off).get(size).op(opI64Add).gset(gPos)
	charge(c, n)
	c.get(off)
	return c, []abi.ValueType{abi.I64, abi.I64, abi.I64, abi.I64, abi.I32}
}

// reuse appends code that returns the oldest freed block of the class, if at least
// Quarantine others were freed after it.
func (m *builder) reuse(c *code) {
	const n, size, off, q = 0, 2, 3, 5
	c.get(q).at(opI32Load, 8).i32(Quarantine).op(opI32GtU).when()
	{
		c.get(q).at(opI32Load, 0).op(opI64Extend).set(off)
		// Is it the handle of a freed block that is large enough for its class?
		c.get(off).i64(first).op(opI64Sub).gget(gPos).i64(first).op(opI64Sub, opI64LtU).when()
		{
			hasTag(c, off)
			before(c, off, header).at(opI32Load, 0).op(opI32Eqz, opI32And)
			c.get(off).get(size).op(opI64Add).gget(gPos).op(opI64LeU, opI32And).when()
			{
				c.get(q)
				before(c, off, 12).at(opI32Load, 0).at(opI32Store, 0)
				c.get(q).get(q).at(opI32Load, 8).i32(1).op(opI32Sub).at(opI32Store, 8)
				zeroed(c)
				before(c, off, header).get(n).op(opI32Wrap).at(opI32Store, 0)
				before(c, off, 12).i32(0).at(opI32Store, 0)
				c.get(off).op(opReturn)
			}
			c.end()
		}
		c.end()
		c.get(q).i32(0).at(opI32Store, 8) // a guest overwrote the queue: empty it
	}
	c.end()
}

// zeroed appends code that zeroes n bytes at off and charges for them, piece by piece, so
// that the host can end the call between two pieces.
func zeroed(c *code) {
	const n, at, off, piece = 0, 1, 3, 4
	c.i64(0).set(at).loop()
	c.get(n).get(at).op(opI64Sub).tee(piece).i64(zeroPiece).op(opI64GtU).when().i64(zeroPiece).set(piece).end()
	c.get(off).get(at).op(opI64Add, opI32Wrap).i32(0).get(piece).op(opI32Wrap).op(opMisc, miscMemoryFill, 0)
	charge(c, piece)
	c.get(at).get(piece).op(opI64Add).tee(at).get(n).op(opI64LtU).again()
}

// before appends code that leaves the offset in a local minus a number of bytes.
func before(c *code, local uint64, bytes int64) *code {
	return c.get(local).i64(bytes).op(opI64Sub, opI32Wrap)
}

// charge appends code that adds the size in a local to the debt, and calls the host to
// settle the debt if it reaches Slice.
func charge(c *code, n uint64) {
	c.gget(gDebt).get(n).op(opI64Add).gset(gDebt)
	c.gget(gDebt).i64(Slice).op(opI64GeS).when().call(0).end()
}

func freeBody() (*code, []abi.ValueType) {
	// The parameter off, two locals of type i64, and two of type i32.
	const off, n, tmp, flag, q = 0, 1, 2, 3, 4
	c := new(code)
	tagged(c, func(c *code) { c.op(opReturn) })
	before(c, off, 12).at(opI32Load, 0).set(flag)
	before(c, off, header).at(opI32Load, 0).op(opI64Extend).tee(n).op(opI64Eqz).when().op(opReturn).end()
	c.get(off).gget(gInOff).op(opI64Eq).when().i64(0).gset(gInLen).i64(0).gset(gInLast).end()
	before(c, off, header).i32(0).at(opI32Store, 0)
	// A block that the host reads when the call ends is not used again.
	c.get(flag).i32(0).op(opI32Ne)
	c.get(off).gget(gOutOff).op(opI64Eq, opI32Or)
	c.get(off).gget(gErrOff).op(opI64Eq, opI32Or).when().op(opReturn).end()
	class(c, n, tmp).i64(4).op(opI64Shl, opI32Wrap).set(q)
	before(c, off, 12).i32(0).at(opI32Store, 0)
	c.get(q).at(opI32Load, 8).op(opI32Eqz).when()
	c.get(q).get(off).op(opI32Wrap).at(opI32Store, 0)
	c.op(opElse)
	c.get(q).at(opI32Load, 4).i32(12).op(opI32Sub).get(off).op(opI32Wrap).at(opI32Store, 0)
	c.end()
	c.get(q).get(off).op(opI32Wrap).at(opI32Store, 4)
	c.get(q).get(q).at(opI32Load, 8).i32(1).op(opI32Add).at(opI32Store, 8)
	return c, []abi.ValueType{abi.I64, abi.I64, abi.I32, abi.I32}
}
