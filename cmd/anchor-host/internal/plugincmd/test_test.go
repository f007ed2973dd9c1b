package plugincmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

var (
	goodPlugin  = clitest.FixtureDir + "/no-change"
	wrongPlugin = clitest.FixtureDir + "/keep-first"
)

func TestPluginTestOfOnePlugin(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "", "plugin", "test", goodPlugin, "--short", "--cache-dir", "off")
	if code != cli.CodeOK || stderr != "" {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
	for _, want := range []string{"CASE  ", "OPERATION", "filter/subset", "pass", "no-change 0.1.0: ", " 0 failed",
		"\nnote: filter, lane json: every answer to an ordinary request was no change", "µs per call for 1000 items"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = run(t, "", "plugin", "test", wrongPlugin+"/plugin.wasm", "--short", "--cache-dir", "off")
	if code != cli.CodeFailure || stderr != "" {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
	const want = `
FAIL input/empty (filter, lane json)
  rule:   A request without items is answered.
  seen:   rows/exist: keep[0]: row 0 of a request with 0 rows
  remedy: check the number of rows before the first
`
	if !strings.Contains(stdout, want) || !strings.Contains(stdout, ", 1 failed") {
		t.Errorf("the report lacks%s\n%s", want, stdout)
	}
}

// testedPluginDocument is what "plugin test -o json" says about a plugin.
type testedPluginDocument struct {
	Plugin string
	Report *conformance.Report
}

func TestPluginTestAsJSON(t *testing.T) {
	t.Parallel()
	code, stdout, _ := run(t, "", "plugin", "test", wrongPlugin, "--short", "--cache-dir", "off", "-o", "json", "--lane", "json", "--op", "filter", "--seed", "7")
	var doc testedPluginDocument
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if r := doc.Report; code != cli.CodeFailure || doc.Plugin != "keep-first" || r.Seed != 7 || strings.Join(r.FailedCases(), " ") != "input/empty" {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

// The table of several plugins has a line for each, those that cannot be read
// among them.
func TestPluginTestOfSeveralPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone.wasm")
	code, stdout, _ := run(t, "", "plugin", "test", goodPlugin, wrongPlugin, gone, "--short", "--cache-dir", "off")
	if code != cli.CodeFailure {
		t.Errorf("code %d", code)
	}
	lines := strings.Split(stdout, "\n")
	for i, want := range [][]string{
		{"LANGUAGE", "PLUGIN", "LANES", "PASSED", "FAILED", "SKIPPED", "SIZE", "JSON", "BATCH", "STATUS"},
		{"no-change", "json", "ok, but it changed nothing"}, {"keep-first", "json", "µs", "fails input/empty"}, {gone, "no such file"},
	} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d lacks %q: %s", i, w, lines[i])
			}
		}
	}
	code, stdout, _ = run(t, "", "plugin", "test", goodPlugin, goodPlugin, "--short", "--cache-dir", "off", "-o", "json")
	var doc struct{ Plugins []testedPluginDocument }
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != cli.CodeOK || len(doc.Plugins) != 2 || doc.Plugins[1].Report == nil {
		t.Errorf("code %d, error %v\n%s", code, err, stdout)
	}
}

func TestPluginTestRunsOwnCases(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{
		"tests/cases.json": `[{"name": "stays", "items": ["a"], "expect": {"keep": [0]}}, {"name": "goes", "items": ["a"], "expect": {"keep": []}}]`,
	})
	code, stdout, _ := run(t, "", "plugin", "test", goodPlugin, "--short", "--cache-dir", "off", "--cases", filepath.Join(dir, "tests"))
	if code != cli.CodeFailure || !strings.Contains(stdout, "FAIL own/goes (filter, lane json)") || strings.Contains(stdout, "FAIL own/stays") {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

// A misspelt member and an unknown source of a case have a place and the nearest name.
func TestMistakesInCases(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{"case.json": `[{"name": "c", "operation": "filter",
  "items": ["a", {"content": "a", "source": "memoryx"}], "expect": {"keeep": [0]}},
 {"name": "r", "operation": "filter", "request": {"items": [{"contnt": "a"}]}, "expect": {"keep": [0]}}]`})
	code, _, stderr := run(t, "", "plugin", "test", goodPlugin, "--short", "--cache-dir", "off", "--cases", dir)
	for _, want := range []string{
		`case.json:2:69: [0].expect.keeep: unknown member (did you mean "keep"?)`, `case.json:2:45: [0].items[1].source: unknown source "memoryx" (did you mean "memory"?)`,
		`case.json:3:62: [1].request.items[0].contnt: unknown member (did you mean "content"?)`,
	} {
		if code != cli.CodeInvalid || !strings.Contains(stderr, want) {
			t.Errorf("code %d, stderr lacks %q:\n%s", code, want, stderr)
		}
	}
}

// plugin types prints the types of a project, and suggests a language.
func TestPluginTypes(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{"plugin.c": "", "plugin.yaml": `{abi: 1, name: p, version: 0.1.0, license: MIT,
  operations: {filter: {settings: {type: object, properties: {min: {type: integer}}}}}}`})
	code, stdout, stderr := run(t, "", "plugin", "types", dir)
	if code != cli.CodeOK || stderr != "" || !strings.Contains(stdout, "static inline filter_settings read_filter_settings(const anchor_request *r) {") {
		t.Errorf("code %d, stderr %s\n%s", code, stderr, stdout)
	}
	if code, stdout, _ = run(t, "", "plugin", "types", "--lang", "go", dir); code != cli.CodeOK || !strings.Contains(stdout, "Min int `json:\"min\"`") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	code, _, stderr = run(t, "", "plugin", "types", "--lang", "rst", dir)
	if want := `flag --lang: unknown language "rst" (did you mean "rust"?)`; code != cli.CodeUsage || !strings.Contains(stderr, want) {
		t.Errorf("code %d, stderr %s, want %s", code, stderr, want)
	}
}

func TestMistakesInPluginTest(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{"bad/a.json": `{"name": "a"}`, "set/settings.json": `{"filtre": {}}`, "empty/x": "", "folder/a.json/x": ""})
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"gone.wasm", cli.CodeNotFound, "no such file"},
		{dir + "/empty", cli.CodeNotFound, "no *.wasm"},
		{clitest.FixtureDir + "/foreign", cli.CodeInvalid, "only plugins of this contract"},
		{goodPlugin + " --op rerank", cli.CodeUsage, `has no operation "rerank"`},
		{goodPlugin + " --lane fast", cli.CodeUsage, "want json or batch"},
		{goodPlugin + " --set min=1", cli.CodeUsage, `has no setting "min"`},
		{goodPlugin + " --set min", cli.CodeUsage, "want [OPERATION.]KEY=VALUE"},
		{goodPlugin + ` --settings {"x":{}}`, cli.CodeUsage, "is no operation"},
		{goodPlugin + " --settings gone.json", cli.CodeNotFound, "gone.json"},
		{goodPlugin + " --cases " + dir + "/bad", cli.CodeInvalid, "nothing is expected"},
		{goodPlugin + " --cases " + dir + "/set", cli.CodeInvalid, `"filtre" is no operation`},
		{goodPlugin + " --cases " + dir + "/folder", cli.CodeFailure, "a.json: not a regular file"},
		{goodPlugin + " -o yaml", cli.CodeUsage, "want one of text, json"},
	} {
		code, stdout, stderr := run(t, "", append([]string{"plugin", "test", "--cache-dir", "off"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("%s: code %d, %s\nwant %d, %s", tt.args, code, stderr, tt.code, tt.want)
		}
	}
}

// A failure shows what the guest wrote and its stack, and keeps the request for plugin call.
func TestPluginTestShowsTheTrap(t *testing.T) {
	t.Parallel()
	module, folder := filepath.Join(clitest.FixtureDir, "log-then-trap", "plugin.wasm"), filepath.Join(t.TempDir(), "kept")
	code, stdout, _ := run(t, "", "plugin", "test", module, "--short", "--cache-dir", "off", "--keep", folder)
	request := filepath.Join(folder, "call-answers-filter-json.json")
	for _, want := range []string{
		"FAIL call/answers (filter, lane json)\n",
		"  wrote:  error: panicked at src/lib.rs:7:21:\n          index  out of bounds\n", "  stack:  .filter() i32\n",
		"  request: " + request + "\n  repeat with: anchor-host plugin call " + module + " anchor_filter --request " + request + "\n",
	} {
		if code != cli.CodeFailure || !strings.Contains(stdout, want) || strings.Count(stdout, "\nskip:") != 1 {
			t.Errorf("code %d; the report has too many skips, or lacks %q:\n%s", code, want, stdout)
		}
	}
	code, _, stderr := run(t, "", clitest.RepeatCommand(t, stdout)...)
	if code != cli.CodeFailure || !strings.Contains(stderr, "index  out of bounds") {
		t.Errorf("the repeated call: code %d, stderr %s", code, stderr)
	}
}

// Without --keep the request of a failed case of the author is kept as well, and the command in
// the report fails in the same way.
func TestPluginTestRepeatsOwnCases(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := clitest.Write(t, map[string]string{"tests/case.json": `{"name": "goes", "items": ["a", "b"], "expect": {"keep": [1]}}`})
	_, stdout, _ := run(t, "", "plugin", "test", goodPlugin, "--short", "--cache-dir", "off", "--cases", filepath.Join(dir, "tests"))
	code, _, stderr := run(t, "", clitest.RepeatCommand(t, stdout)...)
	if want := "the answer is not the expected one: keep: expected [1], got [0,1]"; code != cli.CodeFailure || !strings.Contains(stderr, want) || !strings.Contains(stdout, "keep: expected [1], got [0,1]") {
		t.Errorf("code %d, stderr %s\n%s", code, stderr, stdout)
	}
	if code, _, stderr = run(t, "", append(clitest.RepeatCommand(t, stdout)[:3], "anchor_rerank", "--request", filepath.Join(dir, "tests", "case.json"))...); code == cli.CodeOK {
		t.Errorf("another function than that of the case: %s", stderr)
	}
}

// --update rewrites what cases expect and nothing else, shows the difference, and leaves alone
// cases whose call fails.
func TestPluginTestUpdates(t *testing.T) {
	t.Parallel()
	before := `[
  {"name": "same", "items": ["a"], "expect": {"keep": [0]}},
  {"expect": {
      "keep": [1]
    }, "name": "goes",   "items": ["a <b>", "b"]},
  {"name": "texts", "items": ["a <b>", "b"], "expect": {"texts": ["x"], "order": [1]}},
  {"name": "fails", "items": ["a"], "settings": {"unknown": 1}, "expect": {"keep": []}}
]
`
	dir := clitest.Write(t, map[string]string{"tests/case.json": before})
	flags := []string{"plugin", "test", goodPlugin, "--short", "--cache-dir", "off", "--cases", filepath.Join(dir, "tests"), "--keep", dir}
	code, stdout, stderr := run(t, "", append(flags, "--update")...)
	if code != cli.CodeFailure || strings.Count(stderr, "updated ") != 2 || !strings.Contains(stderr, `"goes": keep: expected [1], got [0,1]`) || !strings.Contains(stderr, `  - {"keep":[1]}`) ||
		strings.Count(stdout, "FAIL own/") != 1 || !strings.Contains(stdout, "FAIL own/fails") {
		t.Errorf("code %d: %s%s", code, stderr, stdout)
	}
	b, err := os.ReadFile(filepath.Join(dir, "tests", "case.json"))
	want := strings.NewReplacer(`{
      "keep": [1]
    }`, `{
    "no_change": true
  }`, `{"texts": ["x"], "order": [1]}`, `{"no_change":true}`).Replace(before)
	if err != nil || string(b) != want {
		t.Errorf("%v: %s\nwant %s", err, b, want)
	}
	if _, stdout, _ = run(t, "", flags...); strings.Count(stdout, "FAIL own/") != 1 {
		t.Errorf("the next run: %s", stdout)
	}
}

// A difference in spaces is shown.
func TestPluginTestKeepsSpaces(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{"case.json": `{"name": "c", "operation": "filter", "items": ["a  b"], "expect": {"texts": ["a b"]}}`})
	_, stdout, _ := run(t, "", "plugin", "test", goodPlugin, "--short", "--cache-dir", "off", "--cases", dir)
	if want := `seen:   texts: expected ["a b"], got ["a  b"]` + "\n"; !strings.Contains(stdout, want) {
		t.Errorf("the report lacks %q:\n%s", want, stdout)
	}
}
