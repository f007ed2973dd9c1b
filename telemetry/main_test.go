package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	commonmodel "github.com/prometheus/common/model"
	collectorpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a collector of OTLP.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*collectorpb.Span
	resource map[string]string
	requests []*http.Request
	// answer answers a request instead, if it is not nil and returns true.
	answer func(n int, w http.ResponseWriter) bool
}

func newCollector(t testing.TB) *collector {
	c := &collector{resource: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if c.answer != nil && c.answer(len(c.requests), w) {
		return
	}
	var d collectorpb.TracesData
	if err != nil || proto.Unmarshal(body, &d) != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, x := range d.ResourceSpans {
		for _, a := range x.Resource.Attributes {
			c.resource[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range x.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

// tree lists the spans as paths of their names, from the first one down.
func (c *collector) tree() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*collectorpb.Span{}
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	var out []string
	for _, s := range c.spans {
		path := s.Name
		for p := byID[string(s.ParentSpanId)]; p != nil; p = byID[string(p.ParentSpanId)] {
			path = p.Name + " > " + path
		}
		out = append(out, path)
	}
	return out
}

// span returns the only span of a name.
func (c *collector) span(t *testing.T, name string) *collectorpb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *collectorpb.Span
	for _, s := range c.spans {
		if s.Name == name {
			if found != nil {
				t.Fatalf("several spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q", name)
	}
	return found
}

// attributes are those of a span, as text.
func attributesOf(s *collectorpb.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		switch v := a.Value; {
		case v.GetStringValue() != "":
			out[a.Key] = v.GetStringValue()
		case v.GetBoolValue():
			out[a.Key] = "true"
		case v.GetDoubleValue() != 0:
			out[a.Key] = fmt.Sprint(v.GetDoubleValue())
		default:
			out[a.Key] = fmt.Sprint(v.GetIntValue())
		}
	}
	return out
}

// environment is one with a collector.
func environment(c *collector, more ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(more); i += 2 {
			if more[i] == name {
				return more[i+1]
			}
		}
		if c != nil && name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return c.URL
		}
		return ""
	}
}

// start returns a Telemetry that ends with the test.
func start(t testing.TB, o Options) *Telemetry {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	out, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
		defer cancel()
		_ = out.Shutdown(ctx) // tests that are about it look at the error
	})
	return out
}

// scrape reads the metrics with the parser of Prometheus.
func scrape(t testing.TB, x *Telemetry) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(commonmodel.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of a metric with labels name=value, and -1 without one. That of a histogram
// is how many values it has.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
next:
	for _, m := range families[name].GetMetric() {
		for _, l := range labels {
			key, want, _ := strings.Cut(l, "=")
			have := ""
			for _, p := range m.Label {
				if p.GetName() == key {
					have = p.GetValue()
				}
			}
			if have != want {
				continue next
			}
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue()
		case m.Gauge != nil:
			return m.Gauge.GetValue()
		}
		return float64(m.Histogram.GetSampleCount())
	}
	return -1
}

const settingsOfApp = `
counting: {tokenizer: words}
window: {max_tokens: 40}
telemetry:
  prices: prices.yaml
models:
  small: {api: openai, base_url: %[1]q, model: tiny, key: sk-secret-secret, retries: 0}
embedders:
  far: {http: {base_url: %[1]q, model: vectors, retries: 0}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs}}
plugins:
  instances:
    asks:
      plugin: services
      grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [small]}}
      limits: {timeout: 20s, tokens: unlimited}
    broken: {plugin: trap}
memory: {conversation: {id: chat, tokens: 10}}
steps:
  - {name: find, use: docs, top_k: 3}
  - {name: ask, operation: retrieve, use: asks, must: true}
  - {name: break, operation: filter, use: broken, must: false}
`

// openApp opens a configuration with a server of models, whose plugin asks all services.
func openApp(t testing.TB, s *modeltest.Server) *anchor.App {
	t.Helper()
	plugins, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"anchor.yaml": fmt.Sprintf(settingsOfApp, s.URL),
		"prices.yaml": "date: 2026-11-27\nsource: made up for a test\nmodels:\n  tiny: {input: 1000, output: 2000}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app, err := anchor.Load(filepath.Join(dir, "anchor.yaml"), anchor.Options{
		PluginDir: plugins, CacheDir: "off", Overrides: map[string]string{"store.path": filepath.Join(dir, "store.db")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.WithoutCancel(t.Context())) }) // other tests are about closing
	for _, tenant := range []string{"default", "acme"} {
		sources := []ingest.Source{{Path: "a.md", Reader: strings.NewReader("a document about secret cats")}}
		if _, err := app.Ingest(t.Context(), sources, ingest.Options{Collection: retrieve.Collection{Tenant: tenant, Name: "docs"}}); err != nil {
			t.Fatal(err)
		}
	}
	return app
}
