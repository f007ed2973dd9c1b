package authoring

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// After a failed build the module of an earlier one is not there to be tested, unless it lies
// where the author said.
func TestFailedBuildLeavesNoOldModule(t *testing.T) {
	dir := oddlyNamed(t, newProject(t, "go", "filter"))
	own := filepath.Join(dir, "build", "my-plugin.wasm")
	elsewhere := filepath.Join(t.TempDir(), "mine.wasm")
	for _, file := range []string{own, elsewhere} {
		if err := writeNew(file, []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	standIn(t, "go", "exit 1\n")
	if _, err := Build(t.Context(), BuildOptions{Dir: dir}); err == nil || exists(own) {
		t.Errorf("got %v; the old module is there: %v", err, exists(own))
	}
	_, err := Build(t.Context(), BuildOptions{Dir: dir, Output: elsewhere})
	if err == nil || !strings.Contains(err.Error(), elsewhere+" is of an earlier build") || !exists(elsewhere) {
		t.Errorf("got %v, want an error that says whose module there is", err)
	}
	if err := writeNew(own, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte("abi: 1\nname: my-plugin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), BuildOptions{Dir: dir}); err == nil || errors.Is(err, os.ErrNotExist) || exists(own) {
		t.Errorf("got %v after a mistake in the manifest; the old module is there: %v", err, exists(own))
	}
	if err := writeNew(own, []byte("old")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), BuildOptions{Dir: dir}); !errors.Is(err, ErrMissing) || exists(own) {
		t.Errorf("got %v without a toolchain; the old module is there: %v", err, exists(own))
	}
}
