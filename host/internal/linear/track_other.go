//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package linear

// Finds says how this system finds the pages that differ from an image.
func Finds() Finder { return Compares }

// track is empty: writes are not tracked on this system.
type track struct{}

// trackAfter is the number of resets after which writes would be tracked.
const trackAfter = 2
