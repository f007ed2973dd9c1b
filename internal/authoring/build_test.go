package authoring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// newProject writes a project into a new folder.
func newProject(t *testing.T, language, kind string) (dir string) {
	t.Helper()
	dir, err := New(Project{Name: "my-plugin", Language: language, Kind: kind, Dir: filepath.Join(t.TempDir(), "my-plugin")})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A new project builds, twice to the same module, and is one file.
func TestBuild(t *testing.T) {
	dir := newProject(t, "go", "filter")
	built, err := Build(t.Context(), BuildOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "build", "my-plugin.wasm"); built.Path != want || built.Title != "Go" {
		t.Errorf("built %s in %s, want %s", built.Path, built.Title, want)
	}
	spec, err := spec.ReadFile(built.Path)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Name != "my-plugin" || spec.ManifestFrom != "module" || spec.Digest != built.Spec.Digest || len(spec.Warnings) != 0 {
		t.Errorf("read back %+v", spec)
	}
	if o, err := spec.Operation(abi.OpFilter); err != nil || len(o.Lanes) != 2 {
		t.Errorf("operations %+v", spec.Operations)
	}
	var commands []string
	other := filepath.Join(t.TempDir(), "plugins", "other.wasm")
	again, err := Build(t.Context(), BuildOptions{
		Dir: dir, Output: other, KeepManifest: true, Language: "go",
		Commands: func(c Command) { commands = append(commands, c.Name()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if again.Spec.Digest != spec.Digest || again.Path != other || len(commands) != 1 || commands[0] != "go build" {
		t.Errorf("the second build: %+v, commands %v", again, commands)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(other), "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[1]) != ManifestFile {
		t.Errorf("the folder holds %v, %v; want the module and its manifest", left, err)
	}
}

func TestOutput(t *testing.T) {
	there := t.TempDir()
	for _, c := range []struct{ output, want string }{
		{"", filepath.Join("project", "build", "p.wasm")},
		{"out.wasm", "out.wasm"},
		{there, filepath.Join(there, "p.wasm")},
		{"plugins/", filepath.Join("plugins", "p.wasm")},
	} {
		j := job{options: BuildOptions{Dir: "project", Output: c.output}, toolchain: goToolchain}
		if got := j.output("p.wasm"); got != c.want {
			t.Errorf("%q: got %s, want %s", c.output, got, c.want)
		}
	}
}

// A quick build that makes another module has a folder of its own for it.
func TestQuickBuilds(t *testing.T) {
	for _, toolchain := range Toolchains {
		if toolchain.commands == nil { // it has no quick build
			continue
		}
		var both [2]string
		for i, quick := range []bool{false, true} {
			j := job{options: BuildOptions{Dir: "project", Quick: quick}, toolchain: toolchain, dir: t.TempDir(), work: t.TempDir(), out: "out"}
			commands, err := toolchain.commands(&j)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range commands {
				both[i] += strings.NewReplacer(j.dir, "", j.work, "").Replace(c.String()) + "\n"
			}
			if want := filepath.Join("project", "build", "p.wasm"); !quick && j.output("p.wasm") != want {
				t.Errorf("%s: %s, want %s", toolchain.Language, j.output("p.wasm"), want)
			}
			other := quick && both[0] != both[1]
			if want := filepath.Join("project", "build", "dev", "p.wasm"); (j.output("p.wasm") == want) != other || (j.leftOut() != "") != other {
				t.Errorf("%s, quick %t: %s; left out %q; the commands are others: %t", toolchain.Language, quick, j.output("p.wasm"), j.leftOut(), other)
			}
		}
	}
}

func TestBuildErrors(t *testing.T) {
	broken := newProject(t, "go", "filter")
	if err := os.WriteFile(filepath.Join(broken, "main.go"), []byte("package main\n\nfunc main() { missing() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := newProject(t, "go", "filter")
	if err := os.WriteFile(filepath.Join(empty, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := newProject(t, "go", "filter")
	if err := os.WriteFile(filepath.Join(wrong, ManifestFile), []byte("abi: 1\nname: my-plugin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		o         BuildOptions
		is        error
		want, say string
	}{
		{"does not compile", BuildOptions{Dir: broken}, nil,
			"build my-plugin: go build: exit status 1 (see its messages above)", "undefined: missing"},
		{"is no plugin", BuildOptions{Dir: empty}, spec.ErrABIVersion, `build my-plugin: there is a manifest, but the module does not export "anchor_abi_1" (no operation is exported by the helper library; a guest without one exports it as an empty function); in Go: call filter.Each(keep) of sdk/pdk-go/filter`, ""},
		{"manifest", BuildOptions{Dir: wrong}, nil, "plugin.yaml:1:1: version: is missing", ""},
		{"Python", BuildOptions{Dir: broken, Language: "Python"}, ErrLanguage, `language "Python": unknown language (did you mean "python"?)`, ""},
		{"language", BuildOptions{Dir: broken, Language: "cobol"}, ErrLanguage, `language "cobol": unknown language`, ""},
		{"folder", BuildOptions{Dir: filepath.Join(empty, "gone")}, os.ErrNotExist, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said bytes.Buffer
			c.o.Messages = &said
			_, err := Build(t.Context(), c.o)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if !strings.Contains(said.String(), c.say) {
				t.Errorf("said %q, want %q", said.String(), c.say)
			}
			if exists(filepath.Join(c.o.Dir, "build")) {
				t.Error("something was written")
			}
		})
	}
	_, err := Build(t.Context(), BuildOptions{Dir: wrong})
	if problems := (strict.Problems)(nil); !errors.As(err, &problems) || problems[0].Pos.Line != 1 {
		t.Errorf("the problem of a manifest has no place: %v", err)
	}
}

func TestBuildWithoutToolchain(t *testing.T) {
	dir := newProject(t, "go", "filter")
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), BuildOptions{Dir: dir})
	const want = "Go: go: not installed (get Go 1.25 or newer from https://go.dev/dl, or: brew install go; in the repository of anchor-host: tools/toolchains/go.sh)"
	if !errors.Is(err, ErrMissing) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The module of a project's Go helper asks for the versions this module has. An older Go
// is enough for it.
func TestGoHelperVersions(t *testing.T) {
	for own, copied := range map[string][]byte{"go.mod": goHelperModule, "go.sum": goHelperSums} {
		root, err := os.ReadFile(filepath.Join("..", "..", own))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(copied)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
			if line != "" && !strings.HasPrefix(line, "go ") && !strings.Contains(string(root), line) {
				t.Errorf("the helper's %s has %q, which this module's has not", own, line)
			}
		}
	}
}

// A module may go to what is no file: it is written to, not replaced.
func TestOutputToADevice(t *testing.T) {
	if err := replaceFile(os.DevNull, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is %v, %v", os.DevNull, info, err)
	}
	if err := replaceFile(t.TempDir(), nil); err == nil {
		t.Error("a folder was written to")
	}
}

// A project without its helper library is built in a copy, which has the files
// that links lead to.
func TestSourceFollowsLinks(t *testing.T) {
	project, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(elsewhere, []byte("package main"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(project, "main.go")); err != nil {
		t.Skip(err)
	}
	j := job{dir: project, work: t.TempDir(), toolchain: goToolchain}
	dir, err := j.source()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, "main.go"))
	if err != nil || !info.Mode().IsRegular() || !exists(filepath.Join(dir, helperDir)) {
		t.Errorf("main.go is %v, %v", info, err)
	}
}
