package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// staticKeys knows two tenants, and a key that may only read.
type staticKeys struct{}

var staticPrincipals = map[string]Principal{
	"a": {KeyID: "ka", Tenant: "tenant-a", Scopes: []string{ScopeBuild, ScopeMemoryRead, ScopeMemoryWrite, ScopeCollections, ScopeCollectionsWrite}},
	"b": {KeyID: "kb", Tenant: "tenant-b", Scopes: []string{ScopeBuild, ScopeMemoryRead, ScopeMemoryWrite, ScopeCollections, ScopeCollectionsWrite}},
	"n": {KeyID: "kn", Tenant: "tenant-a", Scopes: []string{ScopeBuild}},
	"r": {KeyID: "kr", Tenant: "tenant-a", Scopes: []string{ScopeMemoryRead}},
	"x": {KeyID: "kx", Scopes: []string{ScopeAdmin}},
}

func (staticKeys) Authenticate(r *http.Request) (Principal, error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "old" {
		return Principal{}, &Refusal{Status: 401, Reason: "expired", Message: "the key has expired", Remedy: "make a new one", Header: http.Header{"Www-Authenticate": {"Bearer"}}}
	}
	p, ok := staticPrincipals[key]
	if !ok {
		return p, errors.New("secret detail")
	}
	return p, nil
}

// Requests without a key, or with one that may not do it, are refused before their body is read.
func TestScopes(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}})
	for _, target := range l.targets() {
		url := "http://" + target.base + target.path
		for key, want := range map[string]int{"": 401, "wrong": 401, "old": 401, "a": 403, "r": 403, "x": 403} {
			p, known := staticPrincipals[key]
			switch {
			case target.Scope == ScopeNone:
				want = 200
			case known && (p.Has(target.Scope) || target.other != "" && p.Has(target.other)):
				continue
			}
			got := l.do(target.Method, url, "", "Authorization", "Bearer "+key)
			if got.status != want || strings.Contains(string(got.body), "secret detail") {
				t.Errorf("%s %s with key %q: %d %s, want %d", target.Method, target.path, key, got.status, got.body, want)
			}
			if want == 401 && got.header.Get("Www-Authenticate") == "" {
				t.Errorf("%s %s with key %q: no challenge", target.Method, target.path, key)
			}
		}
	}
	if got := l.api("GET", "/livez", ""); got.status != 200 {
		t.Errorf("livez without a key: %d", got.status)
	}
	if got := l.control("GET", "/readyz?verbose", ""); got.status != 401 {
		t.Errorf("readyz?verbose without a key: %d", got.status)
	}
	if got := l.do("POST", "http://"+l.data+"/v1/memory/search", `{"query": "q", "touch": true}`, "Authorization", "Bearer r"); got.status != 403 {
		t.Errorf("touch with a key that reads: %d", got.status)
	}
}

// A tenant sees nothing of another one, and cannot name it.
func TestTenants(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}})
	as := func(key, method, path, body string) answer {
		t.Helper()
		return l.do(method, "http://"+l.data+path, body, "Authorization", "Bearer "+key)
	}
	for _, setup := range [][2]string{
		{"/v1/memory/facts", `{"id": "f", "content": "secret of a"}`}, {"/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "secret of a"}]}`},
		{"/v1/runs/r/frames", `{"kind": "tool_call", "summary": "secret of a"}`},
	} {
		if got := as("a", "POST", setup[0], setup[1]); got.status != 201 {
			t.Fatalf("%s: %d %s", setup[0], got.status, got.body)
		}
	}
	for _, path := range []string{
		"/v1/memory/facts", "/v1/memory/facts/f", "/v1/conversations", "/v1/conversations/c/turns", "/v1/runs", "/v1/runs/r/frames", "/v1/runs/r/window", "/v1/evals", "/v1/collections",
	} {
		if got := as("b", "GET", path, ""); strings.Contains(string(got.body), "secret") || strings.Contains(string(got.body), `"id":"c"`) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	for _, path := range []string{"/v1/memory/facts/f", "/v1/memory/facts?all=true", "/v1/conversations/c", "/v1/runs/r"} {
		as("b", "DELETE", path, "")
	}
	for _, path := range []string{"/v1/memory/facts/f", "/v1/conversations/c/turns", "/v1/runs/r/frames"} {
		if got := as("a", "GET", path, ""); !strings.Contains(string(got.body), "secret of a") {
			t.Errorf("%s after another tenant deleted: %s", path, got.body)
		}
	}
	for _, target := range l.targets() {
		if target.body != jsonBody || target.base != l.data || target.Action == "assemble" {
			continue
		}
		for tenant, want := range map[string]int{"tenant-a": 403, "tenant-b": 422} {
			got := as("b", target.Method, target.path, `{"tenant": "`+tenant+`"}`)
			if got.status != want {
				t.Errorf("%s: a document that names %s: %d %s", target.path, tenant, got.status, got.body)
			}
		}
	}
	got := as("b", "POST", "/v1/assemble", `{"tenant": "tenant-a", "messages": []}`)
	if got.status != 403 {
		t.Errorf("assemble: a document that names another tenant: %d %s", got.status, got.body)
	}
}

// countingAdmission admits, refuses or fails, and counts what is released.
type countingAdmission struct {
	mu       sync.Mutex
	err      error
	admitted []Cost
	released []Usage
}

func (a *countingAdmission) Admit(ctx context.Context, p Principal, c Cost) (func(Usage), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return nil, a.err
	}
	if PrincipalOf(ctx).KeyID != p.KeyID {
		return nil, errors.New("the context has another principal")
	}
	a.admitted = append(a.admitted, c)
	return func(u Usage) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.released = append(a.released, u)
	}, nil
}

func TestAdmission(t *testing.T) {
	a := &countingAdmission{}
	l := start(t, words, Options{Admission: a})
	doc := `{"query": "q", "counting": {"tokenizer": "words"}, "items": [{"content": "a b c", "source": "retrieval"}]}`
	l.api("GET", "/livez", "")
	l.control("GET", "/admin/v1/config", "")
	if got := l.api("POST", "/v1/builds", doc); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := l.api("POST", "/v1/builds", `{}`); got.status != 422 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	wait := func(n int) {
		t.Helper()
		released := 0
		if !await.True(func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			released = len(a.released)
			return released == n
		}) {
			t.Fatalf("%d of %d are released", released, n)
		}
	}
	wait(2)
	if c := a.admitted[0]; c.Action != "build" || c.Scope != ScopeBuild || c.Bytes != int64(len(doc)) || c.RequestID == "" {
		t.Errorf("cost: %+v", c)
	}
	if u := a.released[0]; u.Status != 200 || u.Tokens != 3 || u.Bytes == 0 || u.Took <= 0 {
		t.Errorf("usage: %+v", u)
	}
	if u := a.released[1]; u.Status != 422 {
		t.Errorf("usage of a refused document: %+v", u)
	}
	a.err = &Refusal{Status: 429, Reason: "quota_exceeded", Message: "too many builds", RetryAfter: 1500 * time.Millisecond, Header: http.Header{"Ratelimit": {"x"}}}
	got := l.api("POST", "/v1/builds", doc)
	if got.status != 429 || got.reason() != "quota_exceeded" || got.header.Get("Retry-After") != "2" || got.header.Get("RateLimit") != "x" {
		t.Errorf("refused: %d %v %s", got.status, got.header, got.body)
	}
	a.err = errors.New("secret detail")
	if got := l.api("POST", "/v1/builds", doc); got.status != 503 || strings.Contains(string(got.body), "secret detail") {
		t.Errorf("failed: %d %s", got.status, got.body)
	}
	wait(2)
}

// Routes of others are mounted beside those of the server, under its rules.
func TestMount(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}, MaxBody: 100})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(PrincipalOf(r.Context()).Tenant + r.PathValue("id")))
	})
	for _, r := range []Route{
		{Method: "POST", Path: "/v1/things/{id}", Action: "thing", Scope: ScopeBuild, Handler: h}, {Method: "GET", Path: "/v1/things/{id}", Action: "getThing", Scope: ScopeNone, Handler: h},
	} {
		if err := l.Mount(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.MountAdmin(Route{Method: "GET", Path: "/console/", Action: "console", Scope: ScopeAdmin, Handler: h}); err != nil {
		t.Fatal(err)
	}
	if got := l.do("POST", "http://"+l.data+"/v1/things/7?any=1", "text", "Authorization", "Bearer a", "Content-Type", "text/plain"); string(got.body) != "tenant-a7" {
		t.Errorf("mounted: %d %s", got.status, got.body)
	}
	if got := l.do("POST", "http://"+l.data+"/v1/things/7", strings.Repeat("a", 200), "Authorization", "Bearer a"); got.status != 413 {
		t.Errorf("a large body: %d", got.status)
	}
	if got := l.control("GET", "/console/style.css", ""); got.status != 401 {
		t.Errorf("console without a key: %d", got.status)
	}
	if got := l.do("GET", "http://"+l.admin+"/console/style.css", "", "Authorization", "Bearer x"); got.status != 200 {
		t.Errorf("console: %d", got.status)
	}
	for name, r := range map[string]Route{
		"no handler": {Method: "GET", Path: "/a", Action: "a", Scope: ScopeNone}, "no scope": {Method: "GET", Path: "/a", Action: "a", Handler: h},
		"no action": {Method: "GET", Path: "/a", Scope: ScopeNone, Handler: h}, "method": {Method: "BREW", Path: "/a", Action: "a", Scope: ScopeNone, Handler: h},
		"taken": {Method: "POST", Path: "/v1/builds", Action: "a", Scope: ScopeNone, Handler: h}, "pattern": {Method: "GET", Path: "/{", Action: "a", Scope: ScopeNone, Handler: h},
		"path": {Method: "GET", Path: "a", Action: "a", Scope: ScopeNone, Handler: h}, "overlap": {Method: "GET", Path: "/v1/things/{other}", Action: "a", Scope: ScopeNone, Handler: h},
	} {
		if err := l.Mount(r); err == nil {
			t.Errorf("%s: mounted", name)
		}
	}
}
