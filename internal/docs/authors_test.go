package docs_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// authored are the plugins of testdata/authors: their languages, and the programs of these
// that tools/toolchains installs.
var authored = map[string]struct {
	language string
	programs []string
}{
	"query-language":  {"go", nil},
	"rune-tokens":     {"tinygo", []string{"tinygo"}},
	"phrase-boost":    {"rust", []string{"cargo"}},
	"by-source":       {"c", []string{"clang"}},
	"first-words":     {"cpp", []string{"clang++"}},
	"cited-list":      {"zig", []string{"zig"}},
	"last-words":      {"ts", []string{"asc"}},
	"expand-acronyms": {"js", []string{"wasm-merge"}},
	"house-rules":     {"wat", []string{"wat2wasm"}},
	"high-priority":   {"c", []string{"clang"}},
}

// TestAuthoringPlugins builds and tests the plugins of testdata/authors with the commands that
// an author uses.
func TestAuthoringPlugins(t *testing.T) {
	needPages(t)
	t.Parallel()
	authors := filepath.Join(root, "testdata", "authors")
	folders, err := filepath.Glob(filepath.Join(authors, "*", "plugin.yaml"))
	if err != nil || len(folders) != len(authored) {
		t.Errorf("%s has %d plugins, want %d, %v", authors, len(folders), len(authored), err)
	}
	command := testbuild.Command(t)
	for name, p := range authored {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := []string{"PATH=" + toolPath(t, p.language, p.programs)}
			dir, out := filepath.Join(authors, name), t.TempDir()
			module := filepath.Join(out, name+".wasm")
			if name == "high-priority" {
				built := filepath.Join(out, "built.wasm")
				runCommand(t, path, "clang", "--target=wasm32", "-O2", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry",
					"-I"+filepath.Join(root, "sdk", "pdk-c"), "-o", built, filepath.Join(dir, "keep.c"))
				runCommand(t, path, command, "plugin", "build", built, filepath.Join(dir, "plugin.yaml"), "-o", out+"/")
			} else {
				runCommand(t, path, command, "plugin", "build", dir, "-o", out+"/")
			}
			said := runCommand(t, path, command, "plugin", "test", "--short", module, "--cases", filepath.Join(dir, "tests"))
			if !strings.Contains(said, "\nown/") || !strings.Contains(said, " 0 failed") {
				t.Errorf("plugin test ran no case of the author, or failed:\n%s", said)
			}
		})
	}
}

// runCommand runs a command with further variables and returns what it prints. The variable PATH
// holds for the lookup of the program, too.
func runCommand(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "env", append(slices.Clone(env), args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
