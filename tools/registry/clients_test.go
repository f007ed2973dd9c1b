package registrytest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry"
)

// TestOras has oras pull what this project pushes, and the other way round, over TLS and with
// the credentials of Docker's config.json.
func TestOras(t *testing.T) {
	oras, s := program(t, "oras"), dockerRegistry(t)
	a, dir := artifact(t, "1.2.0", 100_000), t.TempDir()
	c := s.client(t, registry.Options{})
	ref, err := c.Push(t.Context(), s.ref("acme/ours", "1.2.0"), a, registry.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Attach(t.Context(), ref, registry.Attachment{Type: registry.TypeReadme, Title: "README.md", Data: []byte("# Keep first")}); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(ref.String(), registry.Scheme)
	run(t, dir, oras, "pull", "--ca-file", s.ca, name)
	same(t, filepath.Join(dir, "keep-first.wasm"), a.Module)
	run(t, dir, oras, "manifest", "fetch", "--ca-file", s.ca, "-o", "manifest.json", name)
	same(t, filepath.Join(dir, "manifest.json"), a.Manifest)
	if out := run(t, dir, oras, "discover", "--ca-file", s.ca, "--format", "json", name); !strings.Contains(out, registry.TypeReadme) {
		t.Errorf("oras does not see the README: %s", out)
	}

	b := artifact(t, "2.0.0", 100_000)
	write(t, filepath.Join(dir, "plugin.wasm"), string(b.Module))
	write(t, filepath.Join(dir, "config.json"), string(b.Config))
	theirs := s.host + "/acme/theirs:"
	run(t, dir, oras, "push", "--ca-file", s.ca, theirs+"plain", "plugin.wasm:application/wasm")
	run(t, dir, oras, "push", "--ca-file", s.ca, "--config", "config.json:"+registry.ConfigType, theirs+"config", "plugin.wasm:application/wasm")
	for _, tag := range []string{"plain", "config"} {
		p, err := c.Pull(t.Context(), s.ref("acme/theirs", tag))
		if err != nil || !bytes.Equal(p.Module, b.Module) {
			t.Errorf("what oras pushed as %s: %v", tag, err)
		}
	}
	write(t, filepath.Join(dir, "sbom.json"), `{"spdxVersion":"SPDX-2.3"}`)
	run(t, dir, oras, "attach", "--ca-file", s.ca, "--artifact-type", registry.TypeSBOM, theirs+"config", "sbom.json:"+registry.TypeSBOM)
	pinned, err := c.Resolve(t.Context(), s.ref("acme/theirs", "config"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Referrers(t.Context(), pinned, registry.TypeSBOM)
	if err != nil || len(all) != 1 || string(all[0].Data) != `{"spdxVersion":"SPDX-2.3"}` {
		t.Errorf("what oras attached: %v, %v", all, err)
	}
	layout(t, oras, c, s, a)
}

// layout has oras read the cache, and this project load what oras wrote.
func layout(t *testing.T, oras string, c *registry.Client, s server, a *registry.Artifact) {
	t.Helper()
	ref, dir := s.ref("acme/ours", "1.2.0"), t.TempDir()
	if _, err := c.Pull(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	run(t, dir, oras, "manifest", "fetch", "--oci-layout-path", c.Cache().Dir(), "-o", "manifest.json", strings.TrimPrefix(ref.String(), registry.Scheme))
	same(t, filepath.Join(dir, "manifest.json"), a.Manifest)
}

// TestWkg has wkg pull what this project pushes. What wkg pushes are components, which are
// recognised.
func TestWkg(t *testing.T) {
	wkg, err := exec.LookPath(os.Getenv("ANCHOR_WKG"))
	if err != nil {
		t.Skip("wkg is not installed: run make test-registry-wkg")
	}
	s, dir := startDockerRegistry(t, false), t.TempDir()
	a := artifact(t, "1.2.0", 100_000)
	c := s.client(t, registry.Options{})
	if _, err := c.Push(t.Context(), s.ref("acme/ours", "1.2.0"), a, registry.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	run(t, dir, wkg, "oci", "pull", "--insecure", s.host, "-o", "ours.wasm", s.host+"/acme/ours:1.2.0")
	same(t, filepath.Join(dir, "ours.wasm"), a.Module)

	component, err := os.ReadFile("../../testdata/wasm/component/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "component.wasm"), string(component))
	run(t, dir, wkg, "oci", "push", "--insecure", s.host, s.host+"/acme/theirs:1", "component.wasm")
	_, err = c.Pull(t.Context(), s.ref("acme/theirs", "1"))
	if !errors.Is(err, registry.ErrNotPlugin) || !strings.Contains(err.Error(), "is a WebAssembly component, a core module is needed") {
		t.Errorf("a component: %v", err)
	}
}

func same(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, want %d, %v", filepath.Base(path), len(got), len(want), err)
	}
}
