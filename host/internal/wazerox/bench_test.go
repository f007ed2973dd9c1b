package wazerox

import "testing"

// BenchmarkLook tries all features out, as a process does once for each engine, and then
// each by itself.
func BenchmarkLook(b *testing.B) {
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			look(false, inTest)
		}
	})
	for _, f := range table {
		if f.probe == nil {
			continue
		}
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				l, err := newLab(b.Context(), false)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.probe(l); err != nil {
					b.Fatal(err)
				}
				l.close()
			}
		})
	}
}
