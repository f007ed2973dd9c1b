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
		if err := writeMarked(path, table(measured)); err != nil {
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
	if err := writeMarked(path, "text"); err == nil {
		t.Error("no error about a file without marks")
	}
}

// The page that is in the repository has a place, and states a size of each plugin.
func TestPageStatesEachSize(t *testing.T) {
	t.Chdir("../../..")
	page, err := os.ReadFile("docs/languages/README.md")
	others, err2 := gallery()
	if err != nil || err2 != nil || len(others) < 4 || !strings.Contains(string(page), beginMark) || !strings.Contains(string(page), endMark) {
		t.Fatalf("the page has no marks, or the examples in one language are %v: %v, %v", others, err, err2)
	}
	for _, e := range append(examples(), others...) {
		r := result{example: e}
		if _, ok := r.statedIn(string(page)); !ok {
			t.Errorf("the page does not state the size of %s in %s", e.Plugin, e.Language)
		}
	}
}

// A size that is out of date is an error that names page and plugin.
func TestStatedSizesAreChecked(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte(stated(measured, []result{{example: example{Language: "zig", Plugin: "p"}, Size: 38_281}})), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r  example
		kb int64
		ok bool
	}{
		{example{Language: "go", Title: "Go", Plugin: "keyword-filter"}, 4200, true},
		{example{Language: "go", Title: "Go", Plugin: "keyword-filter"}, 4700, false},
		{example{Language: "go", Title: "Go", Plugin: "lexical-rerank"}, 12, true},
		{example{Language: "go", Title: "Go", Plugin: "lexical-rerank"}, 4065, false},
		{example{Language: "wat", Title: "WAT", Plugin: "lexical-rerank"}, 2, false},
		{example{Language: "zig", Plugin: "p"}, 38, true},
		{example{Language: "zig", Plugin: "p"}, 50, false},
	} {
		err := checkSizes(page, []result{{example: c.r, Size: c.kb * 1000}})
		if (err == nil) != c.ok || err != nil && (!strings.Contains(err.Error(), c.r.Plugin) || !strings.Contains(err.Error(), page)) {
			t.Errorf("%s in %s of %d KB: error %v, want none: %t", c.r.Plugin, c.r.Language, c.kb, err, c.ok)
		}
	}
}
