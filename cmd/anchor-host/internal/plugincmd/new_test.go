package plugincmd

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
)

// From nothing to a module that a build can use, with the commands that each
// step names.
func TestPluginNewAndBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, "", "plugin", "new", "keep-best")
	const next = `anchor-host: written to keep-best; next:
anchor-host:   cd keep-best
anchor-host:   anchor-host plugin build
anchor-host:   anchor-host plugin test build/keep-best.wasm
`
	if code != cli.CodeOK || stdout != "keep-best\n" || filepath.ToSlash(stderr) != next {
		t.Fatalf("new: code %d, %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, "", "plugin", "build", "-v", "keep-best")
	if code != cli.CodeOK || !strings.Contains(stderr, "+ GOOS=wasip1 GOARCH=wasm ") {
		t.Fatalf("build: code %d, %s", code, stderr)
	}
	module := filepath.Join("keep-best", "build", "keep-best.wasm")
	for _, want := range []string{"plugin  keep-best 0.1.0, in Go\n", "file    " + module + "\n", "size    ", "time    ", "digest  sha256:"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("build prints no %q:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = run(t, "", "plugin", "list", "--plugins", filepath.Join("keep-best", "build"))
	if code != cli.CodeOK || !strings.Contains(stdout, "keep-best  0.1.0    filter      json,batch") {
		t.Errorf("list: code %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = run(t, "", "plugin", "build", "-o", "other.wasm", "--keep-manifest-file", "keep-best")
	if code != cli.CodeOK || !strings.Contains(stderr, "anchor-host: warning: in a plugin folder the file must be keep-best.wasm, or plugin.wasm in a folder keep-best\n") {
		t.Errorf("build to another name: code %d, %s", code, stderr)
	}
	for _, file := range []string{"other.wasm", "plugin.yaml"} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("module or manifest was not written: %v", err)
		}
	}
}

// What to do next can be pasted into a shell.
func TestPluginNewQuotesItsFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, "", "plugin", "new", "p", "--lang", "wat", "--dir", "my plugin")
	if code != cli.CodeOK || stdout != "my plugin\n" || !strings.Contains(stderr, "  cd 'my plugin'\n") {
		t.Errorf("code %d, %q, %q", code, stdout, stderr)
	}
}

func TestPluginNewErrors(t *testing.T) {
	t.Chdir(clitest.Write(t, map[string]string{"taken/mine.txt": "keep"}))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no name", nil, cli.CodeUsage, "missing argument NAME (want NAME) (see: anchor-host plugin new --help)"},
		{"name", []string{"Best"}, cli.CodeUsage, `"Best": not a plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64) (see: anchor-host plugin new --help)`},
		{"language", []string{"best", "--lang", "ruts"}, cli.CodeUsage, `language "ruts": unknown language (did you mean "rust"?)`},
		{"kind", []string{"best", "--kind", "sort"}, cli.CodeUsage, `kind "sort": no such kind in Go`},
		{"folder", []string{"best", "--dir", "taken"}, cli.CodeFailure, "taken: file already exists and is not empty (choose another name, or a folder with --dir)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"plugin", "new"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d, %q, %q; want %d, %s", code, stdout, stderr, c.code, c.want)
			}
		})
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

func TestPluginBuildErrors(t *testing.T) {
	const manifest = "abi: 1\nname: p\nversion: 0.1.0\noperations: {filter: {reads: [text]}}\n"
	t.Chdir(clitest.Write(t, map[string]string{
		"wrong/plugin.yaml": "abi: 1\nname: p\nversion: 0.1.0\noperations:\n  filtre: {reads: [text]}\n", "wrong/main.go": "package main",
		"none/main.go": "package main", "empty/plugin.yaml": manifest, "tool/plugin.yaml": manifest, "tool/plugin.wat": "(module)",
	}))
	t.Setenv("PATH", goPath(t))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"manifest", []string{"wrong"}, cli.CodeInvalid, filepath.Join("wrong", "plugin.yaml") + `:5:3: operations.filtre: unknown key (did you mean "filter"?)`},
		{"no manifest", []string{"none"}, cli.CodeNotFound, filepath.Join("none", "plugin.yaml") + ": file does not exist (a project has one; write a project with: anchor-host plugin new)"},
		{"no source", []string{"empty"}, cli.CodeFailure, "empty: unknown language: it has none of go.mod, "},
		{"no folder", []string{"gone"}, cli.CodeNotFound, "gone"},
		{"language", []string{"wrong", "--lang", "cobol"}, cli.CodeUsage, `flag --lang: language "cobol": unknown language`},
		{"no toolchain", []string{"tool"}, cli.CodeFailure, "WAT: wat2wasm: not installed (on Debian: apt-get install wabt; on macOS: brew install wabt; anywhere: npm install wabt; in the repository of anchor-host: tools/toolchains/wat.sh)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"plugin", "build"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("code %d, %q, %q; want %d, %s", code, stdout, stderr, c.code, c.want)
			}
		})
	}
}

// goPath is a PATH with nothing but a program named go.
func goPath(t *testing.T) string {
	t.Helper()
	name := "go"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dir := clitest.Write(t, map[string]string{name: "#!/bin/sh\nexit 1\n"})
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
