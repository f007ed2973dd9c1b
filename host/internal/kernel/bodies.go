package kernel

import "github.com/anchor-host/anchor-host/abi"

// body returns the code and the locals of one of Functions.
func (m *builder) body(name string) (*code, []abi.ValueType) {
	c := new(code)
	switch name {
	case "alloc":
		return m.allocBody()
	case "free":
		return freeBody()
	case "length", "length_unsafe":
		tagged(c, func(c *code) { c.i64(0).op(opReturn) })
		return c.get(0).op(opI32Wrap).i32(header).op(opI32Sub).at(opI32Load, 0).op(opI64Extend), nil
	case "load_u8":
		return outside(c, 1).when().i32(0).op(opReturn).end().get(0).op(opI32Wrap).at(opI32Load8U, 0), nil
	case "load_u64":
		return outside(c, 8).when().i64(0).op(opReturn).end().get(0).op(opI32Wrap).at(opI64Load, 0), nil
	case "store_u8":
		return outside(c, 1).when().op(opReturn).end().get(0).op(opI32Wrap).get(1).at(opI32Store8, 0), nil
	case "store_u64":
		return outside(c, 8).when().op(opReturn).end().get(0).op(opI32Wrap).get(1).at(opI64Store, 0), nil
	case "input_length":
		return c.gget(gInLen), nil
	case "input_offset":
		return c.gget(gInOff), nil
	case "input_load_u8":
		c.get(0).gget(gInLen).op(opI64GeU).when().i32(0).op(opReturn).end()
		return c.gget(gInOff).get(0).op(opI64Add, opI32Wrap).at(opI32Load8U, 0), nil
	case "input_load_u64":
		c.get(0).gget(gInLast).op(opI64GeU).when().i64(0).op(opReturn).end()
		return c.gget(gInOff).get(0).op(opI64Add, opI32Wrap).at(opI64Load, 0), nil
	case "output_set":
		return c.get(0).gset(gOutOff).get(1).gset(gOutLen), nil
	}
	return errorBody()
}

// outside appends code that leaves 1 if n bytes at local 0 are not all within the blocks. The
// comparison is unsigned, so it is also true for offsets below the blocks.
func outside(c *code, n int64) *code {
	return c.get(0).i64(blocks).op(opI64Sub).gget(gPos).i64(blocks+n).op(opI64Sub, opI64GtU)
}

func errorBody() (*code, []abi.ValueType) {
	const off, n = 0, 1
	c := new(code)
	c.get(off).op(opI64Eqz).when().i64(0).gset(gErrOff).i64(0).gset(gErrLen).op(opReturn).end()
	tagged(c, func(c *code) { c.op(opReturn) })
	c.get(off).op(opI32Wrap).i32(header).op(opI32Sub).at(opI32Load, 0).op(opI64Extend).tee(n).op(opI64Eqz).when().op(opReturn).end()
	return c.get(off).gset(gErrOff).get(n).gset(gErrLen), []abi.ValueType{abi.I64}
}
