package cli

import (
	"bytes"
	"testing"
)

// TestDrawing holds that bars can move the cursor, and messages cannot.
func TestDrawing(t *testing.T) {
	var b bytes.Buffer
	m := newMessages(&b)
	for _, w := range []interface{ Write([]byte) (int, error) }{m, m.Drawing()} {
		if _, err := w.Write([]byte("a\rb\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.String(), "a\\rb\na\rb\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
