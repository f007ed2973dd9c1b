package main

import (
	"encoding/binary"
	"slices"
)

// Modules are written byte by byte, because no tool produces such modules.

// The value types and the ids of sections that bombs use.
const (
	i32, i64, f32, v128 = 0x7f, 0x7e, 0x7d, 0x7b

	secType, secImport, secFunction, secTable, secMemory      = 1, 2, 3, 4, 5
	secGlobal, secExport, secElement, secCode, secData   byte = 6, 7, 9, 10, 11
)

// u encodes an unsigned LEB128 number.
func u[T ~int | ~uint32](n T) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// name encodes a string with its length.
func name(s string) []byte { return append(u(len(s)), s...) }

// times repeats b n times.
func times(n int, b ...byte) []byte { return slices.Repeat(b, n) }

// vector encodes a list with its length.
func vector(elems ...[]byte) []byte { return append(u(len(elems)), slices.Concat(elems...)...) }

// repeated encodes a list of n equal elements.
func repeated(n int, elem []byte) []byte { return append(u(n), slices.Repeat(elem, n)...) }

// section encodes a section with the content.
func section(id byte, content []byte) []byte {
	return slices.Concat([]byte{id}, u(len(content)), content)
}

// functionType encodes a function type with so many parameters and results.
func functionType(params, results int, of byte) []byte {
	return slices.Concat([]byte{0x60}, u(params), times(params, of), u(results), times(results, of))
}

// body encodes a function body with n locals of a type.
func body(n int, of byte, code ...byte) []byte {
	locals := []byte{0}
	if n > 0 {
		locals = slices.Concat([]byte{1}, u(n), []byte{of})
	}
	b := slices.Concat(locals, code, []byte{0x0b})
	return append(u(len(b)), b...)
}

// parts are the contents of the sections of a module, already encoded. A nil section is left
// out.
type parts struct {
	types, functions, tables, globals, exports, elements, code, data []byte
}

// The usual parts: an exported function run, () -> i32, and a memory of two pages.
var (
	runType    = functionType(0, 1, i32)
	voidType   = functionType(0, 0, i32)
	memoryName = append(name("memory"), 2, 0)
	runName    = append(name("run"), 0, 0)
	usual      = vector(memoryName, runName)
)

// module encodes a module with these parts.
func module(p parts) []byte {
	if p.types == nil {
		p.types = vector(runType)
	}
	if p.exports == nil {
		p.exports = usual
	}
	w := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id      byte
		content []byte
	}{
		{secType, p.types}, {secFunction, p.functions}, {secTable, p.tables}, {secMemory, []byte{1, 0, 2}}, {secGlobal, p.globals},
		{secExport, p.exports}, {secElement, p.elements}, {secCode, p.code}, {secData, p.data},
	} {
		if s.content != nil {
			w = append(w, section(s.id, s.content)...)
		}
	}
	return w
}

// same encodes a module of n functions () -> i32 with the same body.
func same(n int, b []byte) []byte {
	return module(parts{functions: repeated(n, []byte{0}), code: repeated(n, b)})
}
