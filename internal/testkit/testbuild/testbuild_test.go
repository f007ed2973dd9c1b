package testbuild

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source makes a source folder in the checkout's build folder, which git ignores.
func source(t *testing.T) (path string) {
	t.Helper()
	all := filepath.Join(Root(), "build", "test")
	if err := os.MkdirAll(all, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(all, "source-*") //nolint:usetesting // the sources of testbuild are in the checkout
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover in the build folder is no failure
	write(t, dir, "main.go", "package main")
	path, err = filepath.Rel(Root(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What was built is found again until a source changes. A test file is no source.
func TestFind(t *testing.T) {
	from := source(t)
	built := 0
	find := func() string {
		t.Helper()
		dir, err := find("testbuild", []string{from}, func(dir string) error {
			built++
			return os.WriteFile(filepath.Join(dir, "out"), nil, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if _, err := os.Stat(filepath.Join(dir, "out")); err != nil {
			t.Errorf("what was built: %v", err)
		}
		return dir
	}
	first := find()
	write(t, filepath.Join(Root(), from), "main_test.go", "package main")
	if again := find(); again != first || built != 1 {
		t.Errorf("the same sources: %s after %s, built %d times, want the same folder, built once", again, first, built)
	}
	write(t, filepath.Join(Root(), from), "main.go", "package main // changed")
	if other := find(); other == first || built != 2 {
		t.Errorf("changed sources: %s after %s, built %d times, want another folder, built again", other, first, built)
	}
}

// A build that fails leaves nothing that a later test would take for its result.
func TestFailedBuild(t *testing.T) {
	from, boom := []string{source(t)}, errors.New("boom")
	dir, err := find("testbuild", from, func(dir string) error { return boom })
	if !errors.Is(err, boom) {
		t.Fatalf("find: %q, %v, want the error of the build", dir, err)
	}
	dir, err = find("testbuild", from, func(dir string) error { return nil })
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err != nil {
		t.Fatalf("find after a failure: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "testbuild.new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestGoSaysWhatFailed(t *testing.T) {
	err := Go(nil, "build", "./no-such-folder")
	if err == nil || !strings.Contains(err.Error(), "go build ./no-such-folder") || !strings.Contains(err.Error(), "no-such-folder: directory not found") {
		t.Errorf("error: %v, want the command and what it printed", err)
	}
}

// What a program is made of is rebuilt when it changes: the lists of folders here and in the
// Makefile name all of its packages.
func TestSources(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(Root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, found, _ := strings.Cut(string(makefile), "COMMAND_FILES := $(shell find ")
	found, _, _ = strings.Cut(found, " -type f")
	for _, c := range []struct {
		of, program string
		folders     []string
	}{
		{"commandSources", "./cmd/anchor-host", commandSources},
		{"COMMAND_FILES of the Makefile", "./cmd/anchor-host", strings.Fields(found)},
		{"hostSources", "./host", hostSources},
		{"guestSources", "./testdata/guests/allops", append(guestSources, "testdata/guests")},
	} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", c.program)
		cmd.Dir = Root()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("list the packages of %s: %v", c.program, err)
		}
		packages := strings.Fields(string(out))
		if len(packages) < 3 {
			t.Fatalf("packages of %s: %q, want all that it is made of", c.program, packages)
		}
		for _, p := range packages {
			folder := strings.TrimPrefix(p, "github.com/anchor-host/anchor-host/")
			if !slices.ContainsFunc(c.folders, func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") }) {
				t.Errorf("%s: %v has no folder of %s, which %s imports", c.of, c.folders, folder, c.program)
			}
		}
	}
}
