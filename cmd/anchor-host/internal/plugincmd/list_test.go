package plugincmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

func TestPluginList(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "", "plugin", "list", "--plugins", clitest.FixtureDir)
	if code != cli.CodeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{"NAME ", "keep-first ", "empty ", " not a WebAssembly module: the file is empty"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the list lacks %q:\n%s", want, stdout)
		}
	}
	for _, format := range []string{"json", "yaml"} {
		if code, stdout, _ := run(t, "", "plugin", "list", "--plugins", clitest.FixtureDir, "-o", format); code != cli.CodeOK || !strings.Contains(stdout, "keep-first") {
			t.Errorf("%s: code %d\n%s", format, code, stdout)
		}
	}
}

func TestPluginInspect(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "", "plugin", "inspect", "keep-first", "--plugins", clitest.FixtureDir)
	if code != cli.CodeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"name         keep-first\n", "portable     yes\n", "  filter: lanes json; reads score and all of the query; writes keep\n",
		"permissions asked for: none\n", "  memory         64MiB ", "  anchor_filter\n", "warnings: none\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	for name, want := range map[string]string{
		"documents": "  provide: lanes json; reads all of the request; writes -\n", "unfolds-items": "  memory: lanes json; reads all of the query; writes items\n",
		"keep-first": "state        reset\n", "foreign": "state        keep\n",
		"writes-table": "state        fresh (it cannot be reset: its code writes to tables)\n",
	} {
		if _, out, _ := run(t, "", "plugin", "inspect", name, "--plugins", clitest.FixtureDir); !strings.Contains(out, want) {
			t.Errorf("%s: the report lacks %q:\n%s", name, want, out)
		}
	}
	folder := filepath.Join(clitest.FixtureDir, "keep-first")
	for _, path := range []string{filepath.Join(folder, "plugin.wasm"), folder} {
		if code, out, _ := run(t, "", "plugin", "inspect", path, "-o", "json"); code != cli.CodeOK || !json.Valid([]byte(out)) {
			t.Errorf("by path %s: code %d\n%s", path, code, out)
		}
	}
	code, _, stderr = run(t, "", "plugin", "inspect", "abi-2", "--plugins", clitest.FixtureDir)
	if code != cli.CodeInvalid || !strings.Contains(stderr, "the module speaks ABI 2, this host ABI 1") {
		t.Errorf("abi-2: code %d, %s", code, stderr)
	}
}

// The report names the parts of the request that a plugin reads.
func TestInspectShowsParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wasm, err := os.ReadFile(filepath.Join(clitest.FixtureDir, "documents", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := "abi: 1\nname: documents\nversion: 0.1.0\noperations: {provide: {reads: [data, messages]}, compact: {reads: [content, summary]}, classify: {reads: [none]}}\n"
	for name, b := range map[string][]byte{"plugin.wasm": wasm, "plugin.yaml": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := run(t, "", "plugin", "inspect", filepath.Join(dir, "plugin.wasm"))
	for _, want := range []string{"  provide: lanes json; reads messages,data; writes -\n", "  compact: lanes json; reads content,summary; writes -\n", "  classify: lanes json; reads none; writes -\n"} {
		if code != cli.CodeOK || !strings.Contains(stdout, want) {
			t.Errorf("code %d, the report lacks %q:\n%s%s", code, want, stdout, stderr)
		}
	}
}

// What cannot be inspected is named as the user named it.
func TestPluginInspectErrors(t *testing.T) {
	t.Chdir(clitest.Write(t, map[string]string{"a.wasm": "nothing of the kind", "project/plugin.yaml": "", "some/one/plugin.wasm": ""}))
	for name, want := range map[string]string{
		"x":           "plugin directory plugins: open: no such file or directory (create it, or set plugins.dir)",
		"project":     `plugin "project" in plugins: file does not exist (what is in this folder has a path: ./project)`,
		"./project":   "./project: no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)",
		"some":        `plugin "some" in plugins: file does not exist (what is in this folder has a path: ./some)`,
		"some/":       "some/: no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)",
		"some/one":    "module some/one/plugin.wasm: not a WebAssembly module: the file is empty",
		"some/two":    "module some/two: read: no such file or directory (give the path of a module)",
		"nope.wasm":   "module nope.wasm: read: no such file or directory (give the path of a module)",
		"a/nope.wasm": "module a/nope.wasm: open: no such file or directory (give the path of a module)",
		"a.wasm":      "module a.wasm: not a WebAssembly module: text (give the compiled .wasm)",
	} {
		code, _, stderr := run(t, "", "plugin", "inspect", name)
		if want := "anchor-host: " + want + "\n"; code == cli.CodeOK || stderr != want {
			t.Errorf("%s: code %d, %q, want %q", name, code, stderr, want)
		}
	}
}
