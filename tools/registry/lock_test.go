package registrytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry"
)

// TestDrift changes what was installed, and asks each command that looks at plugins.
func TestDrift(t *testing.T) {
	s := inProcess(t, true)
	author := s.client(t, registry.Options{})
	for version, of := range map[string]string{"1.0.0": plugin, "2.0.0": asking} {
		a, err := registry.Pack(module(t, fmt.Sprintf(of, version), 0), registry.PackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := author.Push(t.Context(), s.ref("acme/keep-first", version), a, registry.PushOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const file = "plugins/keep-first.wasm"
	for _, each := range []struct {
		name string
		do   func(w *team)
		// want is what all of the commands say, with its remedy.
		want string
		// found says that the plugin is still there, so that inspect finds it.
		found bool
	}{
		{"another file", func(w *team) { w.write(file, string(module(t, fmt.Sprintf(plugin, "1.0.1"), 0))) }, "get the locked one with: anchor-host plugin install", true},
		{"asks for more", func(w *team) {
			w.write("anchor.lock", strings.Replace(w.read("anchor.lock"), "permissions_hash: ", "permissions_hash: sha256:0", 1))
		}, "permissions_hash", false},
		{"a plugin.yaml that asks for more", func(w *team) {
			if err := os.MkdirAll(filepath.Join(w.dir, "plugins/keep-first"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(w.dir, file), filepath.Join(w.dir, "plugins/keep-first/plugin.wasm")); err != nil {
				t.Fatal(err)
			}
			w.write("plugins/keep-first/plugin.yaml", fmt.Sprintf(asking, "1.0.0"))
		}, "plugin.yaml", false},
		{"no file", func(w *team) { _ = os.Remove(filepath.Join(w.dir, file)) }, "anchor-host plugin install", false},
		{"revoked", func(w *team) {
			digest := w.read("anchor.lock")
			digest = digest[strings.Index(digest, "module: ")+8:]
			w.write("anchor.yaml", fmt.Sprintf("trust: {revoked: {digests: ['%s']}}\n%s", digest[:71], w.read("anchor.yaml")))
		}, "by trust.revoked.digests (install another version)", true},
	} {
		t.Run(each.name, func(t *testing.T) {
			w := newTeam(t, s)
			w.write("anchor.yaml", "steps: [{name: keep, plugin: keep-first}]"+turn)
			w.ok("plugin", "install", s.host+"/acme/keep-first:1.0.0")
			for _, args := range [][]string{{"doctor"}, {"config", "validate"}, {"build", "--strict", "q"}, {"plugin", "verify"}, {"plugin", "list"}} {
				w.ok(args...)
			}
			if out := w.ok("plugin", "inspect", "keep-first"); !strings.Contains(out, s.host+"/acme/keep-first:1.0.0, signed by nobody") {
				t.Errorf("inspect: %s", out)
			}
			each.do(w)
			for _, args := range [][]string{{"doctor"}, {"config", "validate"}, {"build", "--strict", "q"}, {"plugin", "verify"}, {"plugin", "list"}, {"plugin", "inspect", "keep-first"}} {
				if len(args) == 3 && args[1] == "inspect" && !each.found {
					continue
				}
				code, stdout, stderr := w.try(args...)
				if !strings.Contains(stdout+stderr, each.want) && !(args[len(args)-1] == "list" && !each.found) {
					t.Errorf("%v does not say %q: exit code %d\n%s%s", args, each.want, code, stdout, stderr)
				}
				if code == 0 && args[0] != "plugin" {
					t.Errorf("%v: exit code 0", args)
				}
			}
		})
	}
}
