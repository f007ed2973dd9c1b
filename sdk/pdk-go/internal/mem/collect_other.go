//go:build !wasip1 || tinygo

package mem

// Collect does nothing: the collector of TinyGo runs when memory is short, and
// that of the host machine in threads of its own.
func Collect() {}
