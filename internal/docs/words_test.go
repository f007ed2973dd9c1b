package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostWords is how many words all Markdown files of the repository have at most. It only goes
// down: a new paragraph replaces an old one.
const mostWords = 60_000

// sizes are those of documents that grow with each change.
var sizes = map[string]struct{ lines, bytes int }{
	"CHANGELOG.md":    {lines: 40},
	"RATIONALE.md":    {bytes: 25_000},
	"CONTRIBUTING.md": {bytes: 8192},
}

func TestDocumentsAreShort(t *testing.T) {
	for name, most := range sizes {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); most.lines > 0 && n > most.lines {
			t.Errorf("%s has %d lines, want at most %d", name, n, most.lines)
		}
		if most.bytes > 0 && len(text) > most.bytes {
			t.Errorf("%s has %d bytes, want at most %d", name, len(text), most.bytes)
		}
	}
	words := 0
	for _, text := range markdown(t) {
		words += len(strings.Fields(text))
	}
	if words > mostWords {
		t.Errorf("the Markdown files have %d words, want at most %d: shorten something", words, mostWords)
	}
	if words < mostWords-2000 {
		t.Errorf("the Markdown files have %d words: set mostWords to that, from %d", words, mostWords)
	}
}

// markdown returns the text of each Markdown file that is part of the repository.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	walk(t, func(name string, e fs.DirEntry) error {
		switch {
		case e.IsDir() && slices.Contains([]string{"build", "node_modules", "target"}, e.Name()):
			return fs.SkipDir
		case e.Type().IsRegular() && strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(filepath.Join(root, name))
			out[name] = string(text)
			return err
		}
		return nil
	})
	if len(out) < 80 {
		t.Fatalf("found %d Markdown files, want those of the repository", len(out))
	}
	return out
}
