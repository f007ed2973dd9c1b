package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The archive of this platform holds a command that runs, its checksum is right, and a second
// release makes the same bytes.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command twice")
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var archives [2][]byte
	for i := range archives {
		out := t.TempDir()
		if err := release("../..", out, []string{platform}); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(out, "anchor-host_*"))
		if len(found) != 1 {
			t.Fatalf("archives %q, want one", found)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), filepath.Base(found[0])); err != nil || string(sums) != want {
			t.Errorf("SHA256SUMS %q, %v, want %q", sums, err, want)
		}
		archives[i] = data
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two releases of one commit differ")
	}
	if runtime.GOOS == "windows" {
		return
	}
	text, err := exec.Command(unpack(t, archives[0]), "version").Output()
	if version, _ := versionOf("../.."); err != nil || !strings.HasPrefix(string(text), "anchor-host "+version+" ") {
		t.Errorf("version: %q, %v", text, err)
	}
}

// unpack writes the files of an archive and returns the path of the command.
func unpack(t *testing.T, archive []byte) (command string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(h.Name)
		names = append(names, name)
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, os.FileMode(h.Mode)); err != nil {
			t.Fatal(err)
		}
		if name == "anchor-host" {
			command = path
		}
	}
	if got := strings.Join(names, " "); got != "anchor-host LICENSE README.md CHANGELOG.md" {
		t.Fatalf("files %q", got)
	}
	return command
}

func TestReleaseRefuses(t *testing.T) {
	for platform, want := range map[string]string{
		"linux":       "want GOOS/GOARCH",
		"linux/quack": "unsupported GOOS/GOARCH",
	} {
		err := release("../..", t.TempDir(), []string{platform})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", platform, err, want)
		}
	}
}
