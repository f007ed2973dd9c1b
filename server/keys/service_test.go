package keys_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
)

// service is a server with keys.
type service struct {
	t          *testing.T
	api, admin http.Handler
	app        *anchor.App
	file       string
	store      *keys.Store
}

// serve starts a service that soon sees a change of its keys.
func serve(t *testing.T) *service { return serveWatching(t, true) }

func serveWatching(t *testing.T, watch bool) *service {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	config := "counting: {tokenizer: words}\nbuilds: {records: {content: true}}\nmemory: {conversation: {id: c}, facts: {}}\nsteps: [{name: s, use: sort}]\nstore: {path: s.db, synchronous: normal}\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, app: app, file: filepath.Join(dir, "keys.yaml")}
	s.key("first", keys.Scopes)
	store, err := keys.Open(s.file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if watch {
			store.Watch(ctx, time.Millisecond, slog.New(slog.DiscardHandler))
		}
	}()
	h, err := server.New(app, server.Options{Authenticator: store, Admission: quota.New(quota.Options{Limits: store.Limits, Stored: app.Stored})})
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.api, s.admin = store, h.Handler(), h.AdminHandler()
	t.Cleanup(func() {
		cancel()
		<-watching
		h.Close()
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// key makes a key.
func (s *service) key(tenant string, scopes []string, more ...func(*keys.Key)) string {
	s.t.Helper()
	token := keys.NewToken()
	k := keys.Key{ID: token.ID, SHA256: token.Digest(), Tenant: tenant, Scopes: scopes}
	for _, change := range more {
		change(&k)
	}
	err := keys.Edit(s.t.Context(), s.file, func(f *keys.File) error { f.Keys = append(f.Keys, k); return nil })
	if err != nil {
		s.t.Fatal(err)
	}
	return token.String()
}

// send sends a request, after the service has read the keys.
func (s *service) send(method, path, key, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	w, h := httptest.NewRecorder(), s.api
	if strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, "/debug/") {
		h = s.admin
	}
	h.ServeHTTP(w, r)
	return w
}

// known waits until the service knows a key.
func (s *service) known(key string) {
	s.t.Helper()
	if !await.True(func() bool {
		return !strings.Contains(s.send("GET", "/v1/evals", key, "").Body.String(), "invalid_key")
	}) {
		s.t.Fatal("unknown key")
	}
}

// operation is an operation of the OpenAPI document.
type operation struct{ method, path, id string }

// operations are all operations that need a key.
func operations(t *testing.T) (list []operation) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(server.OpenAPI("1"), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if !slices.Contains([]string{"livez", "readyz", "openapi"}, o.ID) {
				list = append(list, operation{strings.ToUpper(method), path, o.ID})
			}
		}
	}
	if len(list) < 25 {
		t.Fatalf("only %d operations", len(list))
	}
	return list
}

// scopeOf is the scope that an operation must need.
func scopeOf(o operation) string {
	switch {
	case strings.HasSuffix(o.path, "/failures"):
		return server.ScopeBuild // admin sees those of all tenants
	case strings.HasPrefix(o.path, "/admin/"), strings.HasPrefix(o.path, "/debug/"):
		return server.ScopeAdmin
	case strings.HasPrefix(o.path, "/v1/jobs"), o.id == "addDocuments", o.id == "deleteDocument":
		return server.ScopeCollectionsWrite
	case strings.HasPrefix(o.path, "/v1/collections"):
		return server.ScopeCollections
	case o.id == "deleteBuild":
		return server.ScopeMemoryWrite
	case o.path == "/v1/rollout":
		return server.ScopeAdmin
	case strings.HasPrefix(o.path, "/v1/builds"), o.path == "/v1/assemble", o.path == "/v1/costs", strings.HasPrefix(o.path, "/v1/evals"):
		return server.ScopeBuild
	case o.method == "GET", o.id == "searchFacts":
		return server.ScopeMemoryRead
	}
	return server.ScopeMemoryWrite
}

var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// Each operation needs a key that is known, not expired, not revoked, and has its scope.
func TestEachOperationNeedsAKey(t *testing.T) {
	s := serve(t)
	type sender struct {
		name, key string
		status    int // 0: by the scope
		scope     string
	}
	good := s.key("acme", keys.Scopes)
	senders := []sender{
		{"no key", "", 401, ""},
		{"a wrong secret", good[:len(good)-1] + "-", 401, ""},
		{"another secret", good[:len(good)-32] + keys.NewToken().Secret, 401, ""},
		{"an unknown key", keys.NewToken().String(), 401, ""},
		{"an expired key", s.key("acme", keys.Scopes, func(k *keys.Key) { k.Expires = time.Now().Add(-time.Second) }), 401, ""},
		{"a revoked key", s.key("acme", keys.Scopes, func(k *keys.Key) { k.Revoked = time.Now().Add(-time.Second) }), 401, ""},
	}
	for _, scope := range keys.Scopes {
		senders = append(senders, sender{"a key with " + scope, s.key("acme", []string{scope}), 0, scope})
	}
	s.known(senders[len(senders)-1].key)
	for _, o := range operations(t) {
		if o.id == "pprof" { // takes seconds
			continue
		}
		path := parameter.ReplaceAllString(o.path, "1")
		for _, from := range senders {
			got := s.send(o.method, path, from.key, "")
			want := from.status
			either := strings.HasPrefix(o.path, "/v1/jobs") && from.scope == server.ScopeBuild ||
				strings.HasSuffix(o.path, "/failures") && from.scope == server.ScopeAdmin
			if want == 0 && from.scope != scopeOf(o) && !either {
				want = 403
			}
			refused := got.Code == 401 || got.Code == 403
			if refused != (want != 0) || refused && got.Code != want {
				t.Errorf("%s %s with %s: %d %s, want %d", o.method, path, from.name, got.Code, got.Body, want)
			}
			if got.Code == 401 && got.Header().Get("Www-Authenticate") == "" {
				t.Errorf("%s %s with %s: no challenge", o.method, path, from.name)
			}
		}
		if got := s.send(o.method, path, good, "", "Authorization", "Bearer "+senders[3].key); got.Code != 400 {
			t.Errorf("%s %s with two keys: %d", o.method, path, got.Code)
		}
	}
}

// With a key of another tenant, no operation shows or changes what an id names.
func TestEachIDBelongsToATenant(t *testing.T) {
	s := serve(t)
	owner, other := s.key("owner", keys.Scopes), s.key("other", keys.Scopes)
	s.known(other)
	as := func(key, method, path, body string, want int, header ...string) []byte {
		t.Helper()
		got := s.send(method, path, key, body, header...)
		if got.Code != want {
			t.Errorf("%s %s: %d %s, want %d", method, path, got.Code, got.Body, want)
		}
		return got.Body.Bytes()
	}
	as(owner, "POST", "/v1/memory/facts", `{"id": "f", "content": "a secret"}`, 201)
	as(owner, "POST", "/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "a secret"}]}`, 201)
	as(owner, "POST", "/v1/runs/r/frames", `{"kind": "tool_call", "summary": "a secret"}`, 201)
	source := ingest.Source{Path: "secret.md", Reader: strings.NewReader("A secret train.\n")}
	if _, err := s.app.Ingest(t.Context(), []ingest.Source{source}, ingest.Options{Collection: retrieve.Collection{Tenant: "owner", Name: "docs"}}); err != nil {
		t.Fatal(err)
	}
	build := s.send("POST", "/v1/builds?user=ann", owner, `{"query": "a secret", "counting": {"tokenizer": "words"}}`).Header().Get("Anchor-Build-Id")
	var job struct{ ID string }
	if err := json.Unmarshal(as(owner, "POST", "/v1/collections/docs/documents?name=other.md", "a secret ferry", 202), &job); err != nil {
		t.Fatal(err)
	}
	eval, tested := startEval(t, s, owner), map[string]bool{}
	for _, c := range []struct {
		operation
		path, body string
		want       int
	}{
		{operation{"GET", "/v1/memory/facts/{id}", ""}, "/v1/memory/facts/f", "", 404},
		{operation{"DELETE", "/v1/memory/facts/{id}", ""}, "/v1/memory/facts/f", "", 404},
		{operation{"GET", "/v1/conversations/{id}/turns", ""}, "/v1/conversations/c/turns", "", 200},
		{operation{"DELETE", "/v1/conversations/{id}/turns/{turn}", ""}, "/v1/conversations/c/turns/1", "", 404},
		{operation{"DELETE", "/v1/conversations/{id}", ""}, "/v1/conversations/c", "", 200},
		{operation{"POST", "/v1/conversations/{id}/turns", ""}, "/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "mine"}]}`, 201},
		{operation{"GET", "/v1/runs/{id}/frames", ""}, "/v1/runs/r/frames", "", 200},
		{operation{"GET", "/v1/runs/{id}/window", ""}, "/v1/runs/r/window", "", 404},
		{operation{"DELETE", "/v1/runs/{id}", ""}, "/v1/runs/r", "", 200},
		{operation{"POST", "/v1/runs/{id}/frames", ""}, "/v1/runs/r/frames", `{"kind": "tool_call", "summary": "mine"}`, 201},
		{operation{"DELETE", "/v1/users/{id}", ""}, "/v1/users/ann", "", 200},
		{operation{"GET", "/v1/cuts/{handle}", ""}, "/v1/cuts/cut-00000000000000000000?run=r", "", 404},
		{operation{"GET", "/v1/collections/{collection}", ""}, "/v1/collections/docs", "", 404},
		{operation{"POST", "/v1/collections/{collection}/search", ""}, "/v1/collections/docs/search", `{"query": "train"}`, 404},
		{operation{"GET", "/v1/collections/{collection}/documents", ""}, "/v1/collections/docs/documents", "", 404},
		{operation{"DELETE", "/v1/collections/{collection}/documents/{id}", ""}, "/v1/collections/docs/documents/-%2Fsecret.md", "", 404},
		{operation{"POST", "/v1/collections/{collection}/documents", ""}, "/v1/collections/docs/documents?name=mine.md", "mine", 202},
		{operation{"GET", "/v1/jobs/{id}", ""}, "/v1/jobs/" + job.ID, "", 404},
		{operation{"DELETE", "/v1/jobs/{id}", ""}, "/v1/jobs/" + job.ID, "", 404},
		{operation{"GET", "/v1/jobs/{id}/logs", ""}, "/v1/jobs/" + job.ID + "/logs", "", 404},
		{operation{"GET", "/v1/jobs/{id}/results", ""}, "/v1/jobs/" + job.ID + "/results", "", 404},
		{operation{"GET", "/v1/evals/{id}", ""}, "/v1/evals/" + eval, "", 404},
		{operation{"DELETE", "/v1/evals/{id}", ""}, "/v1/evals/" + eval, "", 404},
		{operation{"GET", "/v1/builds/{id}", ""}, "/v1/builds/" + build, "", 404},
		{operation{"GET", "/v1/builds/{id}/explain", ""}, "/v1/builds/" + build + "/explain", "", 404},
		{operation{"GET", "/v1/builds/{a}/diff/{b}", ""}, "/v1/builds/" + build + "/diff/" + build, "", 404},
		{operation{"POST", "/v1/builds/{id}/replay", ""}, "/v1/builds/" + build + "/replay", "", 404},
		{operation{"DELETE", "/v1/builds/{id}", ""}, "/v1/builds/" + build, "", 404},
		{operation{"GET", "/v1/plugins/{name}/failures", ""}, "/v1/plugins/p/failures", "", 200}, // none
	} {
		got := s.send(c.method, c.path, other, c.body)
		if got.Code != c.want {
			// what deletes something that is not there may also say so
			if c.method != "DELETE" || got.Code != 404 {
				t.Errorf("%s %s of another tenant: %d %s, want %d", c.method, c.path, got.Code, got.Body, c.want)
			}
		}
		if strings.Contains(strings.ToLower(got.Body.String()), "secret") {
			t.Errorf("%s %s of another tenant: %s", c.method, c.path, got.Body)
		}
		tested[c.method+" "+c.operation.path] = true
	}
	for _, o := range operations(t) {
		if strings.Contains(o.path, "{") && !tested[o.method+" "+o.path] {
			t.Errorf("%s %s is not in the table", o.method, o.path)
		}
	}
	for _, path := range []string{"/v1/memory/facts", "/v1/memory/facts/f", "/v1/conversations/c/turns", "/v1/runs/r/frames", "/v1/runs/r/window"} {
		if got := as(owner, "GET", path, "", 200); !bytes.Contains(got, []byte("a secret")) || bytes.Contains(got, []byte("mine")) {
			t.Errorf("%s, after another tenant was there: %s", path, got)
		}
	}
	as(owner, "GET", "/v1/builds/"+build, "", 200)
	as(owner, "GET", "/v1/evals/"+eval, "", 200)
	as(owner, "GET", "/v1/jobs/"+job.ID, "", 200)
	if got := as(owner, "GET", "/v1/collections/docs/documents", "", 200); !bytes.Contains(got, []byte("secret.md")) || bytes.Contains(got, []byte("mine")) {
		t.Errorf("documents, after another tenant was there: %s", got)
	}
}

func startEval(t *testing.T, s *service, key string) string {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, text := range map[string]string{
		"corpus": `{"_id": "1", "text": "the night train"}` + "\n", "queries": `{"_id": "q", "text": "train"}` + "\n", "qrels": "query-id\tcorpus-id\tscore\nq\t1\t1\n",
	} {
		p, _ := w.CreateFormFile(name, name)
		_, _ = io.WriteString(p, text)
	}
	_ = w.WriteField("options", `{"corpus_items": true, "metrics": ["recall"], "depths": [1]}`)
	_ = w.Close()
	got := s.send("POST", "/v1/evals", key, b.String(), "Content-Type", w.FormDataContentType())
	var job struct{ ID string }
	if err := json.Unmarshal(got.Body.Bytes(), &job); err != nil || got.Code != 202 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	return job.ID
}

// The limits of the file hold for requests.
func TestQuotasOfAService(t *testing.T) {
	s := serve(t)
	key := s.key("acme", keys.Scopes, func(k *keys.Key) { k.Quotas.MemoryRecords = 3 })
	slow := s.key("acme", keys.Scopes, func(k *keys.Key) { k.Quotas.TokensPerMinute = 4 })
	s.known(slow)
	for i := range 3 {
		if got := s.send("POST", "/v1/memory/facts", key, fmt.Sprintf(`{"content": "fact number %d"}`, i)); got.Code != 201 {
			t.Fatalf("%d: %d %s", i, got.Code, got.Body)
		}
	}
	if got := s.send("POST", "/v1/memory/facts", key, `{"content": "one more"}`); got.Code != 403 || !strings.Contains(got.Body.String(), "memory_full") {
		t.Errorf("a full memory: %d %s", got.Code, got.Body)
	}
	if got := s.send("DELETE", "/v1/memory/facts?all=true", key, ""); got.Code != 200 {
		t.Errorf("deleting: %d %s", got.Code, got.Body)
	}
	if got := s.send("POST", "/v1/memory/facts", key, `{"content": "room again"}`); got.Code != 201 {
		t.Errorf("after deleting: %d %s", got.Code, got.Body)
	}
	build := `{"query": "q", "items": [{"content": "one two three four five six", "source": "retrieval"}]}`
	if got := s.send("POST", "/v1/builds", slow, build); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	got := s.send("POST", "/v1/builds", slow, build)
	if got.Code != 429 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Header().Get("Ratelimit-Policy"), `"tokens";q=4;w=60`) || !strings.HasPrefix(got.Header().Get("Ratelimit"), `"tokens";r=0;t=`) {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	if got := s.send("POST", "/v1/builds", key, build); got.Code != 200 {
		t.Errorf("another key of the tenant: %d %s", got.Code, got.Body)
	}
}

// A reload takes the keys with the rest of the configuration: both, or neither.
func TestReloadTakesKeysAndConfiguration(t *testing.T) {
	s := serveWatching(t, false)
	config := s.app.Status().File
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	admin := s.key("ops", []string{"admin"})
	if err := s.store.Reload(); err != nil {
		t.Fatal(err)
	}
	key := s.key("acme", keys.Scopes)
	good, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, config, keys string
		status             int
		generation         int64
		accepted           bool
		problem            string
	}{
		{"broken keys", "counting: {tokenizer: words}\n", "keys: [\n", 422, 1, false, "keys.yaml"},
		{"broken configuration", "tokenizr: words\n", string(good), 422, 1, false, ""},
		{"both good", "counting: {tokenizer: words}\n", string(good), 200, 2, true, ""},
		{"broken keys again", "counting: {tokenizer: words}\n", "version: 2\n", 422, 2, true, "keys.yaml"},
	} {
		write(config, step.config+"store: {path: s.db, synchronous: normal}\n")
		write(s.file, step.keys)
		got := s.send("POST", "/admin/v1/reload", admin, "")
		if got.Code != step.status || s.app.Status().Number != step.generation {
			t.Errorf("%s: %d %s, generation %d", step.name, got.Code, got.Body, s.app.Status().Number)
		}
		if accepted := s.send("GET", "/v1/evals", key, "").Code == 200; accepted != step.accepted {
			t.Errorf("%s: the new key is accepted: %v", step.name, accepted)
		}
		r := httptest.NewRequest("GET", "/readyz?verbose", nil)
		r.Header.Set("X-Api-Key", admin)
		w := httptest.NewRecorder()
		s.admin.ServeHTTP(w, r)
		var doc struct {
			Status string
			Keys   *struct{ Message string } `json:"keys_error"`
			Last   struct{ OK bool }         `json:"last_reload"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Status != "ready" || doc.Last.OK != (step.status == 200) {
			t.Errorf("%s: %v %s", step.name, err, w.Body)
		}
		if (doc.Keys != nil) != (step.problem != "") || doc.Keys != nil && !strings.Contains(doc.Keys.Message, step.problem) {
			t.Errorf("%s: readyz says %s", step.name, w.Body)
		}
	}
}

// What was read before never replaces what was read later.
func TestCommitsComeInOrder(t *testing.T) {
	s := serveWatching(t, false)
	old, err := s.store.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	s.key("acme", keys.Scopes)
	if err := s.store.Reload(); err != nil {
		t.Fatal(err)
	}
	if old(); s.store.Len() != 2 {
		t.Errorf("%d keys, want 2", s.store.Len())
	}
}

// The builds of an evaluation use the quotas of their tenant, but they are no requests.
func TestEvaluationsUseQuotas(t *testing.T) {
	s := serveWatching(t, false)
	key := s.key("small", keys.Scopes)
	err := keys.Edit(t.Context(), s.file, func(f *keys.File) error {
		f.Tenants = map[string]quota.Limits{"small": {TokensPerMinute: 1, RequestsPerSecond: 1000}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Reload(); err != nil {
		t.Fatal(err)
	}
	id := startEval(t, s, key)
	var got *httptest.ResponseRecorder
	if !await.True(func() bool {
		got = s.send("GET", "/v1/evals/"+id, key, "") // it uses no tokens itself
		return got.Code == 429 || strings.Contains(got.Body.String(), `"state":"done"`)
	}) || got.Code != 429 {
		t.Fatalf("the tokens of an evaluation are not counted: %d %s, want 429", got.Code, got.Body)
	}
}
