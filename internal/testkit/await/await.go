// Package await waits for what other goroutines and processes do. It is for tests only.
package await

import "time"

// Patience is how long a test waits for something that must come. A test that passes waits only
// until it comes, so this leaves room for machines that are much slower.
const Patience = 2 * time.Minute

// True waits until is returns true, and reports whether it did within Patience.
func True(is func() bool) bool {
	for end := time.Now().Add(Patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Enough calls try with a limit of time until it says that the limit was enough for what it tests:
// first with d, then with four times as much each time. A busy machine may let a short limit pass
// before anything is done within it. Enough reports whether a limit below Patience was enough.
func Enough(d time.Duration, try func(limit time.Duration) bool) bool {
	for ; d < Patience; d *= 4 {
		if try(d) {
			return true
		}
	}
	return false
}
