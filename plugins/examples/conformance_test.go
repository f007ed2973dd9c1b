package examples_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// conformFlags are what examples need to be tested.
var conformFlags = map[string][]string{
	"bm25-retriever":  {"--allow-path", "ro:bm25-retriever/docs:/docs"},
	"dense-retriever": {"--allow-path", "ro:dense-retriever/docs:/docs", "--allow-path", "ro:dense-retriever/model:/model"},
	"field-reranker":  {"--allow-path", "ro:bm25-retriever/docs:/docs"},
}

// samples are the examples that every run of the tests builds with and puts through the
// conformance kit: one for each kind of step, and those that cost little. Compiling an example
// takes seconds, and so do the thousands of calls that some of them get.
var samples = []string{"score-filter", "recency-rerank", "query-expand", "intent-classifier", "bm25-retriever", "crm-snapshot"}

// needThorough skips the test of an example that is no sample, unless all are wanted.
func needThorough(t *testing.T, name string) {
	t.Helper()
	if !slices.Contains(samples, name) && os.Getenv("ANCHOR_THOROUGH") == "" {
		t.Skip("make test-thorough runs it (ANCHOR_THOROUGH=1)")
	}
}

// TestExamplesConform puts every example through the conformance kit and the
// cases in its folder tests, as plugin test does for an author.
func TestExamplesConform(t *testing.T) {
	plugins := needGuests(t)
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			needThorough(t, name)
			t.Parallel()
			args := []string{"plugin", "test", filepath.Join(plugins, name), "--short", "-o", "json", "--cache-dir", testbuild.CacheDir(t)}
			if _, err := os.Stat(filepath.Join(name, "tests")); err == nil {
				args = append(args, "--cases", filepath.Join(name, "tests"))
			}
			conform(t, append(args, conformFlags[name]...)...)
		})
	}
}

// conform runs plugin test, and fails with each case that fails.
func conform(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testbuild.Command(t), args...).Output()
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
		t.Errorf("plugin test: %v, %d cases passed, want at least 15", err, doc.Report.Passed)
	}
}
