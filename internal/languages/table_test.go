package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var measured = []result{
	{example: example{Language: "go", Title: "Go", Plugin: "keyword-filter"}, Size: 4_064_617, Build: 500 * time.Millisecond,
		Times: map[string]time.Duration{"json": 1234567, "batch": 89 * time.Microsecond}},
	{example: example{Language: "go", Title: "Go", Plugin: "lexical-rerank"}, Size: 12_345, Times: map[string]time.Duration{}},
	{example: example{Language: "wat", Title: "WAT", Plugin: "keyword-filter"}, Size: 1905, Times: map[string]time.Duration{"batch": 7 * time.Microsecond}},
}

func TestTableHasARowPerLanguage(t *testing.T) {
	got := table(measured)
	for _, want := range []string{
		"| Go | 4065 KB | 0.5 s | 1234 | 89 | 12 KB | – | – | – |\n",
		"| WAT | 1.9 KB | – | – | 7 | – | – | – | – |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, got)
		}
	}
}

func TestWriteTableReplacesWhatIsBetweenTheMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(path, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeTable(path, measured); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + beginMark + table(measured) + endMark + "after\n"; string(b) != want {
			t.Errorf("got\n%s\nwant\n%s", b, want)
		}
	}
	if err := os.WriteFile(path, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(path, measured); err == nil {
		t.Error("no error about a file without marks")
	}
}
