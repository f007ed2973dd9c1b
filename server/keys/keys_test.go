package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/quota"
)

// keyed writes a file with one key and returns both.
func keyed(t *testing.T, name string, more ...func(*Key)) (path string, token Token) {
	t.Helper()
	path, token = filepath.Join(t.TempDir(), name), NewToken()
	k := Key{ID: token.ID, SHA256: token.Digest(), Tenant: "acme", Scopes: []string{"build"}}
	for _, change := range more {
		change(&k)
	}
	add(t, path, k)
	return path, token
}

func add(t *testing.T, path string, k Key) {
	t.Helper()
	err := Edit(t.Context(), path, func(f *File) error { f.Keys = append(f.Keys, k); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(s *Store, header ...string) (server.Principal, error) {
	r := &http.Request{Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return s.Authenticate(r)
}

func reason(err error) string {
	var r *server.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return fmt.Sprintf("%d %s", r.Status, r.Reason)
}

func TestAuthenticate(t *testing.T) {
	path, token := keyed(t, "keys.yaml")
	old, gone := NewToken(), NewToken()
	add(t, path, Key{ID: old.ID, SHA256: old.Digest(), Tenant: "acme", Scopes: []string{"build"}, Expires: time.Now().Add(-time.Second)})
	add(t, path, Key{ID: gone.ID, SHA256: gone.Digest(), Tenant: "acme", Scopes: []string{"build"}, Revoked: time.Now()})
	s, key := open(t, path), token.String()
	wrong := Token{ID: token.ID, Secret: NewToken().Secret}.String()
	for _, c := range []struct {
		name   string
		header []string
		want   string
	}{
		{"bearer", []string{"Authorization", "Bearer " + key}, ""},
		{"bearer in small letters", []string{"Authorization", "bearer  " + key}, ""},
		{"x-api-key", []string{"x-api-key", key}, ""},
		{"both", []string{"x-api-key", key, "Authorization", "Bearer " + key}, ""},
		{"none", nil, "401 no_key"},
		{"empty", []string{"x-api-key", ""}, "401 no_key"},
		{"another scheme", []string{"Authorization", "Basic " + key}, "401 no_key"},
		{"different", []string{"x-api-key", key, "Authorization", "Bearer " + wrong}, "400 two_keys"},
		{"two of one field", []string{"x-api-key", key, "x-api-key", wrong}, "400 two_keys"},
		{"one of them empty", []string{"x-api-key", key, "x-api-key", ""}, "400 two_keys"},
		{"another scheme beside a key", []string{"x-api-key", key, "Authorization", "Basic " + key}, "400 two_keys"},
		{"wrong secret", []string{"x-api-key", wrong}, "401 invalid_key"},
		{"unknown id", []string{"x-api-key", NewToken().String()}, "401 invalid_key"},
		{"secret cut", []string{"x-api-key", key[:len(key)-1]}, "401 invalid_key"},
		{"longer", []string{"x-api-key", key + "0"}, "401 invalid_key"},
		{"huge", []string{"x-api-key", strings.Repeat("a", 1<<20)}, "401 invalid_key"},
		{"expired", []string{"x-api-key", old.String()}, "401 expired_key"},
		{"revoked", []string{"x-api-key", gone.String()}, "401 revoked_key"},
		{"expired, wrong secret", []string{"x-api-key", Token{old.ID, token.Secret}.String()}, "401 invalid_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ask(s, c.header...)
			if got := reason(err); got != c.want {
				t.Fatalf("%q (%v), want %q", got, err, c.want)
			}
			if c.want == "" && (p.KeyID != token.ID || p.Tenant != "acme" || !p.Has("build") || p.Has("admin")) {
				t.Errorf("%+v", p)
			}
			if c.want != "" && p.Tenant != "" {
				t.Errorf("refused, but %+v", p)
			}
			if err != nil && (strings.Contains(err.Error(), token.Secret) || strings.Contains(err.Error(), token.ID)) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		k := NewToken()
		if back, ok := ParseToken(k.String()); !ok || back != k {
			t.Fatalf("%v: read as %v, %v", k, back, ok)
		}
		if seen[k.ID] || seen[k.Secret] {
			t.Fatal("twice the same")
		}
		seen[k.ID], seen[k.Secret] = true, true
	}
}

// Both forms keep everything, and the secret is in neither.
func TestFileKeepsEverything(t *testing.T) {
	for _, name := range []string{"keys.yaml", "keys.json"} {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		path, token := keyed(t, name, func(k *Key) {
			k.Created, k.Expires, k.Note = at, at.Add(time.Hour), "yes: \"#1\"\nno"
			k.Quotas = quota.Limits{RequestsPerSecond: 0.5, MemoryBytes: 64 << 20, FuelPerMinute: 1 << 40}
		})
		err := Edit(t.Context(), path, func(f *File) error {
			f.Tenants = map[string]quota.Limits{"acme": {ConcurrentBuilds: 3}, "123": {TokensPerMinute: 9}}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		k := f.Keys[0]
		if !k.Created.Equal(at) || !k.Expires.Equal(at.Add(time.Hour)) || k.Note != "yes: \"#1\"\nno" || k.Quotas.RequestsPerSecond != 0.5 ||
			k.Quotas.MemoryBytes != 64<<20 || k.Quotas.FuelPerMinute != 1<<40 {
			t.Errorf("%s: %+v", name, k)
		}
		if f.Limits("acme").ConcurrentBuilds != 3 || f.Limits("123").TokensPerMinute != 9 || f.Limits("other") != (quota.Limits{}) {
			t.Errorf("%s: %+v", name, f.Tenants)
		}
		data, _ := os.ReadFile(path)
		if strings.Contains(string(data), token.Secret) {
			t.Errorf("%s has the secret", name)
		}
		if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
}

func TestMistakesInFiles(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for content, want := range map[string]string{
		"keys: []":                    "version",
		"version: 2":                  "version",
		"version: 1\nkees: []":        "did you mean",
		"version: 1\nkeys: [{id: a}]": "sha256",
		"version: 1\nkeys: [{id: abcd, sha256: 12, tenant: a, scopes: [build]}]":                                                     "sha256",
		"version: 1\nkeys: [{id: 'a b c', sha256: " + sum + ", tenant: a, scopes: [build]}]":                                         "letters and digits",
		"version: 1\nkeys: [{id: abcd, sha256: " + sum + ", tenant: '', scopes: [build]}]":                                           "tenant",
		"version: 1\nkeys: [{id: abcd, sha256: " + sum + ", tenant: a, scopes: []}]":                                                 "scopes: none",
		"version: 1\nkeys: [{id: abcd, sha256: " + sum + ", tenant: a, scopes: [bild]}]":                                             "did you mean",
		"version: 1\nkeys: [{id: abcd, sha256: " + sum + ", tenant: a, scopes: [build, build]}]":                                     "twice",
		"version: 1\nkeys: [&k {id: abcd, sha256: " + sum + ", tenant: a, scopes: [build]}, *k]":                                     "is that of keys[0]",
		"version: 1\ndefault: {concurrent_builds: 0}":                                                                                "concurrent_builds",
		"version: 1\ndefault: {requests_per_second: -1}":                                                                             "requests_per_second",
		"version: 1\ntenants: {a: {memory_bytes: 5}}":                                                                                "memory_bytes",
		"version: 1\nkeys: [{id: abcd, sha256: " + sum + ", tenant: a, scopes: [build], note: '" + strings.Repeat("x", 1001) + "'}]": "note",
	} {
		_, err := Parse("keys.yaml", []byte(content))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "keys.yaml") {
			t.Errorf("%.60q: %v, want %q", content, err, want)
		}
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A broken file changes nothing, and a good one counts soon.
func TestWatch(t *testing.T) {
	path, token := keyed(t, "keys.yaml")
	s := open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var log lines
	go func() {
		defer close(done)
		s.Watch(ctx, time.Millisecond, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	defer func() { cancel(); <-done }()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("version: 1\nkeys: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool { return strings.Contains(log.String(), "cannot be used") }) {
		t.Fatal("the broken file is not read")
	}
	if _, err := ask(s, "x-api-key", token.String()); err != nil {
		t.Fatalf("after a broken file: %v", err)
	}
	if err := s.Reload(); !errors.Is(err, ErrInvalid) {
		t.Fatalf("a broken file: %v", err)
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	err = Edit(t.Context(), path, func(f *File) error { f.Keys[0].Revoked = time.Now(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool {
		_, err := ask(s, "x-api-key", token.String())
		return reason(err) == "401 revoked_key"
	}) {
		t.Fatal("the key is still accepted")
	}
}

// Editors wait for each other: no change is lost, and readers never see half a file.
func TestEditorsWait(t *testing.T) {
	path, _ := keyed(t, "keys.yaml")
	const editors, each = 4, 10
	var wg sync.WaitGroup
	for range editors {
		wg.Go(func() {
			for range each {
				k := NewToken()
				err := Edit(context.Background(), path, func(f *File) error {
					f.Keys = append(f.Keys, Key{ID: k.ID, SHA256: k.Digest(), Tenant: "t", Scopes: []string{"build"}})
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := Read(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f, err := Read(path)
	if err != nil || len(f.Keys) != 1+editors*each {
		t.Fatalf("%d keys, %v", len(f.Keys), err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEditThatFails(t *testing.T) {
	path, _ := keyed(t, "keys.yaml")
	before, _ := os.ReadFile(path)
	stop := errors.New("stop")
	if err := Edit(t.Context(), path, func(f *File) error { f.Keys = nil; return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := Edit(t.Context(), path, func(f *File) error { f.Keys[0].Tenant = ""; return nil }); !errors.Is(err, ErrInvalid) {
		t.Errorf("a file that could not be read again: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file changed")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func FuzzHeader(f *testing.F) {
	f.Add("Bearer ah_abcd_"+strings.Repeat("0", 32), "ah_abcd_"+strings.Repeat("0", 32), true)
	f.Add("Bearer ", "", false)
	f.Add("bearer\tx", "ah__", true)
	f.Fuzz(func(t *testing.T, authorization, apiKey string, both bool) {
		h := http.Header{"Authorization": {authorization}}
		if both {
			h[headerName] = []string{apiKey}
		}
		key, ok := sent(h)
		if !ok {
			if !both || key != "" {
				t.Fatalf("refused %q and %q (%v) with %q", authorization, apiKey, both, key)
			}
			return
		}
		if both && strings.Trim(apiKey, " ") != key {
			t.Fatalf("%q and %q: %q", authorization, apiKey, key)
		}
		if token, ok := ParseToken(key); ok && token.String() != key {
			t.Fatalf("%q is read as %q", key, token)
		}
	})
}

// What is read can be written and read again.
func FuzzParse(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add([]byte("version: 1\nkeys: [{id: abcd, sha256: "+sum+", tenant: a, scopes: [build], expires: 2026-01-02T03:04:05Z}]"), false)
	f.Add([]byte(`{"version":1,"default":{"memory_bytes":"1KiB"},"tenants":{"a":{"requests_per_second":0.5}},"keys":[]}`), true)
	f.Add([]byte("a: &a [*a]"), false)
	f.Fuzz(func(t *testing.T, data []byte, inJSON bool) {
		name := "k.yaml"
		if inJSON {
			name = "k.json"
		}
		file, err := Parse(name, data)
		if err != nil {
			return
		}
		out, err := file.encode(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(name, out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if len(again.Keys) != len(file.Keys) || len(again.Tenants) != len(file.Tenants) || again.Default != file.Default {
			t.Fatalf("%+v\n%+v", file, again)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	token := NewToken()
	s := &Store{now: time.Now}
	f := &File{Keys: []Key{{ID: token.ID, SHA256: token.Digest(), Tenant: "t", Scopes: []string{"build"}}}}
	s.current.Store(newTable(f, stamp{}))
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token.String()}}}
	for b.Loop() {
		if _, err := s.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}

// A key is accepted as its times and the clock say, also when the clock jumps.
func TestClockJumps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	token, made := NewToken(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	err := Edit(t.Context(), path, func(f *File) error {
		f.Keys = []Key{{ID: token.ID, SHA256: token.Digest(), Tenant: "acme", Scopes: []string{server.ScopeBuild}, Created: made, Expires: made.Add(24 * time.Hour), Revoked: made.Add(12 * time.Hour)}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{made, ""}, {made.Add(13 * time.Hour), "revoked_key"}, {made.Add(-1000 * time.Hour), ""}, {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), "revoked_key"}, {time.Unix(0, 0), ""}, {made.Add(time.Hour), ""},
	} {
		s.now = func() time.Time { return c.at }
		r, _ := http.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Api-Key", token.String())
		_, err := s.Authenticate(r)
		var refusal *server.Refusal
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refusal) || refusal.Reason != c.want) {
			t.Errorf("at %v: %v, want %q", c.at, err, c.want)
		}
	}
}
