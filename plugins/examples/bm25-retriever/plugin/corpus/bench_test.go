package corpus

import (
	"os"
	"testing"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/goenv"
)

// How long does the standard library take to read?
func BenchmarkReadStandardLibrary(b *testing.B) {
	src := goenv.Sources(b)
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
