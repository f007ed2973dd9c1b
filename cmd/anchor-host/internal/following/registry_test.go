package following

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// A plugin that the host lacks comes from the registry, by the digest in the lock, and from then on from the cache. One
// with another digest is refused.
func TestPluginsFromTheRegistry(t *testing.T) {
	r, repository := clitest.NewRegistry(t)
	module, err := os.ReadFile(clitest.Quiet(t, "1.0.0", ""))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := registry.Pack(module, registry.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(config.Registries{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ref, err := registry.ParseReference(repository + ":1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Push(t.Context(), ref, packed, registry.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "anchor.yaml"), []byte("server: {follow: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := config.Load(filepath.Join(dir, "anchor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(moduleDigest string) error {
		h := &Host{own: own, dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
		text := "version: 1\nplugins:\n- name: " + packed.Name + "\n  reference: " + repository + ":1.0.0\n  version: 1.0.0\n  manifest: " + packed.Digest + "\n  module: " + moduleDigest + "\n  permissions_hash: " + lock.Hash(nil) + "\n"
		loaded, err := h.prepare(t.Context(), &cluster.Documents{Config: []byte("counting: {tokenizer: words}\n"), Lock: []byte(text)})
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(loaded.PluginDir(), packed.Name+".wasm"))
		if err == nil && string(got) != string(module) {
			t.Error("another module")
		}
		return err
	}
	if err := fetch(packed.ModuleDigest); err != nil {
		t.Fatal(err)
	}
	r.Before(func(q *http.Request) { t.Errorf("the registry is asked for %s", q.URL) })
	if err := fetch(packed.ModuleDigest); err != nil { // another host of this user
		t.Error(err)
	}
	if err := fetch("sha256:" + strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), packed.Name) {
		t.Errorf("a module with another digest: %v", err)
	}
}
