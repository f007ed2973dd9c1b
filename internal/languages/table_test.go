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

// Every language has a page with a place for what plugins take.
func TestPagesHaveAPlace(t *testing.T) {
	t.Chdir("../..")
	others, err := gallery()
	if err != nil || len(others) < 4 {
		t.Fatalf("the examples in one language are %v, error %v", others, err)
	}
	for _, e := range append(examples(), others...) {
		path := e.page()
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), beginMark) || !strings.Contains(string(b), endMark) {
			t.Errorf("%s: no marks, error %v", path, err)
		}
	}
}

// A size that is out of date is an error, and names the page.
func TestStatedSizesAreChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	r := result{example: example{Language: "c", Plugin: "p", Dir: "p"}, Size: 1000}
	if err := os.MkdirAll("docs/languages", 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"`p` has 1000 bytes": "", "`p` has 1090 bytes": "", "`p` has 1200 bytes": "p has 1000 bytes, not 1200", "`q` has 1000 bytes": "does not state",
	} {
		if err := os.WriteFile(r.page(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkSizes([]result{r})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
