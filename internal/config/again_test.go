package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that was truncated takes no steps, redactors among them, out of a running service.
func TestTruncatedFileIsNotReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchor.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("window: {max_tokens: 10}\n")
	l, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "\n# nothing\n", "{}\n"} {
		write(text)
		if _, err := l.Again(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), file+": has no settings any more (") {
			t.Errorf("%q: %v", text, err)
		}
	}
	empty, err := Load(file) // at the start it may be empty
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Again(); err != nil {
		t.Errorf("a file that was empty before: %v", err)
	}
	write("window: {max_tokens: 20}\n")
	for _, l := range []*Loaded{l, empty} {
		if again, err := l.Again(); err != nil || again.MaxTokens != 20 {
			t.Errorf("%+v, %v", again, err)
		}
	}
}
