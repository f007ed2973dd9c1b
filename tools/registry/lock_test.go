package registrytest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

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
			w.write("anchor.yaml", "steps: [{name: keep, use: keep-first}]"+turn)
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
				listed := args[len(args)-1] == "list" && !each.found // the list has no line for it
				if !listed && !strings.Contains(stdout+stderr, each.want) {
					t.Errorf("%v does not say %q: exit code %d\n%s%s", args, each.want, code, stdout, stderr)
				}
				warned := args[0] == "config" && !each.found // a plugin that is absent may be skipped
				if code == 0 && args[0] != "plugin" && !warned {
					t.Errorf("%v: exit code 0", args)
				}
			}
		})
	}
}

// counted is a registry in this process that counts requests, and sends large answers slowly.
func counted(t *testing.T, pause time.Duration) (s server, requests *atomic.Int64) {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	requests = &atomic.Int64{}
	s.host = handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		inner.ServeHTTP(slow{w, pause}, r)
	}))
	return s, requests
}

// slow waits between the parts of an answer.
type slow struct {
	http.ResponseWriter
	pause time.Duration
}

func (s slow) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var wrote int
		wrote, err = s.ResponseWriter.Write(b[:min(len(b), 64<<10)])
		if n, b = n+wrote, b[wrote:]; len(b) > 0 && s.pause > 0 {
			s.ResponseWriter.(http.Flusher).Flush()
			time.Sleep(s.pause)
		}
	}
	return n, err
}

// large pushes a version of half a megabyte.
func large(t *testing.T, s server, name, version string) {
	t.Helper()
	wasm := module(t, fmt.Sprintf("abi: 1\nname: %s\nversion: %s\noperations: {filter: {reads: [score]}}\n", name, version), 512<<10)
	a, err := registry.Pack(wasm, registry.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(t, registry.Options{}).Push(t.Context(), s.ref("acme/"+name, version), a, registry.PushOptions{}); err != nil {
		t.Fatal(err)
	}
}

// checkCache holds each blob of the cache against its name, and looks for half downloads.
func (w *team) checkCache(parts bool) {
	w.t.Helper()
	blobs, err := filepath.Glob(filepath.Join(w.dir, "cache/anchor-host/oci/blobs/sha256/*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range blobs {
		text, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sum != filepath.Base(path) {
			w.t.Errorf("the cache has a blob %s with the digest %s", filepath.Base(path), sum)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "cache/anchor-host/oci/ingest/*")); parts && len(left) > 0 {
		w.t.Errorf("the cache has half downloads: %v", left)
	}
}

// TestKilledInstalls kills installs and updates at any moment. What is half done is never used,
// the next run goes on, and nothing stays behind.
func TestKilledInstalls(t *testing.T) {
	s, _ := counted(t, 5*time.Millisecond)
	large(t, s, "keep-first", "1.0.0")
	large(t, s, "keep-first", "1.1.0")
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	w := newTeam(t, s)
	use := func(version string) {
		w.write("anchor.yaml", fmt.Sprintf("steps: [{name: keep, use: 'oci://%s/acme/keep-first:%s'}]"+turn, s.host, version))
	}
	kill := func(after time.Duration) {
		c := exec.Command(path, "plugin", "install")
		c.Dir, c.Env = w.dir, w.env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = c.Process.Kill()
		_ = c.Wait() // says that it was killed, or that it was faster
		w.checkCache(false)
	}
	for range 15 {
		use("1.0.0")
		for _, name := range []string{"plugins", "anchor.lock", "cache"} {
			if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		kill(time.Duration(rand.IntN(150)) * time.Millisecond)
		w.ok("plugin", "install")
		w.locked("1.0.0")
		use("1.1.0")
		kill(time.Duration(rand.IntN(150)) * time.Millisecond)
		w.ok("plugin", "install")
		w.locked("1.1.0")
		w.checkCache(false)
	}
	// What the killed ones left is swept an hour later, or when the cache is pruned a day later.
	left, _ := filepath.Glob(filepath.Join(w.dir, "plugins/.*"))
	if err := os.WriteFile(filepath.Join(w.dir, "plugins/.keep-first.wasm.1234"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	left = append(left, filepath.Join(w.dir, "plugins/.keep-first.wasm.1234"))
	parts, _ := filepath.Glob(filepath.Join(w.dir, "cache/anchor-host/oci/ingest/*"))
	yesterday := time.Now().Add(-25 * time.Hour)
	for _, path := range append(left, parts...) {
		if err := os.Chtimes(path, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	w.ok("plugin", "install", "keep-first@1.0.0")
	if left, _ := filepath.Glob(filepath.Join(w.dir, "plugins/.*")); len(left) > 0 {
		t.Errorf("the plugin folder has %v", left)
	}
	w.ok("plugin", "prune")
	w.checkCache(true)
	w.ok("plugin", "install", "--frozen", "--offline")
}

// TestManyInstalls has many processes install into folders of their own and into the same one, all
// with one cache. Each plugin is fetched once.
func TestManyInstalls(t *testing.T) {
	s, requests := counted(t, time.Millisecond)
	large(t, s, "keep-first", "1.0.0")
	large(t, s, "keep-last", "1.0.0")
	if _, err := command(); err != nil {
		t.Fatal(err)
	}
	before := requests.Load()
	first := newTeam(t, s)
	var work sync.WaitGroup
	teams := []*team{first, first, first, first}
	for len(teams) < 16 {
		other := newTeam(t, s)
		other.env = append(other.env, "XDG_CACHE_HOME="+filepath.Join(first.dir, "cache"))
		teams = append(teams, other)
	}
	for _, w := range teams {
		w.write("anchor.yaml", fmt.Sprintf("steps: [{name: a, use: 'oci://%s/acme/keep-first:1.0.0'}, {name: b, use: 'oci://%s/acme/keep-last:1.0.0'}]"+turn, s.host, s.host))
	}
	for _, w := range teams {
		work.Go(func() {
			if code, _, stderr := w.try("plugin", "install"); code != 0 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
	work.Wait()
	sent := requests.Load() - before
	for _, w := range teams {
		w.locked("1.0.0")
	}
	first.checkCache(true)
	// A greeting, two manifests by tag, and for the first two layers and two configs.
	if most := int64(len(teams)*3 + 4); sent > most {
		t.Errorf("%d requests, want at most %d", sent, most)
	}
	before = requests.Load()
	for _, args := range [][]string{{"install"}, {"install", "--frozen"}, {"verify"}, {"list"}, {"remove", "keep-last"}} {
		first.ok(append([]string{"plugin"}, args...)...)
	}
	if sent := requests.Load() - before; sent > 0 {
		t.Errorf("installed plugins were asked for with %d requests", sent)
	}
}
