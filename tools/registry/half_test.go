package registrytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHalfApplied makes each state in which a killed update of two plugins can leave the folder and
// the lock: the lock comes last. Such a plugin never runs, and the next install mends it.
func TestHalfApplied(t *testing.T) {
	s := inProcess(t, true)
	w := newTeam(t, s)
	names := []string{"keep-first", "keep-last"}
	for _, name := range names {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			of := strings.Replace(plugin, "keep-first", name, 1)
			w.write("p.wasm", string(module(t, fmt.Sprintf(of, version), 0)))
			w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", s.host+"/acme/"+name)
		}
	}
	use := func(version string) {
		w.write("anchor.yaml", fmt.Sprintf("steps: [{name: a, use: 'oci://%s/acme/keep-first:%s'}, {name: b, use: 'oci://%s/acme/keep-last:%s'}]"+turn, s.host, version, s.host, version))
	}
	state := func(version string) (lock string, modules []string) {
		use(version)
		w.ok("plugin", "install")
		for _, name := range names {
			modules = append(modules, w.read("plugins/"+name+".wasm"))
		}
		return w.read("anchor.lock"), modules
	}
	oldLock, older := state("1.0.0")
	newLock, newer := state("1.1.0")
	for _, each := range []struct {
		name string
		// moved is how many files have their new bytes. gone is one that has its other name only, as
		// on a file system without hard links.
		moved, gone int
		lock        string
		runs        bool
	}{
		{"before the first file", 0, -1, oldLock, true},
		{"in the first file", 0, 0, oldLock, false},
		{"after the first file", 1, -1, oldLock, false},
		{"in the second file", 1, 1, oldLock, false},
		{"before the lock", 2, -1, oldLock, false},
		{"after the lock", 2, -1, newLock, true},
	} {
		t.Run(each.name, func(t *testing.T) {
			for _, frozen := range []bool{true, false} {
				for i, name := range names {
					file, bytes := "plugins/"+name+".wasm", older[i]
					if i < each.moved {
						bytes = newer[i]
					}
					w.write(file, bytes)
					w.write("plugins/."+name+".wasm.77", newer[i])
					w.write("plugins/."+name+".wasm.77.old", older[i])
					if i == each.gone {
						if err := os.Remove(filepath.Join(w.dir, file)); err != nil {
							t.Fatal(err)
						}
					}
				}
				w.write("anchor.lock", each.lock)
				version := "1.0.0"
				if each.lock == newLock {
					version = "1.1.0"
				}
				use(version)
				if code, _, stderr := w.try("build", "--strict", "q"); (code == 0) != each.runs || !each.runs && !strings.Contains(stderr, "anchor-host plugin install") {
					t.Fatalf("build: exit code %d\n%s", code, stderr)
				}
				if frozen { // back to what the lock says
					w.ok("plugin", "install", "--frozen")
				} else { // the update, once more
					use("1.1.0")
					version = "1.1.0"
					w.ok("plugin", "install")
				}
				w.locked(version)
				want := map[string][]string{"1.0.0": older, "1.1.0": newer}[version]
				for i, name := range names {
					if w.read("plugins/"+name+".wasm") != want[i] {
						t.Errorf("frozen %t: %s is not version %s", frozen, name, version)
					}
				}
			}
		})
	}
}

// TestRefusedEverywhere has plugins that the policy refuses after they were installed. No command
// that uses plugins takes them, and each one says why.
func TestRefusedEverywhere(t *testing.T) {
	x := newSigners(t)
	ref := x.push(t, "acme/keep-first", "1.0.0")
	x.attach(t, ref, x.statement(t, "acme", "acme/keep-first", ref.Digest, is("1.0.0")))
	keys := []string{x.keys["acme"].Public().String()}
	x.trusts(keys, "", "1.0.0")
	w := x.operator
	w.ok("plugin", "install")
	locked, installed := w.read("anchor.lock"), w.read("plugins/keep-first.wasm")
	for _, each := range []struct {
		name, want string
		do         func()
	}{
		{"a revoked signer", "trust.revoked", func() { x.trusts(keys, "  revoked: {keys: ["+x.keys["acme"].Public().ID+"]}\n", "1.0.0") }},
		{"a signer whom nobody trusts", "trust.publishers", func() { x.trusts([]string{x.keys["evil"].Public().String()}, "", "1.0.0") }},
		{"not in the lock", "anchor.lock", func() { w.write("anchor.lock", "version: 1\nplugins: []\n") }},
		{"another hash of permissions", "permissions_hash", func() {
			w.write("anchor.lock", strings.Replace(locked, "permissions_hash: sha256:", "permissions_hash: sha256:00", 1))
		}},
		{"another file", "anchor-host plugin install", func() { w.write("plugins/keep-first.wasm", installed+"\x00\x02\x01x") }},
		{"no file", "anchor-host plugin install", func() { _ = os.Remove(filepath.Join(w.dir, "plugins/keep-first.wasm")) }},
	} {
		t.Run(each.name, func(t *testing.T) {
			each.do()
			// serve begins without a plugin that only steps use, and says so; not without a required one.
			w.before = []string{"timeout", "-s", "KILL", "1"}
			_, stdout, stderr := w.try("serve", "--listen", "127.0.0.1:0", "--admin-listen", "none")
			if !strings.Contains(stdout+stderr, each.want) {
				t.Errorf("serve does not say %q: %s%s", each.want, stdout, stderr)
			}
			w.write("anchor.yaml", "plugins: {instances: {k: {plugin: keep-first, must: true}}}\n"+w.read("anchor.yaml"))
			for _, args := range [][]string{{"build", "--strict", "q"}, {"serve", "--listen", "127.0.0.1:0"}, {"config", "validate"}, {"doctor"}, {"plugin", "verify"}} {
				w.before = nil
				if args[0] == "serve" { // one that begins nevertheless is ended, with code 124
					w.before = []string{"timeout", "-s", "KILL", "5"}
				}
				code, stdout, stderr := w.try(args...)
				w.before = nil
				if code == 0 || code > 8 || !strings.Contains(stdout+stderr, each.want) {
					t.Errorf("%v: exit code %d, want %q in\n%s%s", args, code, each.want, stdout, stderr)
				}
			}
			x.trusts(keys, "", "1.0.0")
			w.write("anchor.lock", locked)
			w.write("plugins/keep-first.wasm", installed)
			w.locked("1.0.0")
		})
	}
}
