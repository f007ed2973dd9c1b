package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// The configuration that init writes names each built-in format beside the key.
func TestTemplateNamesEachFormat(t *testing.T) {
	text, err := os.ReadFile("template/anchor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^format: \w+ +# (.*)$`).FindSubmatch(text)
	if want := strings.Join(config.Formats, ", "); comment == nil || string(comment[1]) != want {
		t.Errorf("template/anchor.yaml: the comment of the key format is %q, want %q", comment, want)
	}
}
