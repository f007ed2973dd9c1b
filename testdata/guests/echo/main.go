// Command echo is a foreign module: it uses only Extism's own kit.
package main

import "github.com/extism/go-pdk"

func main() {}

// echo returns its input.
//
//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}
