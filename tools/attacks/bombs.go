package main

import (
	"slices"

	"github.com/anchor-host/anchor-host/host"
)

// bomb is a kind of module that is small as a file and large for the compiler or the
// interpreter. Its size grows with n.
type bomb struct {
	name, what string
	engine     host.Engine
	build      func(n int) []byte
	// from and most are the first and the last n to try.
	from, most int
	// short is the n of a short run, 0 to skip the bomb.
	short int
}

// bombs are all bombs. Each grows in one respect only.
var bombs = []bomb{
	{"locals", "functions of 50,000 locals", "", locals(i32), 50, 100_000, 3_000},
	{"locals-v128", "functions of 50,000 vectors", "", locals(v128), 50, 100_000, 0},
	{"locals-interpreted", "functions of 50,000 locals, interpreted", host.EngineInterpreter, locals(i32), 50, 100_000, 0},
	{"locals-used", "functions that set 50,000 locals", "", localsUsed, 1, 400, 0},
	{"straight", "thousand constants in one body", "", straight, 20, 20_000, 3_000},
	{"straight-interpreted", "thousand constants in one body, interpreted", host.EngineInterpreter, straight, 20, 20_000, 0},
	{"constants", "functions of 170,000 constants", "", func(n int) []byte { return same(n, body(0, 0, append(times(170_000, 0x41, 42, 0x1a), 0x41, 0)...)) }, 1, 120, 0},
	{"trunc", "functions of 100,000 conversions that may trap", "", trunc, 1, 300, 10},
	{"loads", "functions of 100,000 loads from what was loaded", "", loads, 1, 200, 10},
	{"vectors", "functions of 100,000 vector operations", "", vectors, 1, 200, 0},
	{"calls", "functions of 170,000 calls", "", calls, 1, 100, 0},
	{"operands", "functions of 100,000 operands at a time", "", func(n int) []byte {
		return same(n, body(0, 0, append(times(100_000, 0x41, 1), times(99_999, 0x6a)...)...))
	}, 1, 200, 0},
	{"branches", "functions of a switch of 500,000 cases", "", branches, 1, 120, 0},
	{"loops", "loops in one function of 300 locals", "", loops, 100, 100_000, 0},
	{"types", "types of 1,000 parameters and 1,000 results", "", types, 50, 30_000, 5_000},
	{"wide", "functions of 1,000 parameters and 1,000 results", "", wide, 100, 100_000, 0},
	{"tables", "tables", "", func(n int) []byte {
		return module(parts{functions: []byte{1, 0}, tables: repeated(n, []byte{0x70, 0, 1}), code: vector(ok)})
	}, 1_000, 100_000, 100_000},
	{"functions", "functions", "", func(n int) []byte { return same(n, ok) }, 1_000, 100_000, 0},
	{"globals", "globals that can be set", "", func(n int) []byte {
		return module(parts{functions: []byte{1, 0}, globals: repeated(n, []byte{i32, 1, 0x41, 0, 0x0b}), code: vector(ok)})
	}, 1_000, 100_000, 0},
	{"data", "data segments", "", func(n int) []byte {
		return module(parts{functions: []byte{1, 0}, code: vector(ok), data: repeated(n, []byte{0, 0x41, 0, 0x0b, 1, 'A'})})
	}, 1_000, 100_000, 0},
	{"elements", "element segments", "", func(n int) []byte {
		return module(parts{functions: []byte{1, 0}, tables: []byte{1, 0x70, 0, 10}, elements: repeated(n, []byte{0, 0x41, 0, 0x0b, 1, 0}), code: vector(ok)})
	}, 1_000, 100_000, 0},
}

// ok is a body that returns 0.
var ok = body(0, 0, 0x41, 0)

func locals(of byte) func(int) []byte {
	return func(n int) []byte { return same(n, body(50_000, of, 0x41, 0)) }
}

func localsUsed(n int) []byte {
	var code []byte
	for i := range 50_000 {
		code = append(append(code, 0x41, 1, 0x21), u(i)...)
	}
	return same(n, body(50_000, i32, append(code, 0x41, 0)...))
}

func straight(n int) []byte {
	return same(1, body(0, 0, append(times(1000*n, 0x41, 42, 0x1a), 0x41, 0)...))
}

// calls returns n functions, each of which calls the next.
func calls(n int) []byte {
	caller := body(0, 0, append(times(170_000, 0x10, byte(n), 0x1a), 0x41, 0)...)
	return module(parts{functions: repeated(n+1, []byte{0}), code: slices.Concat(u(n+1), slices.Repeat(caller, n), ok)})
}

func trunc(n int) []byte {
	return same(n, body(0, 0, slices.Concat([]byte{0x43, 0, 0, 0, 0}, times(100_000, 0xa8, 0xb2), []byte{0xa8})...))
}

func loads(n int) []byte {
	return same(n, body(0, 0, append([]byte{0x41, 0}, times(100_000, 0x28, 2, 0)...)...))
}

func vectors(n int) []byte { // f32x4.abs again and again
	return same(n, body(0, 0, slices.Concat([]byte{0x41, 0, 0xfd, 0x11}, times(100_000, 0xfd, 0xe0, 1), []byte{0xfd, 0x1b, 0})...))
}

func branches(n int) []byte {
	return same(n, body(0, 0, slices.Concat([]byte{0x02, 0x40, 0x41, 0, 0x0e}, u(500_000), times(500_001, 0), []byte{0x0b, 0x41, 0})...))
}

func loops(n int) []byte {
	return same(1, body(300, i32, append(times(n, 0x03, 0x40, 0x20, 0, 0x0d, 0, 0x0b), 0x41, 0)...))
}

func types(n int) []byte {
	return module(parts{
		types:     slices.Concat(u(n+1), runType, slices.Repeat(functionType(1000, 1000, i32), n)),
		functions: []byte{1, 0}, code: vector(ok),
	})
}

func wide(n int) []byte {
	return module(parts{
		types:     vector(runType, functionType(1000, 1000, i64)),
		functions: slices.Concat(u(n+1), []byte{0}, times(n, 1)),
		code:      slices.Concat(u(n+1), ok, slices.Repeat(body(0, 0, 0), n)),
	})
}

// deep are the bombs that are large when they are called: a function that calls itself, with
// n locals, or with n operands on the stack at each call. Those of a short run are about the largest
// that are accepted.
var deep = []bomb{
	{"deep-locals", "locals of a function that calls itself", host.EngineInterpreter, deepLocals(0), 100, 49_000, 2_000},
	{"deep-operands", "operands of a function that calls itself", host.EngineInterpreter, deepOperands(0), 100, 100_000, 2_000},
	{"deep-locals-large", "the same in a module too large to compile", "", deepLocals(530_000), 100, 49_000, 49_000},
	{"deep-operands-large", "the same in a module too large to compile", "", deepOperands(530_000), 100, 100_000, 0},
	{"deep-locals-compiled", "the same, compiled", host.EngineCompiler, deepLocals(0), 100, 49_000, 0},
}

// called returns a module whose function run calls function 1, i32 -> i32, with body b. The
// module also has padding bytes of other code.
func called(b []byte, padding int) []byte {
	return module(parts{
		types:     vector(runType, functionType(1, 1, i32)),
		functions: []byte{3, 0, 1, 0},
		code:      vector(body(0, 0, 0x41, 0, 0x10, 1), b, body(0, 0, append(times(padding, 0x01), 0x41, 0)...)),
	})
}

func deepLocals(padding int) func(int) []byte {
	return func(n int) []byte { return called(body(n, v128, 0x20, 0, 0x41, 1, 0x6a, 0x10, 1), padding) }
}

func deepOperands(padding int) func(int) []byte {
	return func(n int) []byte {
		return called(body(0, 0, slices.Concat(times(n, 0x42, 1), []byte{0x20, 0, 0x10, 1, 0x1a}, times(n, 0x1a), []byte{0x41, 0})...), padding)
	}
}

// find returns the bomb of that name.
func find(name string) (bomb, bool) {
	for _, b := range slices.Concat(bombs, deep) {
		if b.name == name {
			return b, true
		}
	}
	return bomb{}, false
}
