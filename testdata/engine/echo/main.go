// Command echo is a plain Extism plugin built with stock Go. The benchmarks of the engine
// call it on this host and on its peers.
package main

import pdk "github.com/extism/go-pdk"

var (
	calls int
	words = map[string]int{}
)

// echo returns the input, through the imports of Extism.
//
//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}

// noop does nothing.
//
//go:wasmexport noop
func noop() int32 { return 0 }

// count changes a global and a map, and returns how often it was called, which is 1 in a
// clean state.
//
//go:wasmexport count
func count() int32 {
	calls++
	words["call"]++
	words[string(rune('a'+calls%26))]++
	pdk.Output([]byte{byte(calls), byte(words["call"])})
	return 0
}

// spin never returns.
//
//go:wasmexport spin
func spin() int32 {
	for {
		calls++
	}
}

// spin_allocating never returns and produces garbage.
//
//go:wasmexport spin_allocating
func spinAllocating() int32 {
	var kept [][]byte
	for {
		kept = append(kept[:min(len(kept), 100)], make([]byte, 1000))
		calls += len(kept)
	}
}

// recurse computes for hours without a loop.
//
//go:wasmexport recurse
func recurse() int32 {
	calls += fib(90)
	return 0
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {}
