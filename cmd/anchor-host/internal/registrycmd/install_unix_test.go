//go:build unix

package registrycmd

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// operator is a folder with anchor.yaml, in which commands run.
type operator struct {
	*testing.T
	registry   *clitest.Registry
	repository string
}

// newOperator makes a folder for an operator, and a registry with the versions 1.0.0 and 1.1.0 of the
// plugin no-change. The second one is signed with the key, unless that is "".
func newOperator(t *testing.T, key string) *operator {
	r, repository := clitest.NewRegistry(t)
	for _, v := range []string{"1.0.0", "1.1.0"} {
		args := []string{"plugin", "publish", "--unchecked", clitest.Quiet(t, v, ""), repository}
		if v == "1.1.0" && key != "" {
			args = append(args, "--key", key)
		} else {
			args = append(args, "--unsigned")
		}
		if code, _, stderr := run(t, "", args...); code != cli.CodeOK {
			t.Fatal(stderr)
		}
	}
	t.Chdir(t.TempDir())
	return &operator{t, r, repository}
}

// config writes anchor.yaml, with one step of the plugin.
func (o *operator) config(plugin, more string) {
	o.Helper()
	text := fmt.Sprintf("counting: {tokenizer: words}\nsteps: [{name: s, use: %q}]\n%s", plugin, more)
	if err := os.WriteFile("anchor.yaml", []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
}

// plugin runs a command under plugin, and wants an exit code and a text of its messages.
func (o *operator) plugin(code int, want string, args ...string) {
	o.Helper()
	got, stdout, stderr := run(o.T, "", append([]string{"plugin"}, args...)...)
	if got != code || !strings.Contains(stdout+stderr, want) {
		o.Fatalf("plugin %q: code %d, want %d and %q:\n%s%s", args, got, code, want, stdout, stderr)
	}
}

// meanwhile runs a command in the middle of the next download of a module.
func (o *operator) meanwhile(args ...string) {
	var done atomic.Bool
	o.registry.Before(func(q *http.Request) {
		if q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/blobs/") && !done.Swap(true) {
			if code, _, stderr := run(o.T, "", append([]string{"plugin"}, args...)...); code != cli.CodeOK {
				o.Errorf("meanwhile: %s", stderr)
			}
		}
	})
}

// edit changes anchor.lock, as one who may change files of the repository can.
func (o *operator) edit(pattern, by string) {
	o.Helper()
	before := string(clitest.Read(o.T, "anchor.lock"))
	after := regexp.MustCompile(pattern).ReplaceAllString(before, by)
	if after == before {
		o.Fatalf("%s changes nothing in\n%s", pattern, before)
	}
	if err := os.WriteFile("anchor.lock", []byte(after), 0o600); err != nil {
		o.Fatal(err)
	}
}

// holds wants these names and versions in anchor.lock.
func (o *operator) holds(want string) {
	o.Helper()
	var got []string
	for _, m := range regexp.MustCompile(`(?s)name: (\S+).*?version: (\S+)`).FindAllStringSubmatch(string(clitest.Read(o.T, "anchor.lock")), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if strings.Join(got, ", ") != want {
		o.Errorf("anchor.lock has %q, want %q", got, want)
	}
}

// Commands that work at the same time neither add a plugin twice nor undo what the other one did.
func TestInstallsMeet(t *testing.T) {
	other := "--registry-cache=" + filepath.Join(t.TempDir(), "cache")
	t.Run("the same plugin", func(t *testing.T) {
		o := newOperator(t, "")
		o.config(o.repository+":1.0.0", "")
		o.meanwhile("install", other)
		o.plugin(cli.CodeOK, "nothing to do", "install")
		o.holds("no-change 1.0.0")
	})
	for name, c := range map[string]struct {
		meanwhile []string
		holds     string
	}{
		"an upgrade": {[]string{"install", "no-change@1.1.0", other}, "no-change 1.1.0"},
		"a removal":  {[]string{"remove", "no-change"}, ""},
	} {
		for _, alone := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, alone %t", name, alone), func(t *testing.T) {
				o := newOperator(t, "")
				o.config("no-change", "")
				o.plugin(cli.CodeOK, "add", "install", o.repository+":1.0.0")
				if err := os.Remove("plugins/no-change.wasm"); err != nil {
					t.Fatal(err)
				}
				args := []string{"install", "--registry-cache", t.TempDir()}
				want := c.holds
				if !alone { // another plugin comes too, which the upgrade has added already
					args, want = append(args, "--beside", o.repository+":1.1.0"), "no-change 1.1.0"
				}
				o.meanwhile(c.meanwhile...)
				o.plugin(cli.CodeOK, "another command has changed it", args...)
				if o.holds(want); want != "" {
					o.plugin(cli.CodeOK, "ok", "verify")
				} else if _, err := os.Stat("plugins/no-change.wasm"); err == nil {
					t.Error("the removed plugin is back")
				}
			})
		}
	}
}

// What anchor.lock says of a signer is believed no more than the signature.
func TestForgedLocks(t *testing.T) {
	key, public := clitest.NewKey(t)
	o := newOperator(t, key)
	trust := fmt.Sprintf("trust: {require: signed, publishers: {%q: [%q]}}\n", strings.TrimPrefix(o.repository, "oci://"), public)
	o.config(o.repository+":1.0.0", "")
	o.plugin(cli.CodeOK, "add", "install")
	o.config(o.repository+":1.0.0", trust)
	o.plugin(cli.CodeRefused, "not signed", "install") // although it is there
	o.edit(`(module: \S+)`, "$1\n    signer: "+public.ID)
	o.plugin(cli.CodeRefused, "not signed", "verify")
	if err := os.RemoveAll("plugins"); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeRefused, "not signed", "install", "--frozen")

	// A signature that is there counts, without a network too.
	o.config(o.repository+":1.1.0", trust)
	o.plugin(cli.CodeOK, "1.0.0 -> 1.1.0", "install")
	if err := os.RemoveAll("plugins"); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, "restore", "install", "--frozen", "--offline")
	o.plugin(cli.CodeOK, public.ID, "verify", "--offline")
	o.plugin(cli.CodeFailure, "offline", "update", "--offline")

	// Another key, until the owner has signed with it.
	second, next := clitest.NewKey(t)
	o.config(o.repository+":1.1.0", strings.Replace(trust, public.String(), next.String(), 1))
	o.plugin(cli.CodeRefused, "a new signature of this one with plugin install no-change@1.1.0", "install")
	o.plugin(cli.CodeOK, "signed", "sign", "--key", second, o.repository+":1.1.0")
	o.plugin(cli.CodeOK, "replace", "update", "no-change")
	o.plugin(cli.CodeOK, next.ID, "verify")

	o.edit("signer: "+next.ID, "signer: "+public.ID)
	o.config(o.repository+":1.1.0", strings.Replace(trust, `"`+public.String(), `"`+public.String()+`", "`+next.String(), 1))
	o.signedBy(public.ID, next.ID)
	o.edit(`version: 1\.1\.0`, "version: 7.0.0")
	o.plugin(cli.CodeRefused, `its version is "1.1.0", that in anchor.lock is "7.0.0"`, "verify")
}

// signedBy wants verify to show one of the keys that signed, whatever the lock says.
func (o *operator) signedBy(ids ...string) {
	o.Helper()
	_, stdout, _ := run(o.T, "", "plugin", "verify")
	for _, id := range ids {
		if strings.Contains(stdout, "ok") && strings.Contains(stdout, id) {
			return
		}
	}
	o.Errorf("verify: %s", stdout)
}

// Whatever the policy refuses, there is a way out, and what waits leaves the old version in place.
func TestWaysOut(t *testing.T) {
	key, public := clitest.NewKey(t)
	o := newOperator(t, key)
	trusted := fmt.Sprintf("trust: {publishers: {%q: [%q]}", strings.TrimPrefix(o.repository, "oci://"), public)
	revoked := trusted + ", revoked: {keys: [" + public.ID + "]}}\n"
	o.config("no-change", trusted+"}\n")
	o.plugin(cli.CodeOK, "add", "install", o.repository+":1.1.0")
	o.plugin(cli.CodeOK, "is there beside", "install", "--beside", o.repository+":1.0.0")
	o.edit(`(name: no-change@1\.0\.0(?s:.*?)module: \S+)`, "$1\n    signer: "+public.ID)
	o.config("no-change", revoked)
	o.plugin(cli.CodeRefused, "remove it with plugin remove no-change@1.0.0", "install")
	o.plugin(cli.CodeRefused, "is not signed", "update", "no-change@1.0.0")
	o.plugin(cli.CodeOK, "remove", "remove", "no-change@1.0.0")
	o.plugin(cli.CodeRefused, "allow it with: anchor-host plugin approve", "install", "no-change@1.0.0")
	o.plugin(cli.CodeOK, "1.1.0 -> 1.0.0", "approve", "no-change@1.0.0", "--yes")
	o.plugin(cli.CodeOK, "nothing to do", "install")

	// A fresh clone, whose anchor.yaml asks for what has to be approved first.
	if code, _, stderr := run(t, "", "plugin", "publish", "--unchecked", "--unsigned", clitest.Quiet(t, "2.0.0", clitest.OneMore), o.repository); code != cli.CodeOK {
		t.Fatal(stderr)
	}
	o.config(o.repository+":1.0.0", "")
	o.plugin(cli.CodeOK, "nothing to do", "install")
	if err := os.RemoveAll("plugins"); err != nil {
		t.Fatal(err)
	}
	o.config(o.repository+":2.0.0", "")
	o.plugin(cli.CodeRefused, "1.0.0 stays", "install")
	o.plugin(cli.CodeOK, "ok", "verify")

	// A version that somebody wrote into the lock is mended, and makes no file of the plugin.
	o.config(o.repository+":1.0.0", "")
	o.edit(`version: 1\.0\.0`, "version: 7.0.0")
	o.plugin(cli.CodeRefused, "", "verify")
	o.plugin(cli.CodeOK, "7.0.0 -> 1.0.0", "update")
	o.plugin(cli.CodeOK, "ok", "verify")
	o.edit(`version: 1\.0\.0`, "version: 0.1.0")
	o.plugin(cli.CodeOK, "", "approve", "no-change", "--yes")
	o.plugin(cli.CodeOK, "ok", "verify")
	o.holds("no-change 1.0.0")
}

// A plugin.yaml that narrows a signed plugin does not spoil its signature.
func TestNarrowedPluginsAreVerified(t *testing.T) {
	key, public := clitest.NewKey(t)
	o := newOperator(t, "")
	file := clitest.Quiet(t, "3.0.0", clitest.OneMore)
	if code, _, stderr := run(t, "", "plugin", "publish", "--unchecked", file, o.repository, "--key", key); code != cli.CodeOK {
		t.Fatal(stderr)
	}
	o.config("no-change", fmt.Sprintf("trust: {require: signed, publishers: {%q: [%q]}}\n", strings.TrimPrefix(o.repository, "oci://"), public))
	o.plugin(cli.CodeOK, "add", "install", o.repository+":3.0.0")
	if err := os.Mkdir("plugins/no-change", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("plugins/no-change.wasm", "plugins/no-change/plugin.wasm"); err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(clitest.Read(t, filepath.Join(clitest.FixtureDir, "no-change/plugin.yaml"))), "0.1.0", "3.0.0", 1)
	if err := os.WriteFile("plugins/no-change/plugin.yaml", []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, public.ID, "verify")
}

// A module of another tool, which has no name of its own, is signed and installed as others are.
func TestForeignPluginsAreSigned(t *testing.T) {
	key, public := clitest.NewKey(t)
	o := newOperator(t, "")
	module := clitest.Read(t, filepath.Join(clitest.FixtureDir, "foreign/plugin.wasm"))
	digest := func(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
	config := fmt.Appendf(nil, `{"created":"2020-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":[%q]}`, digest(module))
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":%q,"digest":%q,"size":%d},"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`,
		registry.ConfigType, digest(config), len(config), registry.ModuleType, digest(module), len(module))
	o.registry.Put(module, registry.ModuleType, "")
	o.registry.Put(config, registry.ConfigType, "")
	o.registry.Put(manifest, "application/vnd.oci.image.manifest.v1+json", "foreign")

	o.config("no-change", fmt.Sprintf("trust: {require: signed, publishers: {%q: [%q]}}\n", strings.TrimPrefix(o.repository, "oci://"), public))
	o.plugin(cli.CodeOK, public.ID, "sign", "--key", key, o.repository+":foreign")
	o.plugin(cli.CodeOK, "add", "install", o.repository+":foreign")
	o.plugin(cli.CodeOK, public.ID, "verify")
	if err := os.RemoveAll("plugins"); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, "restore", "install", "--frozen", "--offline")
}

// A restore waits for a command that edits the lock.
func TestRestoresWaitForEdits(t *testing.T) {
	o := newOperator(t, "")
	o.config("no-change", "")
	o.plugin(cli.CodeOK, "add", "install", o.repository+":1.0.0")
	if err := os.Remove("plugins/no-change.wasm"); err != nil {
		t.Fatal(err)
	}
	done, downloads := make(chan string, 1), make(chan struct{}, 1)
	o.registry.Before(func(q *http.Request) {
		if strings.Contains(q.URL.Path, "/blobs/") {
			select {
			case downloads <- struct{}{}:
			default: // this is not the first
			}
		}
	})
	err := lock.Edit(t.Context(), "anchor.lock", func(f *lock.File) error {
		go func() {
			_, stdout, stderr := run(t, "", "plugin", "install", "--registry-cache", t.TempDir())
			done <- stdout + stderr
		}()
		<-downloads // it has read the lock
		if _, err := os.Stat("plugins/no-change.wasm"); err == nil {
			t.Error("the plugin is there before the edit has ended")
		}
		f.Remove("no-change")
		return nil
	})
	if said := <-done; err != nil || !strings.Contains(said, "another command has changed it") {
		t.Errorf("the edit: %v; install says %q, want that another command has changed it", err, said)
	}
}

// A folder of the operator stays, and what remove leaves is said.
func TestOwnFilesStay(t *testing.T) {
	o := newOperator(t, "")
	o.config("no-change", "")
	if err := os.MkdirAll("plugins/no-change.wasm", 0o700); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeRefused, "is a link, a folder or a device", "install", o.repository+":1.0.0")
	if err := os.Remove("plugins/no-change.wasm"); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, "add", "install", o.repository+":1.0.0")
	if err := os.WriteFile("plugins/no-change.wasm", clitest.Read(t, clitest.Quiet(t, "3.0.0", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, "plugins/no-change.wasm stays: it is not the locked file", "remove", "no-change")
	if err := os.Remove("plugins/no-change.wasm"); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeOK, "add", "install", o.repository+":1.0.0")
	if err := os.WriteFile("plugins/no-change.wasm", []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.plugin(cli.CodeInvalid, "get the locked one with: anchor-host plugin install", "verify")
	o.plugin(cli.CodeOK, "restore", "install")
	o.plugin(cli.CodeOK, "ok", "verify")
	o.registry.Remove("1.0.0")
	o.config(o.repository+":1.0.0", "")
	o.plugin(cli.CodeOK, "gone", "update", "--dry-run")
	o.plugin(cli.CodeInvalid, `anchor.lock lists no plugin "other"`, "install", "other@1.0.0")
}
