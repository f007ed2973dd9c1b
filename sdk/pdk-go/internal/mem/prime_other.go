//go:build !wasip1 || tinygo

package mem

// prime does nothing. TinyGo has a single list of free blocks, and outside of Wasm nothing
// restores the memory after a call.
func prime() {}
