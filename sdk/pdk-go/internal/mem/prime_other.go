//go:build !wasip1 || tinygo

package mem

// prime does nothing: TinyGo has one list of free blocks, and outside of a guest
// nothing puts the memory back.
func prime() {}
