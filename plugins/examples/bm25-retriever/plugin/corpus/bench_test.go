package corpus

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// How long does the standard library take to read?
func BenchmarkReadStandardLibrary(b *testing.B) {
	src := filepath.Join(runtime.GOROOT(), "src")
	for b.Loop() {
		_, err := Read(os.DirFS(src), Options{
			Include: []string{"**/*.go"},
			Exclude: []string{"cmd/**", "**/internal/**", "**/testdata/**", "**/vendor/**"},
		}, func(Document) {})
		if err != nil {
			b.Fatal(err)
		}
	}
}
