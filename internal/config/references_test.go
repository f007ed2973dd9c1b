package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry/lock"
)

// TestReferences gives plugins of registries the names of the lock, wherever a plugin is named.
func TestReferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), DefaultFile)
	const a, b = "oci://ghcr.io/acme/bm25:1.2", "oci://ghcr.io/acme/bm25:2"
	const text = `
plugins: {instances: {config: {plugin: "` + a + `", links: {base: "` + b + `"}}}}
steps: [{name: s, use: "` + a + `", settings: {plugin: "` + b + `"}}]
pipelines: {other: {steps: [{name: s, use: "` + b + `"}]}}
`
	l, err := Parse(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.References(); !slices.Equal(got, []string{a, b}) {
		t.Errorf("references: %q", got)
	}
	if l.Steps[0].Use.Name != a {
		t.Errorf("without a lock: %q", l.Steps[0].Use.Name)
	}
	digest := "sha256:" + strings.Repeat("1", 64)
	err = lock.Edit(t.Context(), filepath.Join(filepath.Dir(path), lock.Name), func(f *lock.File) error {
		for name, reference := range map[string]string{"bm25": a, "bm25@2.0.0": b} {
			f.Set(lock.Entry{Name: name, Reference: reference, Version: "2.0.0", Manifest: digest, Module: digest, PermissionsHash: lock.Hash(nil)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if l, err = Parse(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	other, err := l.Pipeline("other")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{l.Plugins.Instances["config"].Plugin, l.Plugins.Instances["config"].Links["base"], l.Steps[0].Use.Name, l.Steps[0].Settings["plugin"].(string), other.Steps[0].Use.Name}
	if want := []string{"bm25", "bm25@2.0.0", "bm25", b, "bm25@2.0.0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), lock.Name), []byte("version: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(path, []byte(text)); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("a lock of a later version: %v", err)
	}
	for _, bad := range []string{"oci://", "oci://../x", "bm25@", "bm25@../x", "bm25@1@2"} {
		if _, err := Parse(path+"none/x", []byte("steps: [{name: s, use: '"+bad+"'}]")); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
