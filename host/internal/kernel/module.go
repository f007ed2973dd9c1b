package kernel

import (
	"encoding/binary"
	"strconv"

	"github.com/anchor-host/anchor-host/abi"
)

// HostModule and SettleName name the function, () -> (), that the module calls when its debt
// reaches Slice.
const (
	HostModule = "anchor:kernel"
	SettleName = "settle"
)

// The globals of the module. They are exported and mutable, so that the host can set the
// input and read the results without a call of the module.
const (
	gPos = iota
	gInOff
	gInLen
	// gInLast is one more than the last offset at which 8 bytes of input remain.
	gInLast
	gOutOff
	gOutLen
	gErrOff
	gErrLen
	gDebt
	gRefused
	globals
)

// globalName returns the export name of a global.
func globalName(i int) string { return "g" + strconv.Itoa(i) }

// function is one function of the module.
type function struct {
	sig    abi.Signature
	locals []abi.ValueType
	body   *code
}

// Functions are the names of the Extism functions that the kernel itself
// implements.
var Functions = []string{
	"alloc", "free", "length", "length_unsafe", "load_u8", "load_u64", "store_u8", "store_u64",
	"input_length", "input_offset", "input_load_u8", "input_load_u64", "output_set", "error_set",
}

// Module returns the kernel as a WebAssembly module. imports is a part of [abi.Imports]. The
// module exports each of these functions under its name, and under its name with the prefix.
// It implements those that Functions names, and imports the others from the modules that
// imports names.
func Module(imports []abi.Signature, prefix string) []byte {
	m := builder{prefix: prefix}
	own := map[string]bool{}
	for _, name := range Functions {
		own[name] = true
	}
	m.importFunc(HostModule, abi.Signature{Name: SettleName})
	for _, s := range imports {
		if !own[s.Name] {
			m.export(s.Name, m.importFunc(s.Module, s))
		}
	}
	m.room = m.imported
	m.add(function{sig: signature(1, abi.I32), body: roomBody()})
	for _, s := range imports {
		if own[s.Name] {
			body, locals := m.body(s.Name)
			m.export(s.Name, m.add(function{s, locals, body}))
		}
	}
	return m.encode()
}

// signature is a type with i64 parameters.
func signature(params int, results ...abi.ValueType) abi.Signature {
	s := abi.Signature{Results: results}
	for range params {
		s.Params = append(s.Params, abi.I64)
	}
	return s
}

// builder collects a module.
type builder struct {
	prefix                          string
	types, imports, exports, bodies [][]byte
	declared                        [][]byte
	imported                        int
	// room is the index of the function that makes room.
	room int
}

func (m *builder) addType(s abi.Signature) int {
	m.types = append(m.types, functionType(s.Params, s.Results))
	return len(m.types) - 1
}

func (m *builder) importFunc(module string, s abi.Signature) int {
	m.imports = append(m.imports, append(append(named(module), named(s.Name)...), indexed(kindFunc, m.addType(s))...))
	m.imported++
	return m.imported - 1
}

func (m *builder) export(name string, function int) {
	for _, n := range []string{name, m.prefix + name} {
		m.exports = append(m.exports, named(n, indexed(kindFunc, function)...))
	}
}

func (m *builder) add(f function) int {
	m.declared = append(m.declared, binary.AppendUvarint(nil, uint64(m.addType(f.sig))))
	var locals [][]byte
	for _, t := range f.locals {
		locals = append(locals, []byte{1, byte(t)})
	}
	m.bodies = append(m.bodies, sized(append(vector(locals), f.body.end().b...)))
	return m.imported + len(m.bodies) - 1
}

func (m *builder) encode() []byte {
	m.exports = append(m.exports, named("memory", indexed(kindMemory, 0)...))
	var gs [][]byte
	for i := range globals {
		start := int64(0)
		if i == gPos {
			start = first
		}
		gs = append(gs, append([]byte{byte(abi.I64), 1}, new(code).i64(start).end().b...))
		m.exports = append(m.exports, named(globalName(i), indexed(kindGlobal, i)...))
	}
	memory := binary.AppendUvarint([]byte{1, 1}, MaxPages) // from 1 page
	return assembled(
		section{secType, m.types}, section{secImport, m.imports}, section{secFunction, m.declared},
		section{secMemory, [][]byte{memory}}, section{secGlobal, gs}, section{secExport, m.exports}, section{secCode, m.bodies},
	)
}

// tagged appends code that runs otherwise if local 0 is not a handle.
func tagged(c *code, otherwise func(*code)) {
	c.get(0).i64(first).op(opI64Sub).gget(gPos).i64(first).op(opI64Sub, opI64GeU).when()
	otherwise(c)
	c.end()
	hasTag(c, 0).op(opI32Eqz).when()
	otherwise(c)
	c.end()
}

// hasTag appends code that leaves 1 if the tag in front of the offset in a local is the tag of
// that offset.
func hasTag(c *code, local uint64) *code {
	return c.get(local).i64(8).op(opI64Sub, opI32Wrap).at(opI64Load, 0).get(local).i64(cookie).op(opI64Xor, opI64Eq)
}

// roomBody returns the code of a function of end that grows the memory to end if it is
// smaller, and returns 1 if it could.
func roomBody() *code {
	c := new(code)
	c.get(0)
	memoryEnd(c).op(opI64LeU).when().i32(1).op(opReturn).end()
	c.get(0)
	memoryEnd(c).op(opI64Sub).i64(PageSize-1).op(opI64Add).i64(16).op(opI64ShrU, opI32Wrap)
	return c.op(opMemoryGrow, 0).i32(-1).op(opI32Ne)
}

// memoryEnd appends code that leaves the size of the memory in bytes.
func memoryEnd(c *code) *code { return c.op(opMemorySize, 0, opI64Extend).i64(16).op(opI64Shl) }
