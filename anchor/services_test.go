package anchor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// serverKey is the key that nobody but the servers may see.
const serverKey = "sk-0123456789-secret"

// served is a configuration whose plugin may use all services. %s is the address of the server.
const served = `
counting: {tokenizer: words}
window: {max_tokens: 1000000}
models:
  small: {api: openai, base_url: %[1]q, model: tiny, key: "${env:SERVICES_KEY}", retries: 0, max_calls_per_build: %[2]d, cache: %[3]v}
  claude: {api: anthropic, base_url: %[1]q, model: tiny-claude, headers: {authorization: "Bearer ${env:SERVICES_KEY}"}}
embedders:
  far: {http: {base_url: %[1]q, model: vectors, key: "${env:SERVICES_KEY}", retries: 0}}
collections: {docs: {embedder: far}}
plugins:
  instances:
    asks:
      plugin: services
      grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [small, claude]}}
      limits: {timeout: 20s, tokens: unlimited}
steps:
  - {name: ask, operation: retrieve, use: asks, must: true}
`

// locked is a buffer that several goroutines may write to.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// openServed opens a configuration with the server of a test, with a document in the collection of
// two tenants.
func openServed(t *testing.T, s *modeltest.Server, calls int, cache bool, o Options) *App {
	t.Helper()
	t.Setenv("SERVICES_KEY", serverKey)
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	o.PluginDir, o.CacheDir = dir, "off"
	work := t.TempDir()
	o.Overrides = map[string]string{"store.path": filepath.Join(work, "store.db")}
	app, err := Load(write(t, work, fmt.Sprintf(served, s.URL, calls, cache)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.WithoutCancel(t.Context())) }) // other tests are about closing
	for _, tenant := range []string{"default", "acme"} {
		c := retrieve.Collection{Tenant: tenant, Name: "docs"}
		_, err := app.Ingest(t.Context(), []ingest.Source{{Path: "a.md", Reader: strings.NewReader("hello from the documents of " + tenant)}}, ingest.Options{Collection: c})
		if err != nil {
			t.Fatal(err)
		}
	}
	return app
}

// shown is what the plugin says that the services left with it.
func shown(t *testing.T, r *pipeline.Result) string {
	t.Helper()
	if len(r.Window.Items) != 1 {
		t.Fatalf("%d items", len(r.Window.Items))
	}
	b, err := hex.DecodeString(r.Window.Items[0].Content)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The key goes to the server and nowhere else: no guest, log, error, record or diagnostic has it,
// even if the server repeats it.
func TestNoKeyReachesAGuest(t *testing.T) {
	s := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		if r.Last() == "fail" {
			return modeltest.Answer{Status: 400, Raw: `{"error":{"message":"bad key ` + serverKey + `"}}`}
		}
		return modeltest.Answer{Text: "you said " + r.Last()}
	})
	log := &locked{}
	var calls []record.Call
	app := openServed(t, s, 10, true, Options{
		Logger:   slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnRecord: func(c record.Call) { calls = append(calls, c) },
	})
	r, err := app.Build(t.Context(), pipeline.Query{Text: "x"}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := shown(t, r)
	for _, want := range []string{"you said hello", `"error":"refused"`, "hello from the documents of default", `"dimension":8`, `"model":"small"`} {
		if !strings.Contains(left, want) {
			t.Errorf("the guest did not get %s: %q", want, left)
		}
	}
	recorded, err := json.Marshal(calls)
	if err != nil || len(calls) != 1 || len(calls[0].Services) != 4 {
		t.Fatalf("%d calls recorded, error %v", len(calls), err)
	}
	diagnostics, err := json.Marshal(r.Diagnostics)
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprint(app.current.Loaded.Settings())
	for where, text := range map[string]string{"guest": left, "record": string(recorded), "log": log.String(), "diagnostics": string(diagnostics), "settings": settings} {
		for _, form := range []string{serverKey, base64.StdEncoding.EncodeToString([]byte(serverKey)), hex.EncodeToString([]byte(serverKey))} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the key: %s", where, text)
			}
		}
	}
	if !strings.Contains(log.String(), "bad key ***") {
		t.Errorf("the log does not say why: %s", log)
	}
	sent := 0
	for _, q := range s.Requests() {
		if q.Header.Get("Authorization") != "Bearer "+serverKey || strings.Contains(q.Body, serverKey) {
			t.Errorf("the server got %v and %s", q.Header, q.Body)
		}
		sent++
	}
	if sent == 0 {
		t.Error("the server got nothing")
	}
	want := []ledger.Line{ // the embedder is asked for the plugin, and for its search
		{Use: ledger.Use{Service: "embed", Name: "far", Plugin: "asks"}, Amount: ledger.Amount{Calls: 2, Texts: 2}},
		{Use: ledger.Use{Service: "llm", Name: "small", Plugin: "asks"}, Amount: ledger.Amount{Calls: 2, Failed: 1, InputTokens: 10, OutputTokens: 5}},
		{Use: ledger.Use{Service: "search", Name: "docs", Plugin: "asks"}, Amount: ledger.Amount{Calls: 1}},
	}
	if !slices.Equal(r.Diagnostics.Services, want) {
		t.Errorf("used %+v, want %+v", r.Diagnostics.Services, want)
	}
}

// A build sees the collection of its own tenant, and pays for its own calls; what was answered
// before costs nothing, for the same tenant.
func TestServicesOfTenants(t *testing.T) {
	s := modeltest.New(t, nil)
	app := openServed(t, s, 2, true, Options{})
	asked := len(s.Requests())
	for i, c := range []struct {
		tenant string
		cached bool
	}{{"default", false}, {"acme", false}, {"acme", true}, {"default", true}} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "x"}, BuildOptions{Tenant: c.tenant})
		if err != nil {
			t.Fatal(err)
		}
		left := shown(t, r)
		other := map[string]string{"default": "acme", "acme": "default"}[c.tenant]
		if !strings.Contains(left, "documents of "+c.tenant) || strings.Contains(left, "documents of "+other) || strings.Contains(left, `"error"`) {
			t.Errorf("build %d for %s: %q", i, c.tenant, left)
		}
		models := 0
		for _, q := range s.Requests()[asked:] {
			if q.Path == "chat/completions" {
				models++
			}
		}
		asked = len(s.Requests())
		if want := map[bool]int{false: 2, true: 0}[c.cached]; models != want {
			t.Errorf("build %d for %s: %d requests to models, want %d", i, c.tenant, models, want)
		}
	}
}

// Whatever the server of an embedder does, one line names it and the remedy, and the other steps go on.
func TestServersOfEmbeddersFail(t *testing.T) {
	vectors := func(v string) string { return `{"data":[{"index":0,"embedding":` + v + `}]}` }
	for name, c := range map[string]struct {
		answer modeltest.Answer
		want   string
	}{
		"other dimensions": {modeltest.Answer{Raw: vectors("[1,2]")}, "one has 2 dimensions, want 8 (check model and dimensions)"},
		"NaN":              {modeltest.Answer{Raw: vectors("[1,2,3,4,5,6,7,1e999]")}, "is not finite (check the model and its server)"},
		"too few":          {modeltest.Answer{Raw: `{"data":[]}`}, "the answer has 0 for 1 texts (lower batch, or check the server)"},
		"429":              {modeltest.Answer{Status: 429}, "it has too many requests: lower rate or concurrency, or wait"},
		"500":              {modeltest.Answer{Status: 500}, "try later, or look at the log of the server"},
		"never":            {modeltest.Answer{Never: true}, "raise timeout, or lower batch"},
		"no JSON":          {modeltest.Answer{Raw: "<html>" + serverKey}, "(check base_url)"},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
				if broken.Load() {
					return c.answer
				}
				return modeltest.Answer{}
			})
			timeout := "1m" // what is answered has its time, on a busy machine too
			if c.answer.Never {
				timeout = "200ms"
			}
			app := searching(t, fmt.Sprintf(`embedders: {far: {http: {base_url: %q, model: v, key: %q, retries: 0, timeout: %s, dimensions: 8}}}
collections: {docs: {embedder: far}}
retrievers:
  near: {collection: docs, by: vectors}
  words: {collection: docs, by: words}
steps: [{name: near, use: near, must: false}, {name: words, use: words, must: true}]
`, s.URL, serverKey, timeout), nil)
			ingested(t, app, retrieve.Collection{Name: "docs"}, map[string]string{"a.md": "hello bridge"})
			broken.Store(true)
			r, err := app.Build(t.Context(), pipeline.Query{Text: "bridge"}, BuildOptions{})
			if err != nil || len(r.Window.Items) != 1 || !slices.Equal(r.Diagnostics.SkippedSteps, []string{"near"}) {
				t.Fatalf("the build does not go on: %v", err)
			}
			said := fmt.Sprint(r.Diagnostics.StepFailures)
			if !strings.Contains(said, s.URL) || !strings.Contains(said, c.want) || strings.Contains(said, "\n") || strings.Contains(said, serverKey) {
				t.Errorf("%s\nlacks %s or the server", said, c.want)
			}
		})
	}
}

// What native retrievers and ingestion ask of an embedder is counted.
func TestRetrieversAreCounted(t *testing.T) {
	s := modeltest.New(t, nil)
	app := searching(t, fmt.Sprintf(`embedders: {far: {http: {base_url: %q, model: v}}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs}}
steps: [{name: found, use: docs, must: true}]
`, s.URL), nil)
	report, err := app.Ingest(t.Context(), []ingest.Source{{Path: "a.md", Reader: strings.NewReader("hello bridge")}}, ingest.Options{Collection: retrieve.Collection{Name: "docs"}})
	want := []ledger.Line{{Use: ledger.Use{Service: "embed", Name: "far"}, Amount: ledger.Amount{Calls: 1, Texts: 1}}}
	if err != nil || !slices.Equal(report.Services, want) {
		t.Errorf("ingest: %v, used %+v", err, report.Services)
	}
	r, err := app.Build(t.Context(), pipeline.Query{Text: "bridge"}, BuildOptions{})
	if err != nil || !slices.Equal(r.Diagnostics.Services, want) {
		t.Errorf("build: %v, used %+v", err, r.Diagnostics.Services)
	}
}

// All plugins of a build share the budget of a model, and the next build has it again.
func TestBudgetOfABuild(t *testing.T) {
	app := openServed(t, modeltest.New(t, nil), 1, false, Options{})
	for range 2 {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "x"}, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if left := shown(t, r); strings.Count(left, `"error":"budget"`) != 1 {
			t.Errorf("the guest got %q", left)
		}
	}
}

// A key that is missing is told in one line that names the place, and the build goes on without it.
func TestMissingKey(t *testing.T) {
	s := modeltest.New(t, nil)
	app := openServed(t, s, 10, false, Options{})
	t.Setenv("SERVICES_KEY", "")
	if _, err := app.Model("small"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "models.small.key: environment variable SERVICES_KEY is empty") {
		t.Errorf("error %v", err)
	}
	if _, err := app.Model("smal"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `no model "smal"`) {
		t.Errorf("error %v", err)
	}
	r, err := app.Build(t.Context(), pipeline.Query{Text: "x"}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if left := shown(t, r); !strings.Contains(left, `"error":"unavailable"`) || strings.Contains(left, "SERVICES_KEY") {
		t.Errorf("the guest got %q", left)
	}
}
