package registrycmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

func TestSuspicious(t *testing.T) {
	entry := func(version, module string) *lock.Entry { return &lock.Entry{Version: version, Module: module} }
	for _, each := range []struct {
		old, update *lock.Entry
		want        string
	}{
		{entry("1.0.0", "a"), entry("1.0.1", "b"), ""},
		{entry("1.0.0", "a"), entry("1.0.0", "a"), ""},
		{entry("1.0.0", "a"), entry("1.0.0", "b"), "is another file of the same version"},
		{entry("1.1.0", "a"), entry("1.0.9", "b"), "is older"},
		{entry("1.0.0", "a"), entry("1.0.0-rc.1", "b"), "is older"},
		{entry("", "a"), entry("1.0.0", "b"), ""},
	} {
		if got := suspicious(each.old, each.update); got != each.want {
			t.Errorf("%+v after %+v: %q, want %q", each.update, each.old, got, each.want)
		}
	}
}

func TestNameOf(t *testing.T) {
	f := &lock.File{Plugins: []lock.Entry{{Name: "bm25", Reference: "oci://ghcr.io/acme/bm25:1", Version: "1.0.0"}, {Name: "own"}}}
	of := func(place, name, version string) *job {
		return &job{ref: registry.Reference{Host: "ghcr.io", Repository: "acme/x"}, name: place, entry: lock.Entry{Name: name, Version: version}}
	}
	for _, each := range []struct {
		job        *job
		want, fail string
	}{
		{job: of("", "mmr", "1.0.0"), want: "mmr"},
		{job: of("bm25", "bm25", "2.0.0"), want: "bm25"},
		{job: of("", "bm25", "2.0.0"), want: "bm25@2.0.0"},
		{job: of("bm25", "mmr", "2.0.0"), fail: `is the plugin "mmr"`},
		{job: of("", "own", "2.0.0"), fail: "locked as a file"},
		{job: of("", "bm25", ""), fail: "has no version"},
		{job: of("", "bm25", "../../x"), fail: "has no version"},
	} {
		got, err := (&session{}).nameOf(f, each.job)
		if got != each.want || (err == nil) != (each.fail == "") || err != nil && !strings.Contains(err.Error(), each.fail) {
			t.Errorf("%+v: %q, %v", each.job.entry, got, err)
		}
	}
}

// What save cannot write is named as the user named it, and what the cache lacks with the command that
// gets it. Nothing is left behind.
func TestSaveErrors(t *testing.T) {
	cache, err := registry.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, device := t.TempDir(), filepath.Join(t.TempDir(), "device")
	if err := os.Symlink(os.DevNull, device); err != nil { // a mistake replaces the link, not the device
		t.Skip(err)
	}
	var refs []registry.Reference
	for _, name := range []string{"bm25", "mmr"} {
		refs = append(refs, registry.Reference{Host: "ghcr.io", Repository: "acme/" + name, Tag: "1.2", Digest: "sha256:" + strings.Repeat("0", 64)})
	}
	hint := func(ref registry.Reference) string {
		return "(with: anchor-host plugin save " + ref.String() + ", without --offline)"
	}
	for _, each := range []struct {
		file string
		refs []registry.Reference
		want []string
	}{
		{dir, nil, []string{"save: write " + dir + ": is a folder (name a file)"}},
		{device, nil, []string{"save: write " + device + ": is not a regular file (name a file)"}},
		{filepath.Join(dir, "none", "x.tar"), nil, []string{"save: write " + filepath.Join(dir, "none", "x.tar") + ": "}},
		{filepath.Join(dir, "x.tar"), refs, []string{hint(refs[0]), hint(refs[1])}},
	} {
		err := save(cache, each.file, each.refs)
		for _, want := range each.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), ".x.tar.") {
				t.Errorf("%s: want %q, got: %v", each.file, want, err)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestSweep removes what a killed process left, and nothing else.
func TestSweep(t *testing.T) {
	dir, old := t.TempDir(), time.Now().Add(-2*time.Hour)
	for _, name := range []string{".bm25.wasm.123", ".bm25@1.0.0.wasm.9.old", ".bm25.wasm.fresh", ".gitignore", "bm25.wasm", ".bm25.wasm", ".other.txt.1"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".bm25.wasm.456"), nil, 0o600); err != nil { // of a process that still runs
		t.Fatal(err)
	}
	sweep(dir)
	sweep(filepath.Join(dir, "none"))
	var left []string
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		left = append(left, f.Name())
	}
	if got, want := strings.Join(left, " "), ".bm25.wasm .bm25.wasm.456 .bm25.wasm.fresh .gitignore .other.txt.1 bm25.wasm"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
}

// TestPasswords takes the password of a key from a file, else from the environment.
func TestPasswords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv(cli.PasswordVariable, "of the environment")
	for path, want := range map[string]string{"": "of the environment", file("a", "of the file\r\nmore\n"): "of the file", file("b", "\n"): "", file("c", strings.Repeat("x", 70_000)): "", dir: "", filepath.Join(dir, "none"): ""} {
		cmd := &cobra.Command{Use: "x"}
		var p cli.PasswordFlag
		p.Flag(cmd)
		if err := cmd.Flags().Set("password-file", path); err != nil {
			t.Fatal(err)
		}
		if got, _, err := p.Read(); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}
