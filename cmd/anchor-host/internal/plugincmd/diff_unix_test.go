//go:build unix

package plugincmd

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// Two versions are compared by their manifests, and by their answers to a recorded call.
func TestPluginDiff(t *testing.T) {
	t.Chdir(t.TempDir())
	before := clitest.Plugin(t, "no-change", clitest.Version("1.0.0", ""), spec.Texts{})
	after := clitest.Plugin(t, "keep-first", func(m string) string {
		return clitest.Version("1.0.1", clitest.OneMore)(strings.Replace(m, "name: keep-first", "name: no-change", 1))
	}, spec.Texts{})
	if err := os.WriteFile("input.json", []byte(`{"query":{"query_str":"q"},"columns":["score"],"items":[{"score":0.5},{"score":0.4}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "plugin", "call", before, "anchor_filter", "--input-file", "input.json", "--record", "cases"); code != cli.CodeOK {
		t.Fatal(stderr)
	}
	recorded := clitest.Read(t, "cases/no-change-filter-001.json")
	if !strings.Contains(string(recorded), `"plugin": "no-change"`) {
		t.Fatalf("the case names no plugin: %s", recorded)
	}
	foreign := strings.NewReplacer(`"plugin": "no-change"`, `"plugin": "other"`, "filter-001", "other").Replace(string(recorded))
	if err := os.WriteFile("cases/other.json", []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "", "plugin", "diff", before, after, "--cases", "cases", "-o", "json")
	if code != cli.CodeOK {
		t.Fatal(stderr)
	}
	type side struct {
		Fuel     int64
		Output   json.RawMessage
		NoChange bool `json:"no_change"`
		Error    string
		Plugin   string
		Version  string
	}
	var d struct {
		Old, New         side
		Level            string
		VersionError     string   `json:"version_error"`
		PermissionsAdded []string `json:"permissions_added"`
		Manifest         []struct{ Path string }
		Changed          int `json:"changed_answers"`
		Cases            []struct {
			Same     bool
			Old, New side
		}
	}
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Level != "major" || !strings.Contains(d.VersionError, "want at least 2.0.0") || len(d.PermissionsAdded) != 1 || d.PermissionsAdded[0] != "service llm" || len(d.Manifest) == 0 {
		t.Errorf("%s", stdout)
	}
	if len(d.Cases) != 1 || d.Changed != 1 || d.Cases[0].Same || !d.Cases[0].Old.NoChange || len(d.Cases[0].New.Output) == 0 || d.Old.Fuel <= 0 || d.New.Fuel <= 0 {
		t.Errorf("%s", stdout)
	}
	code, stdout, _ = run(t, "", "plugin", "diff", before, after, "--cases", "cases")
	for _, want := range []string{"at least a major version", "+ service llm", "1 of 1 have another answer", "- no change"} {
		if code != cli.CodeOK || !strings.Contains(stdout, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
	if code, stdout, _ := run(t, "", "plugin", "diff", before, before, "--cases", "cases", "-o", "json"); code != cli.CodeOK || !strings.Contains(stdout, `"same": true`) || strings.Contains(stdout, "version_error") {
		t.Errorf("with itself: %s", stdout)
	}
}

// plugin diff pulls what is named by a reference, and says which digest it was.
func TestPluginDiffOfReferences(t *testing.T) {
	r, repository := clitest.NewRegistry(t)
	before, after := clitest.Quiet(t, "1.0.0", ""), clitest.Quiet(t, "1.1.0", clitest.OneMore)
	extism := filepath.Join(clitest.FixtureDir, "extism-imports-old/plugin.wasm")
	code, _, stderr := run(t, "", "plugin", "publish", "--unchecked", "--unsigned", before, repository, "-o", "xml")
	if code != cli.CodeUsage || r.Len() > 0 {
		t.Errorf("publish -o xml: code %d, %d parts, %s", code, r.Len(), stderr)
	}
	for _, file := range []string{before, after} {
		if code, _, stderr := run(t, "", "plugin", "publish", "--unchecked", "--unsigned", file, repository); code != cli.CodeOK {
			t.Fatal(stderr)
		}
	}
	both := func(targets ...string) (files [2]string) {
		t.Helper()
		code, stdout, stderr := run(t, "", append([]string{"plugin", "diff", "-o", "json"}, targets...)...)
		var d struct {
			Old, New struct{ File string }
			Added    []string `json:"permissions_added"`
			Error    string   `json:"version_error"`
		}
		if err := json.Unmarshal([]byte(stdout), &d); code != cli.CodeOK || err != nil || !slices.Equal(d.Added, []string{"service llm"}) || !strings.Contains(d.Error, "want at least 2.0.0") {
			t.Fatalf("%q: %s%s", targets, stdout, stderr)
		}
		return [2]string{d.Old.File, d.New.File}
	}
	files := both(repository+":1.0.0", repository+":1.1.0")
	for _, from := range files {
		if !strings.HasPrefix(from, repository+":1.") || !strings.Contains(from, "@sha256:") {
			t.Errorf("from %s", from)
		}
	}
	if got := both("--offline", files[0], after); got != [2]string{files[0], after} {
		t.Errorf("%q", got)
	}
	code, _, stderr = run(t, "", "plugin", "diff", before, repository+":3.0.0")
	if code != cli.CodeNotFound || !strings.Contains(stderr, ":3.0.0") {
		t.Errorf("code %d: %s", code, stderr)
	}
	code, stdout, _ := run(t, "", "plugin", "diff", before, files[1])
	if code != cli.CodeOK || !strings.HasPrefix(stdout, "OLD "+before+"\nNEW "+files[1]+"\n") {
		t.Errorf("code %d: %s", code, stdout)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{before, after, "--offline"}, cli.CodeUsage, "flag --offline: is for references"},
		{[]string{before, "127.0.0.1:1/acme/p:1.0.0"}, cli.CodeNotFound, "or a reference that begins with oci://"},
		{[]string{"oci://localhost:1/never/asked:1", "missing.wasm"}, cli.CodeNotFound, "missing.wasm"},
		{[]string{before, extism}, cli.CodeInvalid, "does not export \"anchor_abi_1\" (only plugins"},
	} {
		code, stdout, stderr := run(t, "", append([]string{"plugin", "diff"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: code %d, %s%s", c.args, code, stdout, stderr)
		}
	}
	if code, _, stderr = run(t, "", "plugin", "diff", "oci://", after); code != cli.CodeInvalid || !strings.Contains(stderr, "oci://") {
		t.Errorf("code %d: %s", code, stderr)
	}
}

// The settings.json and http.json of a folder of cases count in plugin diff as in plugin test, and
// calls that fail with both versions are told from equal answers.
func TestPluginDiffReadsTheWholeFolder(t *testing.T) {
	t.Parallel()
	keepBest := filepath.Join(testbuild.Root(), "plugins/starter/keep-best")
	sends := clitest.Plugin(t, "http-ungranted", func(m string) string {
		return m + "permissions:\n  - {kind: http, hosts: [\"http://127.0.0.1:1\"], reason: to ask}\n"
	}, spec.Texts{})
	const answer = `[{"request":{"url":"http://127.0.0.1:1/"},"response":{"status":200,"body":"x"}}]`
	for name, c := range map[string]struct {
		file, test string
		files      map[string]string
		want       []string
	}{
		"defaults": {keepBest, `"items":[{"content":"a","score":1},{"content":"b","score":0.8}]`, nil, []string{`"keep": [ 0, 1 ]`, `"failed_with_both": 0`}},
		"settings": {keepBest, `"items":[{"content":"a","score":1},{"content":"b","score":0.8}]`,
			map[string]string{"settings.json": `{"filter":{"share":0.9}}`}, []string{`"keep": [ 0 ]`, `"same": true`}},
		"refused settings": {keepBest, `"items":["a"]`, map[string]string{"settings.json": `{"filter":{"share":9}}`}, []string{`"failed_with_both": 1`, "share"}},
		"no answer":        {sends, `"items":["a"]`, nil, []string{`"failed_with_both": 1`, `"unlisted_requests": [ "GET http://127.0.0.1:1/" ]`}},
		"no service":       {filepath.Join(clitest.FixtureDir, "services"), `"services":[{"service":"embed","request":{"texts":["zzz"]},"answer":{}}]`, nil, []string{`"failed_with_both": 1`, `"unlisted_requests": [ "embed `}},
		"answer":           {sends, `"items":["a"]`, map[string]string{"http.json": answer}, []string{`"no_change": true`, `"failed_with_both": 0`}},
	} {
		dir := t.TempDir()
		operation, expect := "filter", `{"no_change":true}`
		if name == "no service" {
			operation, expect = "retrieve", `{"texts":[]}`
		}
		texts := map[string]string{"case.json": `{"name":"case","operation":"` + operation + `",` + c.test + `,"expect":` + expect + `}`}
		maps.Copy(texts, c.files)
		for file, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, stdout, stderr := run(t, "", "plugin", "diff", c.file, c.file, "--cases", dir, "-o", "json")
		for _, want := range c.want {
			if code != cli.CodeOK || !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
				t.Errorf("%s: code %d, no %q in %s%s", name, code, want, stdout, stderr)
			}
		}
		_, stdout, _ = run(t, "", "plugin", "diff", c.file, c.file, "--cases", dir)
		if fails := strings.Contains(c.want[0], `both": 1`); fails != strings.Contains(stdout, "cases: 1 of 1 fail with both, which compares nothing\n  case\n    - ") || !strings.Contains(stdout, "cases: 0 of 1 have another answer\n") {
			t.Errorf("%s: %s", name, stdout)
		}
	}
}

// plugin test runs the recorded calls of its plugin and leaves out those of others.
func TestPluginTestLeavesOutOtherPlugins(t *testing.T) {
	t.Parallel()
	file := clitest.Plugin(t, "no-change", clitest.Version("1.0.0", ""), spec.Texts{})
	for _, c := range []struct {
		owners []string
		code   int
		want   string
	}{
		{[]string{"no-change", "other"}, cli.CodeOK, "1 case of other plugins left out"},
		{[]string{"other", "third"}, cli.CodeNotFound, `the folder has those of ["other" "third"]`},
	} {
		dir := t.TempDir()
		for _, owner := range c.owners {
			text := `{"name":"` + owner + `","plugin":"` + owner + `","operation":"filter","items":["a"],"expect":{"no_change":true}}`
			if err := os.WriteFile(filepath.Join(dir, owner+".json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, stdout, stderr := run(t, "", "plugin", "test", "--short", "--cases", dir, file)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout, "own/other") {
			t.Errorf("%v: code %d, %s%s", c.owners, code, stdout, stderr)
		}
	}
}

// inspect shows the texts of a module, and list marks what is deprecated.
func TestPluginTexts(t *testing.T) {
	t.Parallel()
	file := clitest.Plugin(t, "no-change", clitest.Version("1.0.0", "\ndeprecated: use keep-best\n"), spec.Texts{Readme: "# One\n\x1b[31mtwo\n"})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"inspect", file}, cli.CodeOK, "1.0.0 (deprecated: use keep-best)"},
		{[]string{"inspect", file}, cli.CodeOK, "2 lines (shown by --readme)"},
		{[]string{"inspect", "--readme", file}, cli.CodeOK, "# One\n"},
		{[]string{"inspect", "--changelog", file}, cli.CodeNotFound, "changelog"},
		{[]string{"inspect", "-o", "json", file}, cli.CodeOK, `"readme": "# One`},
		{[]string{"list", "--plugins", filepath.Dir(file)}, cli.CodeOK, "deprecated: use keep-best"},
	} {
		code, stdout, stderr := run(t, "", append([]string{"plugin"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Contains(stdout, "\x1b") {
			t.Errorf("%v: code %d, %q %s", c.args, code, stdout, stderr)
		}
	}
}
