package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

var measured = []result{
	{example: example{Language: "go", Title: "Go", Plugin: "keyword-filter"}, Size: 4_064_617, Build: 500 * time.Millisecond,
		Times: map[host.Lane]time.Duration{"json": 1234567, "batch": 89 * time.Microsecond}},
	{example: example{Language: "go", Title: "Go", Plugin: "lexical-rerank"}, Size: 12_345, Times: map[host.Lane]time.Duration{}},
	{example: example{Language: "wat", Title: "WAT", Plugin: "keyword-filter"}, Size: 1905, Times: map[host.Lane]time.Duration{"batch": 7 * time.Microsecond}},
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

func TestWriteMarkedReplacesWhatIsBetweenTheMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(path, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := writeMarked(path, measured[0].cost()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + beginMark + measured[0].cost() + endMark + "after\n"; string(b) != want {
			t.Errorf("got\n%s\nwant\n%s", b, want)
		}
	}
	if err := os.WriteFile(path, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeMarked(path, "text"); err == nil {
		t.Error("no error about a file without marks")
	}
}

func TestCostNamesTheLanesThatWereMeasured(t *testing.T) {
	if got := measured[0].cost(); !strings.Contains(got, "1.2 ms in the json lane and 0.1 ms in the batch lane") || !strings.Contains(got, "4064617 bytes") {
		t.Error(got)
	}
	if got := measured[2].cost(); strings.Contains(got, "json") {
		t.Error(got)
	}
}

// Every plugin has a README with a place for what it takes.
func TestREADMEsHaveAPlace(t *testing.T) {
	t.Chdir("../..")
	for _, e := range examples() {
		path := filepath.Join(e.Dir, "README.md")
		if e.Language == "tinygo" {
			path = filepath.Join(root, "tinygo", "README.md")
		}
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), beginMark) || !strings.Contains(string(b), endMark) {
			t.Errorf("%s: no marks, error %v", path, err)
		}
	}
}
