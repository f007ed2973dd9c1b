package servecmd

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/telemetry"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A request to the service makes a span with that of its build, a line in the log and metrics on the
// admin listener, and none of them has content.
func TestTelemetryOfTheService(t *testing.T) {
	var mu sync.Mutex
	spans := map[string]*collectorpb.Span{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var d collectorpb.TracesData
		if err != nil || proto.Unmarshal(body, &d) != nil {
			t.Error("no spans")
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range d.ResourceSpans[0].ScopeSpans[0].Spans {
			spans[s.Name] = s
		}
	}))
	defer collector.Close()
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	x, err := telemetry.New(telemetry.Options{Logger: logger, Getenv: func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return collector.URL
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("counting: {tokenizer: words}\nwindow: {max_tokens: 100}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	if err := x.Watch(app); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, server.Options{Logger: logger, Observers: []server.Observer{observer(x, telemetry.NewRequestLog(logger))}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := mount(s, x); err != nil {
		t.Fatal(err)
	}
	ask := func(h http.Handler, method, path, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Traceparent", parent)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	answer := ask(s.Handler(), http.MethodPost, "/v1/builds", `{"query": "secret question", "items": [{"content": "secret text", "source": "user"}]}`)
	if !strings.Contains(answer, "formatted_output") {
		t.Fatalf("the answer is %s", answer)
	}
	ask(s.Handler(), http.MethodGet, "/v1/made-up-by-a-scanner", "")
	ask(s.Handler(), http.MethodGet, "/livez", "")
	metrics := ask(s.AdminHandler(), http.MethodGet, "/metrics", "")
	for _, want := range []string{
		`anchor_requests_total{method="POST",route="/v1/builds",status="200"} 1`, `anchor_requests_total{method="GET",route="other",status="404"} 1`,
		`anchor_builds_total{outcome="ok",tenant_class="other"} 1`, `anchor_build_tokens_total{decision="in",source="user"} 2`, "anchor_config_generation 1", "go_goroutines ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the scrape has no %s:\n%s", want, metrics)
		}
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	request, build := spans["POST /v1/builds"], spans["anchor.build default"]
	if request == nil || build == nil || !bytes.Equal(build.ParentSpanId, request.SpanId) || !bytes.Equal(build.TraceId, request.TraceId) {
		t.Errorf("the spans are %v", spans)
	}
	if spans["GET /livez"] != nil {
		t.Error("a health check has a span")
	}
	if n := strings.Count(log.String(), `"msg":"answered"`); n != 2 || !strings.Contains(log.String(), `"trace":"4bf92f3577b34da6a3ce929d0e0e4736"`) {
		t.Errorf("the log is %s", &log)
	}
	for what, text := range map[string]string{"log": log.String(), "scrape": metrics, "spans": request.String() + build.String()} {
		if strings.Contains(text, "secret") || strings.Contains(text, "made-up") {
			t.Errorf("the %s has content", what)
		}
	}
}

func TestQuotaOf(t *testing.T) {
	for field, want := range map[string]string{`"requests";r=0;t=3`: "requests", "": "", `"`: "", "r=1": ""} {
		if have := quotaOf(http.Header{"Ratelimit": {field}}); have != want {
			t.Errorf("%q is the quota %q, want %q", field, have, want)
		}
	}
}

// A request that fails by the fault of the service has one line in the log, with the error and without
// the tenant.
func TestOneLineForAFailure(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	x, err := telemetry.New(telemetry.Options{Logger: logger, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Shutdown(t.Context()) }()
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("counting: {tokenizer: words}\ntenant: acme-corp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(filepath.Dir(path), "store.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no store ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{Logger: logger, Overrides: map[string]string{"store.path": broken}})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	s, err := server.New(app, server.Options{Logger: logger, Logged: true, Observers: []server.Observer{observer(x, telemetry.NewRequestLog(logger))}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken pipe dream") })
	if err := s.Mount(server.Route{Method: "GET", Path: "/panics", Action: "panics", Scope: server.ScopeBuild, Handler: panics}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/v1/memory/facts": broken, "/panics": "broken pipe dream"} {
		log.Reset()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		lines := strings.Count(log.String(), "\n")
		if w.Code != 500 || lines != 1 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), want) || strings.Contains(log.String(), "acme-corp") {
			t.Errorf("%s: %d, %d lines: %s", path, w.Code, lines, &log)
		}
	}
}

// A plugin that traps on every call is seen in the metrics: why its calls fail, also those that are
// refused while it rests. Another plugin has no failures.
func TestTrapsAreCounted(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	x, err := telemetry.New(telemetry.Options{Logger: logger, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Shutdown(t.Context()) }()
	dir, err := filepath.Abs("../../../../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	text := "counting: {tokenizer: words}\nsteps: [{name: bad, use: trap, must: false}, {name: good, use: keep-first, operation: filter}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(path, anchor.Options{PluginDir: dir, CacheDir: "off", Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	if err := x.Watch(app); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, server.Options{Logger: logger, Logged: true, Observers: []server.Observer{observer(x, telemetry.NewRequestLog(logger))}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := mount(s, x); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		r := httptest.NewRequest(http.MethodPost, "/v1/builds", strings.NewReader(`{"query": "q", "items": [{"content": "a", "source": "user"}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	s.AdminHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for want, there := range map[string]bool{
		`anchor_plugin_failures_total{plugin="trap",reason="trap"}`: true, `anchor_plugin_failures_total{plugin="trap",reason="circuit_open"}`: true,
		`anchor_plugin_failures_total{plugin="keep-first"`: false,
	} {
		if strings.Contains(w.Body.String(), want) != there {
			t.Errorf("%s in the metrics: want %v:\n%s", want, there, w.Body)
		}
	}
}
