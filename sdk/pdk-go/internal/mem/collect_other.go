//go:build !wasip1 || tinygo

package mem

// Collect does nothing. The collector of TinyGo runs when memory is short, and the collector
// of Go outside of Wasm runs in its own threads.
func Collect() {}
