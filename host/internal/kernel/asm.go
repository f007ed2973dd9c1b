package kernel

import (
	"encoding/binary"

	"github.com/anchor-host/anchor-host/abi"
)

// The part of the WebAssembly binary format that the kernel needs.

// sections of a module, in their order.
const (
	secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secElement, secCode = 1, 2, 3, 4, 5, 6, 7, 9, 10
)

// kinds of imports and exports.
const kindFunc, kindTable, kindMemory, kindGlobal = 0, 1, 2, 3

// instructions by their opcode.
const (
	opLoop, opIf, opElse, opEnd, opBranchIf = 0x03, 0x04, 0x05, 0x0b, 0x0d
	opReturn, opCall, opCallIndirect        = 0x0f, 0x10, 0x11

	opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet = 0x20, 0x21, 0x22, 0x23, 0x24

	opI32Load, opI64Load, opI32Load8U, opI32Store, opI64Store, opI32Store8 = 0x28, 0x29, 0x2d, 0x36, 0x37, 0x3a
	opMemorySize, opMemoryGrow, opI32Const, opI64Const                     = 0x3f, 0x40, 0x41, 0x42

	opI32Eqz, opI32Eq, opI32Ne, opI32GtU             = 0x45, 0x46, 0x47, 0x4b
	opI64Eqz, opI64Eq, opI64Ne, opI64LtU, opI64GtU   = 0x50, 0x51, 0x52, 0x54, 0x56
	opI64LeU, opI64GeU, opI64GeS                     = 0x58, 0x5a, 0x59
	opI32Add, opI32Sub, opI32And, opI32Or            = 0x6a, 0x6b, 0x71, 0x72
	opI64Clz, opI64Add, opI64Sub, opI64And, opI64Xor = 0x79, 0x7c, 0x7d, 0x83, 0x85
	opI64Shl, opI64ShrU, opI32Wrap, opI64Extend      = 0x86, 0x88, 0xa7, 0xad

	opMisc, miscMemoryFill = 0xfc, 11
)

// blockless is the type of a block without a result.
const blockless = 0x40

// code is a sequence of instructions.
type code struct{ b []byte }

// op appends instructions without operands.
func (c *code) op(ops ...byte) *code { c.b = append(c.b, ops...); return c }

// u appends an instruction with an unsigned operand.
func (c *code) u(op byte, v uint64) *code {
	c.b = binary.AppendUvarint(append(c.b, op), v)
	return c
}

func (c *code) get(local uint64) *code     { return c.u(opLocalGet, local) }
func (c *code) set(local uint64) *code     { return c.u(opLocalSet, local) }
func (c *code) tee(local uint64) *code     { return c.u(opLocalTee, local) }
func (c *code) gget(global uint64) *code   { return c.u(opGlobalGet, global) }
func (c *code) gset(global uint64) *code   { return c.u(opGlobalSet, global) }
func (c *code) call(function uint64) *code { return c.u(opCall, function) }

// i32 and i64 append constants.
func (c *code) i32(v int64) *code { c.b = appendSigned(append(c.b, opI32Const), v); return c }
func (c *code) i64(v int64) *code { c.b = appendSigned(append(c.b, opI64Const), v); return c }

// at appends a load or store with a constant offset.
func (c *code) at(op byte, offset uint64) *code {
	c.b = binary.AppendUvarint(append(c.b, op, 0), offset)
	return c
}

// loop begins a loop. again ends it: the loop repeats if the value on the stack is not 0.
func (c *code) loop() *code  { return c.op(opLoop, blockless) }
func (c *code) again() *code { return c.u(opBranchIf, 0).end() }

// when begins code that runs if the value on the stack is not 0. end ends it.
func (c *code) when() *code { return c.op(opIf, blockless) }
func (c *code) end() *code  { return c.op(opEnd) }

// appendSigned appends v as a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// section is one section of a module. Its content is a list.
type section struct {
	id    byte
	items [][]byte
}

// assembled returns the module with these sections.
func assembled(sections ...section) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(append(out, s.id), sized(vector(s.items))...)
	}
	return out
}

// vector returns the encoding of a list.
func vector(items [][]byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(items)))
	for _, it := range items {
		b = append(b, it...)
	}
	return b
}

// sized returns the size of b, followed by b.
func sized(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// named returns the encoding of a name, followed by more.
func named(name string, more ...byte) []byte { return append(sized([]byte(name)), more...) }

// indexed returns the encoding of a kind and an index.
func indexed(kind byte, i int) []byte { return binary.AppendUvarint([]byte{kind}, uint64(i)) }

// functionType returns the encoding of the type of a function.
func functionType(params, results []abi.ValueType) []byte {
	b := []byte{0x60}
	for _, ts := range [][]abi.ValueType{params, results} {
		b = binary.AppendUvarint(b, uint64(len(ts)))
		for _, t := range ts {
			b = append(b, byte(t))
		}
	}
	return b
}
