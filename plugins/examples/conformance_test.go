package examples_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// conformFlags are what examples need to be tested.
var conformFlags = map[string][]string{
	"bm25-retriever": {"--allow-path", "ro:bm25-retriever/docs:/docs"},
	"field-reranker": {"--allow-path", "ro:bm25-retriever/docs:/docs"},
}

// TestExamplesConform puts every example through the conformance kit and the
// cases in its folder tests, as plugin test does for an author.
func TestExamplesConform(t *testing.T) {
	needGuests(t)
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			args := []string{"plugin", "test", filepath.Join(work, "plugins", name), "--short", "-o", "json",
				"--cache-dir", filepath.Join(work, "cache")}
			if _, err := os.Stat(filepath.Join(name, "tests")); err == nil {
				args = append(args, "--cases", filepath.Join(name, "tests"))
			}
			conform(t, filepath.Join(work, "anchor-host"), append(args, conformFlags[name]...)...)
		})
	}
}

// conform runs plugin test, and fails with each case that fails.
func conform(t *testing.T, command string, args ...string) {
	t.Helper()
	out, err := exec.Command(command, args...).Output()
	var doc struct {
		Report struct {
			Passed, Failed int
			Results        []struct{ Case, Operation, Lane, Verdict, Detail string }
		}
	}
	if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil {
		t.Fatalf("%v: %v\n%s", err, jsonErr, out)
	}
	for _, r := range doc.Report.Results {
		if r.Verdict == "fail" {
			t.Errorf("%s (%s, lane %s): %s", r.Case, r.Operation, r.Lane, r.Detail)
		}
	}
	if err != nil || doc.Report.Passed < 15 {
		t.Errorf("%v, %d cases passed", err, doc.Report.Passed)
	}
}

// otherLanguages are the examples in other languages than Go, with their language and the
// command that runs their native tests in their folder.
var otherLanguages = map[string]struct {
	language string
	native   []string
}{
	"citations":            {language: "ts"},
	"github-issues":        {language: "js", native: []string{"node", "--test"}},
	"neat-cut":             {language: "zig"},
	"opensearch-retriever": {language: "rust", native: []string{"cargo", "test", "--quiet"}},
}

// TestOtherLanguages does the same with the examples that make plugins-all builds. It tests
// the languages that ANCHOR_LANGUAGES names.
func TestOtherLanguages(t *testing.T) {
	command := filepath.Join(t.TempDir(), "anchor-host")
	if others := namesOfOthers(t); len(others) != len(otherLanguages) {
		t.Fatalf("the table of this test has %d examples, want %v", len(otherLanguages), others)
	}
	for name, other := range otherLanguages {
		t.Run(name, func(t *testing.T) {
			wanted := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
			if !slices.Contains(wanted, other.language) && !slices.Contains(wanted, "all") {
				t.Skipf("make plugins-all test-languages runs it (or set ANCHOR_LANGUAGES=%s)", other.language)
			}
			if _, err := os.Stat(command); err != nil {
				if err := goBuild(nil, "-o", command, "../../cmd/anchor-host"); err != nil {
					t.Fatal(err)
				}
			}
			module := filepath.Join("..", "..", "build", "languages", other.language, name+".wasm")
			if _, err := os.Stat(module); err != nil {
				t.Fatalf("%v (make plugins-all builds it)", err)
			}
			conform(t, command, "plugin", "test", module, "--short", "-o", "json", "--cases", filepath.Join(name, "tests"))
			if other.native == nil {
				return
			}
			cmd := exec.Command(other.native[0], other.native[1:]...)
			cmd.Dir = name
			cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", other.native, err, out)
			}
		})
	}
}
