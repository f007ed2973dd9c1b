package registrytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
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

// command is the program under test, built once.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "anchor-host")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "anchor-host")
	out, err := exec.Command("go", "-C", "../..", "build", "-o", path, "./cmd/anchor-host").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := command(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// team is one machine with its own cache and folder.
type team struct {
	t   testing.TB
	dir string
	env []string
	// before comes before the program, such as strace.
	before []string
	// cpu is what the processors spent on all runs of the program.
	cpu time.Duration
}

func newTeam(t testing.TB, s server) *team {
	dir := t.TempDir()
	w := &team{t: t, dir: dir, env: append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))}
	if s.ca != "" {
		w.env = append(w.env, "SSL_CERT_FILE="+s.ca)
	}
	return w
}

// try runs the program, and returns its exit code and all that it prints.
func (w *team) try(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	path, err := command()
	if err != nil {
		w.t.Fatal(err)
	}
	line := append(append(append([]string{}, w.before...), path), args...)
	c := exec.Command(line[0], line[1:]...)
	c.Dir, c.Env = w.dir, w.env
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	w.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return c.ProcessState.ExitCode(), out.String(), problems.String()
}

// ok runs the program, which must succeed.
func (w *team) ok(args ...string) string {
	w.t.Helper()
	code, stdout, stderr := w.try(args...)
	if code != 0 {
		w.t.Fatalf("anchor-host %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout + stderr
}

// refused runs the program, which must end with a code and print a text.
func (w *team) refused(want int, text string, args ...string) {
	w.t.Helper()
	code, stdout, stderr := w.try(args...)
	if code != want || !strings.Contains(stderr, text) {
		w.t.Fatalf("anchor-host %s: exit code %d, want %d and %q\n%s%s", strings.Join(args, " "), code, want, text, stdout, stderr)
	}
}

func (w *team) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *team) write(name, text string) { write(w.t, filepath.Join(w.dir, name), text) }

// locked fails unless the lock has this version, and a build runs.
func (w *team) locked(version string) {
	w.t.Helper()
	if !strings.Contains(w.read("anchor.lock"), "version: "+version+"\n") {
		w.t.Fatalf("anchor.lock has not version %s:\n%s", version, w.read("anchor.lock"))
	}
	w.ok("build", "--strict", "q")
	w.ok("plugin", "verify")
}

// turn is the rest of a configuration: the plugin filters something.
const turn = "\nmemory: {conversation: {turns: [{role: user, content: hello}]}}\n"

const plugin = "abi: 1\nname: keep-first\nversion: %s\noperations: {filter: {reads: [score]}}\n"

const asking = plugin + "permissions: [{kind: http, hosts: [api.example.com], methods: [GET], reason: looks it up}]\n"

// TestTeams is the work of an author and of an operator, from a key to the way back to an older
// version.
func TestTeams(t *testing.T) {
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) { teams(t, start(t)) })
	}
}

func teams(t *testing.T, s server) {
	author, operator := newTeam(t, s), newTeam(t, s)
	repository := "oci://" + s.host + "/acme/keep-first"
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(author.ok("plugin", "keygen", "--key", "acme.key", "-o", "json")), &key); err != nil {
		t.Fatal(err)
	}
	publish := func(manifest, version string, flags ...string) {
		t.Helper()
		if len(flags) == 0 {
			flags = []string{"--unsigned"}
		}
		author.write("p.wasm", string(module(t, fmt.Sprintf(manifest, version), 0)))
		for _, tag := range []string{version, "stable"} {
			author.ok(append([]string{"plugin", "publish", "--unchecked", "--move", "p.wasm", repository + ":" + tag}, flags...)...)
		}
	}
	signed := []string{"--key", "acme.key"}
	publish(plugin, "1.0.0", signed...)

	operator.write("anchor.yaml", fmt.Sprintf(`trust: {require: signed, publishers: {"%s/acme/*": [%q]}}
steps: [{name: keep, use: "%s:stable"}]
`+turn, s.host, key.Key, repository))
	operator.refused(8, "anchor-host plugin install", "build", "--strict", "q")
	if code, _, stderr := operator.try("config", "validate"); code != 0 || !strings.Contains(stderr, "anchor-host plugin install") { // it may be skipped
		t.Errorf("config validate: exit code %d, %q: want a warning that names anchor-host plugin install", code, stderr)
	}
	operator.refused(5, "--frozen", "plugin", "install", "--frozen")
	operator.ok("plugin", "install")
	operator.locked("1.0.0")
	operator.ok("config", "validate")

	publish(plugin, "1.1.0", signed...)
	if out := operator.ok("plugin", "update", "--dry-run"); !strings.Contains(out, "1.1.0") {
		t.Errorf("outdated: %s", out)
	}
	operator.ok("plugin", "install")
	operator.locked("1.0.0") // only update moves
	operator.ok("plugin", "update")
	operator.locked("1.1.0")
	older := operator.read("anchor.lock")
	operator.ok("plugin", "install", "keep-first@1.0.0")
	operator.locked("1.0.0")
	operator.ok("plugin", "install", "--frozen", "--offline")

	publish(asking, "2.0.0", signed...)
	operator.refused(5, "asks for more: http GET https://api.example.com:443", "plugin", "update")
	operator.locked("1.0.0")
	operator.refused(5, "answer y", "plugin", "approve", "keep-first")
	operator.locked("1.0.0")
	operator.ok("plugin", "approve", "keep-first", "--yes")
	operator.locked("2.0.0")

	publish(asking, "2.1.0") // the signature is missing
	operator.refused(5, "not signed", "plugin", "update")
	operator.locked("2.0.0")

	operator.write("anchor.lock", older)
	operator.refused(5, "get the locked one with: anchor-host plugin install", "plugin", "verify")
	operator.ok("plugin", "install", "--frozen", "--offline")
	operator.locked("1.1.0")
	operator.ok("plugin", "save", "--file", "plugins.tar")

	apart := newTeam(t, server{host: s.host})
	for _, name := range []string{"anchor.yaml", "anchor.lock", "plugins.tar"} {
		apart.write(name, operator.read(name))
	}
	apart.ok("plugin", "install", "--from", "plugins.tar")
	apart.ok("plugin", "install", "--frozen", "--offline")
	apart.locked("1.1.0")
}

// TestBeside has two versions in one folder, and a step that chooses.
func TestBeside(t *testing.T) {
	s := inProcess(t, true)
	w := newTeam(t, s)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		w.write("p.wasm", string(module(t, fmt.Sprintf(plugin, version), 0)))
		w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", s.host+"/acme/keep-first")
	}
	w.write("anchor.yaml", "steps: [{name: a, use: keep-first}, {name: b, use: keep-first@2.0.0}]"+turn)
	w.ok("plugin", "install", s.host+"/acme/keep-first:1.0.0")
	w.ok("plugin", "install", "--beside", s.host+"/acme/keep-first:2.0.0")
	w.locked("1.0.0")
	w.locked("2.0.0")
	w.ok("config", "validate")
	w.write("plugins/keep-first@1.9.0.wasm", w.read("plugins/keep-first.wasm"))
	if out := w.ok("plugin", "list"); !strings.Contains(out, "the file or folder of this version is") {
		t.Errorf("a file with the version of another one: %s", out)
	}
	w.ok("plugin", "remove", "keep-first@2.0.0")
	if _, err := os.Stat(filepath.Join(w.dir, "plugins/keep-first@2.0.0.wasm")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed file: %v", err)
	}
}

// TestMirrorOfTheFile installs what only the mirror of anchor.yaml has.
func TestMirrorOfTheFile(t *testing.T) {
	s := inProcess(t, true)
	w := newTeam(t, s)
	w.write("p.wasm", string(module(t, fmt.Sprintf(plugin, "1.0.0"), 0)))
	w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", s.host+"/copies/acme/keep-first:1.0.0")
	w.write("anchor.yaml", fmt.Sprintf("registries: {mirrors: {registry.invalid: [%s/copies]}}\nsteps: [{name: a, use: 'oci://registry.invalid/acme/keep-first:1.0.0'}]"+turn, s.host))
	w.ok("plugin", "install")
	w.locked("1.0.0")
}

// TestOwnFile keeps what somebody put into the folder.
func TestOwnFile(t *testing.T) {
	s := inProcess(t, true)
	w := newTeam(t, s)
	w.write("p.wasm", string(module(t, fmt.Sprintf(plugin, "2.0.0"), 0)))
	w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", s.host+"/acme/keep-first")
	if err := os.Mkdir(filepath.Join(w.dir, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	own := string(module(t, fmt.Sprintf(plugin, "1.0.0"), 0))
	w.write("plugins/keep-first.wasm", own)
	w.refused(5, "did not come from a registry", "plugin", "install", s.host+"/acme/keep-first:2.0.0")
	if w.read("plugins/keep-first.wasm") != own {
		t.Error("install replaced the file of somebody")
	}
	w.ok("plugin", "approve", "keep-first", "--yes")
	w.refused(5, "locked as a file", "plugin", "install", s.host+"/acme/keep-first:2.0.0")
}

// TestTamperedInstalls installs plugins that a registry or somebody between changed.
func TestTamperedInstalls(t *testing.T) {
	theModule := func(a *registry.Artifact) string { return "/blobs/" + a.ModuleDigest }
	theTag := func(*registry.Artifact) string { return "/manifests/2" }
	changed := func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b }
	endless := func(w http.ResponseWriter) {
		for range 2000 {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	}
	for _, each := range []struct {
		name, want string
		code       int
		of         func(*registry.Artifact) string
		answer     func(http.ResponseWriter, *registry.Artifact)
	}{
		{"other bytes", "content does not match", 3, theModule, func(w http.ResponseWriter, a *registry.Artifact) { _, _ = w.Write(changed(a.Module)) }},
		{"truncated", "its manifest says", 3, theModule, func(w http.ResponseWriter, a *registry.Artifact) { _, _ = w.Write(a.Module[:100]) }},
		{"without an end", "sends more than", 3, theModule, func(w http.ResponseWriter, _ *registry.Artifact) { endless(w) }},
		{"4 GB announced", "announces 4294967296", 3, theModule, func(w http.ResponseWriter, a *registry.Artifact) {
			w.Header().Set("Content-Length", "4294967296")
			_, _ = w.Write(a.Module[:100])
		}},
		{"missing", "check repository and version", 6, theModule, func(w http.ResponseWriter, _ *registry.Artifact) { w.WriteHeader(http.StatusNotFound) }},
		{"private address", "169.254.169.254", 1, theModule, func(w http.ResponseWriter, _ *registry.Artifact) {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(http.StatusFound)
		}},
		{"redirects without an end", "more than 5 times", 1, theModule, func(w http.ResponseWriter, a *registry.Artifact) {
			w.Header().Set("Location", "/v2/acme/keep-first/blobs/"+a.ModuleDigest)
			w.WriteHeader(http.StatusFound)
		}},
		{"denied", "docker login", 5, theTag, func(w http.ResponseWriter, _ *registry.Artifact) { w.WriteHeader(http.StatusForbidden) }},
		{"login page", "answers with a web page", 1, theTag, func(w http.ResponseWriter, _ *registry.Artifact) { fmt.Fprint(w, "<html>log in</html>") }},
		{"manifest without an end", "more than 4194304 bytes", 7, theTag, func(w http.ResponseWriter, _ *registry.Artifact) { endless(w) }},
		{"gigabyte of manifest", "announces 1073741824 bytes", 7, theTag, func(w http.ResponseWriter, _ *registry.Artifact) { w.Header().Set("Content-Length", "1073741824") }},
		{"another digest", "digest that it states", 3, theTag, func(w http.ResponseWriter, a *registry.Artifact) {
			w.Header().Set("Docker-Content-Digest", a.ModuleDigest)
			_, _ = w.Write(a.Manifest)
		}},
	} {
		t.Run(each.name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", t.TempDir())
			bad := artifact(t, "2.0.0", 0)
			inner, armed := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))), false
			s := server{host: handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if armed && strings.HasSuffix(r.URL.Path, each.of(bad)) {
					each.answer(w, bad)
					return
				}
				inner.ServeHTTP(w, r)
			}))}
			author := s.client(t, registry.Options{})
			for tag, a := range map[string]*registry.Artifact{"1": artifact(t, "1.0.0", 0), "2": bad} {
				if _, err := author.Push(t.Context(), s.ref("acme/keep-first", tag), a, registry.PushOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w := newTeam(t, s)
			use := func(tag string) {
				w.write("anchor.yaml", fmt.Sprintf("steps: [{name: keep, use: 'oci://%s/acme/keep-first:%s'}]"+turn, s.host, tag))
			}
			use("1")
			w.ok("plugin", "install")
			before := w.read("anchor.lock")
			armed = true
			use("2")
			w.refused(each.code, each.want, "plugin", "install")
			if w.read("anchor.lock") != before {
				t.Error("the lock changed")
			}
			use("1")
			w.locked("1.0.0")
			if files, err := os.ReadDir(filepath.Join(w.dir, "plugins")); err != nil || len(files) != 1 {
				t.Errorf("the plugin folder has %v, %v", files, err)
			}
		})
	}
}

// TestOffline watches the calls of the system: an offline install opens no socket.
func TestOffline(t *testing.T) {
	trace := program(t, "strace")
	s := inProcess(t, true)
	w := newTeam(t, s)
	w.write("p.wasm", string(module(t, fmt.Sprintf(plugin, "1.0.0"), 0)))
	reference := "oci://" + s.host + "/acme/keep-first:1.0.0"
	w.ok("plugin", "publish", "--unchecked", "--unsigned", "p.wasm", reference)
	w.write("anchor.yaml", fmt.Sprintf("steps: [{name: keep, use: %q}]"+turn, reference))
	calls := filepath.Join(w.dir, "calls")
	w.before = []string{trace, "-f", "-qq", "-e", "trace=socket,connect", "-e", "signal=none", "-o", calls}
	w.ok("plugin", "install")
	if !strings.Contains(w.read("calls"), "connect(") {
		t.Fatalf("strace sees no connection of an install from the registry:\n%s", w.read("calls"))
	}
	for _, args := range [][]string{{"plugin", "install", "--offline"}, {"plugin", "install", "--offline", "--frozen"}, {"build", "--strict", "q"}, {"config", "validate"}} {
		if err := os.Remove(filepath.Join(w.dir, "plugins/keep-first.wasm")); err != nil && args[0] == "plugin" {
			t.Fatal(err)
		}
		if args[0] != "plugin" {
			w.before[len(w.before)-1] = filepath.Join(w.dir, "other")
			w.ok("plugin", "install", "--offline")
			w.before[len(w.before)-1] = calls
		}
		w.ok(args...)
		if seen := w.read("calls"); strings.Contains(seen, "socket(") || strings.Contains(seen, "connect(") {
			t.Errorf("%v opens a socket:\n%s", args, seen)
		}
	}
}

// BenchmarkInstall installs ten plugins of 4 MB: first, at once again, again when the files are
// some seconds old and were read once (then they need not be read), and into an empty folder from
// the cache. For each it reports milliseconds on the clock, and those that the processors spent on
// the program alone (the registry is in this process). Only the first may send requests.
func BenchmarkInstall(b *testing.B) {
	if _, err := command(); err != nil { // the time of the build is not that of an install
		b.Fatal(err)
	}
	var requests atomic.Int64
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)), ggcr.WithReferrersSupport(true))
	b.Setenv("DOCKER_CONFIG", b.TempDir())
	s := server{host: handler(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		inner.ServeHTTP(w, r)
	}))}
	author, steps := s.client(b, registry.Options{}), ""
	for i := range 10 {
		name := fmt.Sprintf("p%d", i)
		wasm := module(b, "abi: 1\nname: "+name+"\nversion: 1.0.0\noperations: {filter: {reads: [score]}}\n", 4_000_000)
		a, err := registry.Pack(wasm, registry.PackOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := author.Push(b.Context(), s.ref("acme/"+name, "1.0.0"), a, registry.PushOptions{}); err != nil {
			b.Fatal(err)
		}
		steps += fmt.Sprintf("- {name: %s, use: 'oci://%s/acme/%s:1.0.0'}\n", name, s.host, name)
	}
	wall, cpu := map[string]time.Duration{}, map[string]time.Duration{}
	for b.Loop() {
		w := newTeam(b, s)
		w.write("anchor.yaml", "steps:\n"+steps)
		install := func(what string, args ...string) {
			b.Helper()
			begin, before, sent := time.Now(), w.cpu, requests.Load()
			w.ok(append([]string{"plugin", "install"}, args...)...)
			wall[what] += time.Since(begin)
			cpu[what] += w.cpu - before
			if sent = requests.Load() - sent; (sent > 0) != (what == "first") {
				b.Fatalf("%s: sends %d requests", what, sent)
			}
		}
		install("first")
		install("next")
		time.Sleep(3 * time.Second)
		install("settling")
		install("again")
		if err := os.RemoveAll(filepath.Join(w.dir, "plugins")); err != nil {
			b.Fatal(err)
		}
		install("frozen", "--frozen")
	}
	for what, d := range wall {
		b.ReportMetric(float64(d.Milliseconds())/float64(b.N), what+"-ms")
		b.ReportMetric(float64(cpu[what].Milliseconds())/float64(b.N), what+"-cpu-ms")
	}
}
