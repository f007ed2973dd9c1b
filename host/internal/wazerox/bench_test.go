package wazerox

import "testing"

// BenchmarkLook tries all features out, as a process does once.
func BenchmarkLook(b *testing.B) {
	for b.Loop() {
		look(false, inTest)
	}
}
