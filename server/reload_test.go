package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/internal/watched"
)

// file is the configuration file of a server.
func (l *live) file() string { return l.app.Status().File }

// write writes the configuration file, as editors do it: a new file takes the place of the old one.
func (l *live) write(text string) {
	l.t.Helper()
	next := l.file() + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(next, l.file()); err != nil {
		l.t.Fatal(err)
	}
}

// plugins copies fixtures into a folder and returns its path for a configuration.
func plugins(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("..", "testdata", "wasm", name))); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.ToSlash(dir)
}

// prompt is a configuration whose builds show its version.
func prompt(version int) string {
	return fmt.Sprintf("counting: {tokenizer: words}\npipelines: {p: {window: {system_prompts: [{content: version-%d}]}}}\n", version)
}

const fromPipeline = `{"query": "q", "pipeline": "p", "items": [{"content": "a", "source": "retrieval"}, {"content": "b", "source": "retrieval"}]}`

// newlyBuilt is what the answer to a build shows of the version that built it.
type newlyBuilt struct {
	Output      string `json:"formatted_output"`
	Diagnostics struct {
		Skipped []string `json:"skipped_steps"`
	}
}

// buildsWith sends a request for a build and returns why it is not built well with one version.
func (l *live) buildsWith() error {
	resp, err := l.client.Post("http://"+l.data+"/v1/builds", "application/json", strings.NewReader(fromPipeline))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var doc newlyBuilt
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return fmt.Errorf("status %d: decode answer: %w", resp.StatusCode, err)
	}
	if resp.StatusCode != 200 || strings.Count(doc.Output, "version-") != 1 || len(doc.Diagnostics.Skipped) > 0 {
		return fmt.Errorf("status %d: %+v, want 200 and the prompt of one version", resp.StatusCode, doc)
	}
	return nil
}

// No request fails while the configuration changes again and again, also in between to a broken
// one, and each is built with one version.
func TestReloadUnderLoad(t *testing.T) {
	dir := plugins(t, "keep-first")
	config := func(version int) string {
		return fmt.Sprintf("plugins: {dir: %q}\n", dir) + prompt(version) +
			"steps: [{name: k, use: keep-first, operation: filter}]\n"
	}
	l := start(t, config(0), Options{Unwatched: true})
	versions := 15
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		versions = 150
	}
	const clients = 8
	var failed, done atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := l.buildsWith(); err != nil {
					failed.Add(1)
					t.Error(err)
				}
				done.Add(1)
			}
		})
	}
	for version := 1; version <= versions && failed.Load() == 0 && !t.Failed(); version++ {
		before := done.Load()
		text, want := config(version), 200
		if version%3 == 0 {
			text, want = "tokenizr: words\n", 422
		}
		l.write(text)
		if got := l.control("POST", "/admin/v1/reload", ""); got.status != want {
			t.Errorf("reload of version %d: status %d, want %d: %s", version, got.status, want, got.body)
		}
		if !await.True(func() bool { return done.Load() >= before+clients }) { // each version has builds
			t.Errorf("version %d: %d builds, want %d", version, done.Load()-before, clients)
		}
	}
	close(stop)
	wg.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d builds failed", failed.Load(), done.Load())
	}
	if !await.True(func() bool { return l.app.Status().Draining == 0 }) {
		t.Fatalf("%d former versions are not closed", l.app.Status().Draining)
	}
}

// health is what /readyz?verbose answers.
type health struct {
	Status string
	healthDetails
}

// A changed file is loaded. A broken one is not, and shows; and one that is written with the same
// content changes nothing.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := plugins(t, "keep-first")
	text := fmt.Sprintf("plugins: {dir: %q}\n", dir)
	l := start(t, text+prompt(1), Options{})
	wait := func(what string, ok func(health) bool) {
		t.Helper()
		var doc health
		if !await.True(func() bool {
			doc = health{}
			l.control("GET", "/readyz?verbose", "").into(t, &doc)
			return ok(doc)
		}) {
			t.Fatalf("%s: %+v", what, doc)
		}
	}
	l.write(text + prompt(2))
	wait("a new file", func(d health) bool { return d.Generation == 2 })
	if got := l.api("POST", "/v1/builds", fromPipeline); !strings.Contains(string(got.body), "version-2") {
		t.Errorf("built with the old file: %s", got.body)
	}
	l.write("broken\n")
	wait("a broken file", func(d health) bool {
		return d.Generation == 2 && d.Reload != nil && !d.Reload.OK && d.Status == "ready" && d.Reload.Error.Message != ""
	})
	if got := l.api("POST", "/v1/builds", fromPipeline); !strings.Contains(string(got.body), "version-2") {
		t.Errorf("after a broken file: %s", got.body)
	}
	l.write(text + prompt(2))
	wait("a mended file", func(d health) bool { return d.Generation == 3 && d.Reload.OK })
	l.write(text + prompt(2)) // the same content
	module := filepath.Join(dir, "keep-first", "plugin.wasm")
	data, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(watched.Settle + 300*time.Millisecond) // nothing must happen in this time
	if st := l.app.Status(); st.Number != 3 {
		t.Errorf("the same content was loaded again: generation %d", st.Number)
	}
	if err := os.WriteFile(module, append(data, 0, 2, 1, 'x'), 0o644); err != nil { // a custom section
		t.Fatal(err)
	}
	wait("a new module", func(d health) bool { return d.Generation == 4 })
	if err := os.WriteFile(filepath.Join(filepath.Dir(l.file()), "anchor.lock"), []byte("version: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wait("a new lock", func(d health) bool { return d.Generation == 5 })
	if !strings.Contains(l.log.String(), "configuration is not reloaded") {
		t.Errorf("log: %s", l.log)
	}
}

// Settings that need a restart are named.
func TestReloadNamesWhatNeedsARestart(t *testing.T) {
	l := start(t, words, Options{Unwatched: true})
	l.write(words + "server: {max_body: 1MiB}\nsteps: [{name: s, use: none}]\n")
	var doc reloaded
	got := l.control("POST", "/admin/v1/reload", "")
	got.into(t, &doc)
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "server.max_body") || len(doc.NotReady) != 1 || doc.Generation != 2 {
		t.Errorf("answer: %s", got.body)
	}
	var ready health
	l.control("GET", "/readyz?verbose", "").into(t, &ready)
	if ready.Status != "ready" || len(ready.NotReady) != 1 {
		t.Errorf("readiness: %+v", ready)
	}
	l.write(words + "plugins: {instances: {i: {plugin: none, must: true}}}\n")
	if got := l.control("POST", "/admin/v1/reload", ""); got.status != 422 || !strings.Contains(string(got.body), "instances.i: plugin") || !strings.Contains(string(got.body), "generation 2 serves on") {
		t.Errorf("a plugin that must answer and is missing: %d %s", got.status, got.body)
	}
}

// An anchor.lock that cannot be understood would stop all plugins, so the version in use stays.
func TestReloadRefusesABrokenLock(t *testing.T) {
	text := fmt.Sprintf("plugins: {dir: %q}\ncounting: {tokenizer: words}\nsteps: [{name: s, use: keep-first, must: true}]\npipelines: {main: {}}\n", plugins(t, "keep-first"))
	l := start(t, text, Options{Unwatched: true})
	if err := os.WriteFile(filepath.Join(filepath.Dir(l.file()), "anchor.lock"), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := l.control("POST", "/admin/v1/reload", ""); got.status != 422 || !strings.Contains(string(got.body), "anchor.lock") || !strings.Contains(string(got.body), "generation 1 serves on") {
		t.Errorf("reload: %d %s", got.status, got.body)
	}
	if got := l.api("POST", "/v1/builds", `{"pipeline": "main", "query": "q", "items": [{"content": "a", "source": "user"}]}`); got.status != 200 {
		t.Errorf("build: %d %s", got.status, got.body)
	}
}

// A plugin that traps on every call fails its step, or the request if the step must answer; the
// service goes on.
func TestTrappingPlugin(t *testing.T) {
	dir := plugins(t, "trap")
	step := "steps: [{name: s, use: trap, must: %v}]"
	l := start(t, fmt.Sprintf("plugins: {dir: %q}\ncounting: {tokenizer: words}\npipelines: {skip: {"+step+"}, raise: {"+step+"}}\n", dir, false, true), Options{})
	for i := range 50 {
		items := `"items": [{"content": "a", "source": "retrieval"}]`
		got := l.api("POST", "/v1/builds", `{"query": "q", "pipeline": "skip", `+items+`}`)
		if got.status != 200 || !strings.Contains(string(got.body), `"skipped_steps":["s"]`) {
			t.Fatalf("skip, %d: %d %s", i, got.status, got.body)
		}
		got = l.api("POST", "/v1/builds", `{"query": "q", "pipeline": "raise", `+items+`}`)
		var doc struct {
			Error       struct{ Reason, Step, Plugin string }
			Diagnostics *struct{}
		}
		got.into(t, &doc)
		if got.status != 500 && got.status != 503 || doc.Error.Step != "s" || doc.Error.Plugin != "trap" || doc.Diagnostics == nil {
			t.Fatalf("raise, %d: %d %s", i, got.status, got.body)
		}
		if got.status == 503 && (doc.Error.Reason != "circuit_open" || got.header.Get("Retry-After") == "") {
			t.Fatalf("raise, %d: %s", i, got.body)
		}
	}
	var list pluginsDoc
	l.control("GET", "/admin/v1/plugins", "").into(t, &list)
	if len(list.Plugins) != 1 || list.Plugins[0].Failed == 0 || list.Plugins[0].CircuitState == "closed" {
		t.Errorf("plugins: %+v", list)
	}
}

// The service ends in three phases.
func TestDrain(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	block := func(c *call) (any, error) {
		select {
		case <-release:
			return struct{}{}, nil
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
	}
	begin := func(t *testing.T, o Options) (*live, chan answer) {
		l := start(t, words, o)
		if err := l.Server.data.add(endpoint{Route: Route{Method: "GET", Path: "/block", Action: "block", Scope: ScopeBuild}, serve: block}); err != nil {
			t.Fatal(err)
		}
		got := make(chan answer, 1)
		go func() { got <- l.api("GET", "/block", "") }()
		if !await.True(func() bool { return l.Running() > 0 }) {
			t.Fatal("the request does not run")
		}
		return l, got
	}
	t.Run("in order", func(t *testing.T) {
		l, got := begin(t, Options{DrainDelay: 3 * time.Second, DrainTimeout: time.Hour})
		l.end()
		if !await.True(l.Draining) {
			t.Fatal("the service does not end")
		}
		for _, a := range []answer{l.api("GET", "/readyz", ""), l.control("GET", "/readyz", "")} {
			if a.status != 503 || !strings.Contains(string(a.body), "draining") {
				t.Errorf("readyz: %d %s", a.status, a.body)
			}
		}
		if a := l.api("POST", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`); a.status != 200 {
			t.Errorf("a request in the first phase: %d", a.status)
		}
		if !await.True(func() bool { // the second phase
			conn, err := net.Dial("tcp", l.data)
			if err == nil {
				conn.Close()
			}
			return err != nil
		}) {
			t.Error("the listener is still open in the second phase")
		}
		if a := l.control("GET", "/livez", ""); a.status != 200 {
			t.Errorf("the admin listener in the second phase: %d", a.status)
		}
		release <- struct{}{}
		if a := <-got; a.status != 200 {
			t.Errorf("the running request: %d %s", a.status, a.body)
		}
		if err := l.stop(); err != nil {
			t.Error(err)
		}
	})
	for name, o := range map[string]Options{"cut by time": {DrainTimeout: 100 * time.Millisecond}, "cut by a second signal": {DrainDelay: time.Hour, DrainTimeout: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			l, got := begin(t, o)
			l.end()
			if o.DrainTimeout == time.Hour {
				l.Cut()
			}
			if a := <-got; a.status != 503 || a.reason() != "draining" {
				t.Errorf("the request that is cut: %d %s", a.status, a.body)
			}
			if err := l.stop(); err != nil {
				t.Errorf("the end of the service: %v", err)
			}
			if !strings.Contains(l.log.String(), "requests are cut") {
				t.Errorf("log: %s", l.log)
			}
		})
	}
}

// Addresses that others reach need keys.
func TestOpenAddresses(t *testing.T) {
	s := newServer(t, words, Options{})
	for address, open := range map[string]bool{
		"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false, "0.0.0.0:0": true, ":0": true, "[::]:0": true, "192.0.2.1:0": true, "example.com:0": true,
	} {
		if err := s.o.checkAddress("listen", address); errors.Is(err, errOpen) != open {
			t.Errorf("%s: %v", address, err)
		}
	}
	s.o.Listen = ":0"
	if err := s.Run(t.Context()); !errors.Is(err, errOpen) || !strings.Contains(err.Error(), "server.keys") {
		t.Errorf("run: %v", err)
	}
	s.o.Authenticator = staticKeys{}
	if err := s.o.checkAddress("listen", "0.0.0.0:0"); err != nil {
		t.Errorf("with keys: %v", err)
	}
}
