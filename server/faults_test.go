package server

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// faultyStore is a store whose medium can fail.
type faultyStore struct {
	store.Store
	reads, writes atomic.Pointer[error] // what they fail with
}

func (f *faultyStore) fail(of *atomic.Pointer[error]) error {
	if err := of.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *faultyStore) set(reads, writes error) {
	for of, err := range map[*atomic.Pointer[error]]error{&f.reads: reads, &f.writes: writes} {
		if of.Store(nil); err != nil {
			of.Store(&err)
		}
	}
}

func (f *faultyStore) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if err := f.fail(&f.writes); err != nil {
		return 0, err
	}
	return f.Store.Append(ctx, key, recs...)
}

func (f *faultyStore) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if err := f.fail(&f.writes); err != nil {
		return err
	}
	return f.Store.Put(ctx, key, rec)
}

func (f *faultyStore) Apply(ctx context.Context, changes ...store.Change) error {
	if err := f.fail(&f.writes); err != nil {
		return err
	}
	return f.Store.Apply(ctx, changes...)
}

func (f *faultyStore) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	if err := f.fail(&f.reads); err != nil {
		return nil, err
	}
	return f.Store.Read(ctx, key, after, limit)
}

func (f *faultyStore) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	if err := f.fail(&f.reads); err != nil {
		return nil, err
	}
	return f.Store.Last(ctx, key, n)
}

func (f *faultyStore) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	if err := f.fail(&f.reads); err != nil {
		return store.Record{}, err
	}
	return f.Store.Get(ctx, key, id)
}

func (f *faultyStore) Keys(ctx context.Context, tenant, kind string) ([]store.Key, error) {
	if err := f.fail(&f.reads); err != nil {
		return nil, err
	}
	return f.Store.Keys(ctx, tenant, kind)
}

// startFaulty starts a server with such a store.
func startFaulty(t *testing.T, yaml string) (*live, *faultyStore) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	f := &faultyStore{Store: s}
	t.Cleanup(func() {
		f.set(nil, nil)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return startWith(t, yaml, anchor.Options{Store: f}, Options{}), f
}

const noStore = `{"query": "q", "items": [{"content": "a", "source": "retrieval"}]}`

// While the store is away, readyz says so, what needs it is refused for now, and builds that do not
// need it go on. When it is back, everything is as before.
func TestStoreIsAway(t *testing.T) {
	l, f := startFaulty(t, words)
	ask := func(name string, status int, reason string, a answer) {
		t.Helper()
		if a.status != status || reason != "" && a.reason() != reason || strings.Contains(string(a.body), "10.0.0.5") {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, status, reason)
		}
	}
	ready := func(name string, fails bool) {
		t.Helper()
		a := l.control("GET", "/readyz?verbose", "")
		var doc health
		if a.into(t, &doc); a.status != 200 || (doc.Store != nil) != fails {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	ask("before", 201, "", l.api("POST", "/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "hello"}]}`))
	ready("before", false)
	away := fmt.Errorf("%w: %w", store.ErrBusy, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 5432}, Err: syscall.ECONNREFUSED})
	f.set(away, away)
	ready("away", true)
	for range 20 {
		ask("a build without the store", 200, "", l.api("POST", "/v1/builds", noStore))
	}
	a := l.api("GET", "/v1/conversations/c/turns", "")
	ask("a read", 503, "busy", a)
	if a.header.Get("Retry-After") == "" {
		t.Error("a read: no Retry-After")
	}
	ask("a write", 503, "busy", l.api("POST", "/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "x"}]}`))
	ask("a build with the store", 503, "busy", l.api("POST", "/v1/builds?conversation=c", noStore))
	ask("health", 200, "", l.api("GET", "/readyz", ""))
	f.set(nil, nil)
	ready("back", false)
	ask("a build with the store", 200, "", l.api("POST", "/v1/builds?conversation=c&remember=true", noStore))
	if a := l.api("GET", "/v1/conversations/c/turns", ""); strings.Count(string(a.body), `"role"`) != 2 {
		t.Errorf("the turns afterwards: %s", a.body)
	}
}

// On a full disk what writes is refused with 507, and the rest goes on: reads, builds, and the records
// of builds are dropped.
func TestFullDisk(t *testing.T) {
	l, f := startFaulty(t, words+"builds: {records: {}}\nmemory: {facts: {}}\n")
	if a := l.api("POST", "/v1/memory/facts", `{"id": "f", "content": "a fact"}`); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	f.set(nil, fmt.Errorf("%w: write /srv/data/s.db: %w", store.ErrFull, syscall.ENOSPC))
	for path, doc := range map[string]string{
		"/v1/memory/facts": `{"content": "b"}`, "/v1/conversations/c/turns": `{"turns": [{"role": "user", "content": "x"}]}`, "/v1/runs/r/frames": `{"kind": "tool_call", "summary": "x"}`,
	} {
		if a := l.api("POST", path, doc); a.status != 507 || a.reason() != "store_full" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for range 20 {
		if a := l.api("POST", "/v1/builds", noStore); a.status != 200 || !strings.Contains(string(a.body), "a fact") {
			t.Fatalf("a build: %d %s", a.status, a.body)
		}
	}
	if a := l.api("GET", "/v1/memory/facts/f", ""); a.status != 200 {
		t.Errorf("a read: %d %s", a.status, a.body)
	}
	if a := l.control("GET", "/readyz", ""); a.status != 200 {
		t.Errorf("readyz: %d", a.status)
	}
	f.set(nil, nil)
	if a := l.api("POST", "/v1/memory/facts", `{"content": "b"}`); a.status != 201 {
		t.Errorf("with room again: %d %s", a.status, a.body)
	}
}

// A service whose store a newer version has taken over says so, and what to do.
func TestNewerStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	overrides := map[string]string{"store.path": path, "store.synchronous": "normal"}
	l := startWith(t, words+"memory: {facts: {}}\n", anchor.Options{Overrides: overrides}, Options{})
	if a := l.api("POST", "/v1/memory/facts", `{"id": "f", "content": "a fact"}`); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{
		l.api("POST", "/v1/memory/facts", `{"content": "b"}`), l.api("GET", "/v1/memory/facts/f", ""), l.api("DELETE", "/v1/memory/facts/f", ""), l.api("POST", "/v1/builds", noStore),
	} {
		if a.status != 507 || a.reason() != "store_newer" || !strings.Contains(string(a.body), "restart this service") || strings.Contains(string(a.body), path) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// A plugin that traps on every call rests after some, which its metrics show, and another plugin is
// called as before.
func TestTrappingPluginAlone(t *testing.T) {
	l := start(t, fmt.Sprintf(`
plugins: {dir: %q}
counting: {tokenizer: words}
pipelines:
  bad: {steps: [{name: s, use: trap, must: true}]}
  good: {steps: [{name: k, use: keep-first, operation: filter, must: true}]}
`, plugins(t, "trap", "keep-first")), Options{})
	paused := 0
	for range 100 {
		doc := strings.Replace(noStore, "{", `{"pipeline": "bad", `, 1)
		if a := l.api("POST", "/v1/builds", doc); a.status == 503 && a.reason() == "circuit_open" {
			paused++
		} else if a.status != 500 || a.reason() != "trap" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if a := l.api("POST", "/v1/builds", strings.Replace(doc, "bad", "good", 1)); a.status != 200 {
			t.Fatalf("the other plugin: %d %s", a.status, a.body)
		}
	}
	var list pluginsDoc
	l.control("GET", "/admin/v1/plugins", "").into(t, &list)
	for _, p := range list.Plugins {
		if p.Name == "trap" && (p.CircuitState == "" || p.CircuitState == "closed" || p.Failed == 0) || p.Name == "keep-first" && (p.Failed != 0 || p.Calls != 100) {
			t.Errorf("%+v", p)
		}
	}
	if paused == 0 || len(list.Plugins) != 2 {
		t.Errorf("%d of 100 calls were refused; plugins %+v", paused, list.Plugins)
	}
}
