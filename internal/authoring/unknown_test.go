package authoring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A compiler that meets an unknown operation names those that there are.
func TestUnknownOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	for _, c := range []struct{ language, file, old, new string }{
		{"rust", "src/lib.rs", "filter:", "filtre:"},
		{"zig", "plugin.zig", ".filter =", ".filtre ="},
		{"c", "plugin.c", "ANCHOR_FILTER(filter)", "static int f(anchor_json r, anchor_buf *b) { return ANCHOR_NO_CHANGE; }\nANCHOR_DOCUMENT(filtre, f)"},
		{"js", "plugin.js", "function filter", "function filtre"},
		{"ts", "plugin.ts", "_filter", "_filtre"},
	} {
		t.Run(c.language, func(t *testing.T) {
			dir := newProject(t, c.language, "filter")
			file := filepath.Join(dir, c.file)
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), c.old) {
				t.Fatalf("%s: %v: has no %s", file, err, c.old)
			}
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), c.old, c.new)), 0o644); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			_, err = Build(t.Context(), BuildOptions{Dir: dir, Messages: &said})
			if errors.Is(err, ErrMissing) {
				t.Skipf("NOT TESTED: %v", err)
			}
			for _, want := range []string{"filtre", "filter", "rerank", "count_tokens"} {
				if err == nil || !strings.Contains(said.String()+err.Error(), want) {
					t.Errorf("got %v, said %s; want %q", err, said.String(), want)
				}
			}
		})
	}
}
