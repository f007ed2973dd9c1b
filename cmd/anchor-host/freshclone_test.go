package main

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry/lock"
)

// A fresh clone has anchor.lock and no plugin folder: each command says how to get the plugins.
func TestValidateFreshClone(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	entry := "version: 1\nplugins:\n  - {name: bm25, version: 1.2.0, module: '" + digest + "', permissions_hash: '" + lock.Hash(nil) + "'"
	config := "trust: {require: none}\nsteps:\n  - {name: a, use: bm25}\n"
	for _, c := range []struct{ name, lock, want string }{
		{"of a registry", entry + ", reference: 'oci://ghcr.io/acme/bm25:1.2', manifest: '" + digest + "'}\n",
			"plugin directory plugins: lacks the plugins of anchor.lock: file does not exist (get them with: anchor-host plugin install --frozen)"},
		{"of this machine", entry + "}\n", "(create it, or set plugins.dir)"},
	} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": config, "anchor.lock": c.lock}))
		for _, args := range [][]string{{"config", "validate"}, {"build", "query"}, {"plugin", "list"}, {"plugin", "inspect", "bm25"}, {"doctor"}} {
			if _, stdout, stderr := run(t, "", args...); !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("%s: %q lacks %q:\n%s%s", c.name, args, c.want, stdout, stderr)
			}
		}
	}
}
