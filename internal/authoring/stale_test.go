package authoring

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/pybuild"
)

// standIn puts a program into PATH that runs a script, in place of a compiler.
func standIn(t *testing.T, name, script string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// oddlyNamed moves a project to a folder whose path has the characters of patterns.
func oddlyNamed(t *testing.T, project string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my [old] {plugins}", "p")
	if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(project, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A module that an earlier build left in target is not the result of this build.
func TestCargoThatWritesNoModule(t *testing.T) {
	dir := oddlyNamed(t, newProject(t, "rust", "filter"))
	release := filepath.Join(dir, "target", rustTarget, "release")
	if err := writeNew(filepath.Join(release, "my_plugin.wasm"), []byte("old")); err != nil {
		t.Fatal(err)
	}
	standIn(t, "cargo", "exit 0\n")
	j := &job{options: BuildOptions{Dir: dir}, toolchain: rustToolchain, dir: dir, work: t.TempDir(), programs: map[string]string{"cargo": "cargo"}}
	j.out = filepath.Join(j.work, "plugin.wasm")
	wasm, err := j.compile(t.Context())
	if err == nil || !strings.Contains(err.Error(), "crate-type") {
		t.Errorf("got the module %q, %v; want an error that names crate-type", wasm, err)
	}
}

// A build that fails, for whatever reason, leaves the module of an earlier one as it is, and says that it is one.
func TestFailedBuildKeepsTheOldModule(t *testing.T) {
	for _, language := range []string{"go", "python"} {
		for _, place := range []string{"", filepath.Join(t.TempDir(), "mine.wasm")} {
			dir := oddlyNamed(t, newProject(t, language, "filter"))
			old := cmp.Or(place, filepath.Join(dir, "build", "my-plugin.wasm"))
			if err := writeNew(old, []byte("old")); err != nil {
				t.Fatal(err)
			}
			fails := func(why string, says bool) {
				t.Helper()
				_, err := Build(t.Context(), BuildOptions{Dir: dir, Output: place})
				if err == nil || strings.Contains(err.Error(), old+" is of an earlier build") != says {
					t.Errorf("%s, %s: got %v; want an error that names the old module: %t", language, why, err, says)
				}
				if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
					t.Errorf("%s, %s: the old module is %q, %v", language, why, text, err)
				}
			}
			standIn(t, "go", "exit 1\n")
			standIn(t, "componentize-py", "[ $1 = --version ] && echo componentize-py "+pybuild.Version+" && exit 0\nexit 1\n")
			fails("a compiler that fails", true)
			if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte("abi: 1\nname: my-plugin\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			fails("a mistake in the manifest", false)
			t.Setenv("PATH", t.TempDir())
			fails("no toolchain", false)
		}
	}
}
