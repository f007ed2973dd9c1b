package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// The configurations that init writes name each built-in format next to the key.
func TestTemplatesNameEachFormat(t *testing.T) {
	files, err := filepath.Glob("template/*/anchor.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("templates %v, error %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment := regexp.MustCompile(`(?m)^format: \w+ +# (.*)$`).FindStringSubmatch(string(text))
		if want := strings.Join(config.Formats, ", "); comment == nil || comment[1] != want {
			t.Errorf("%s: the comment of the key format is %q, want %q", file, comment, want)
		}
	}
}
