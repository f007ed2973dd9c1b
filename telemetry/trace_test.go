package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// buildOnce builds a window with everything that makes spans, and sends them.
func buildOnce(t *testing.T, x *Telemetry) (*pipeline.Result, []modeltest.Request) {
	t.Helper()
	s := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		if r.Last() == "fail" {
			return modeltest.Answer{Status: 400, Raw: `{"error":{"message":"no"}}`}
		}
		return modeltest.Answer{Text: "the secret answer"}
	})
	app := openApp(t, s)
	before := len(s.Requests())
	ctx := x.Continue(x.Context(t.Context()), parent)
	result, err := app.Build(ctx, pipeline.Query{Text: "secret cats"}, anchor.BuildOptions{Tenant: "acme", Remember: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return result, s.Requests()[before:]
}

// A build sends one trace to the collector, which continues that of the caller. Its spans nest as the
// work does, and the servers of models get the context of theirs.
func TestTraceOfABuild(t *testing.T) {
	c := newCollector(t)
	x := start(t, Options{Version: "1.2.3", Getenv: environment(c), TenantClasses: map[string][]string{"gold": {"acme"}}})
	result, asked := buildOnce(t, x)
	tree := c.tree()
	for _, want := range []string{
		"anchor.build default",
		"anchor.build default > search_memory",
		"anchor.build default > anchor.store read",
		"anchor.build default > anchor.stage step > anchor.step find > retrieval docs",
		"anchor.build default > anchor.stage step > anchor.step ask > anchor.plugin asks retrieve > chat tiny",
		"anchor.build default > anchor.stage step > anchor.step ask > anchor.plugin asks retrieve > embeddings vectors",
		"anchor.build default > anchor.stage step > anchor.step break > anchor.plugin broken filter",
		"anchor.build default > anchor.stage fill",
		"anchor.build default > anchor.stage format",
		"anchor.build default > anchor.store write",
	} {
		if !slices.Contains(tree, want) {
			t.Errorf("no span %q in\n%s", want, strings.Join(tree, "\n"))
		}
	}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("span %q is of another trace", s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("span %q ends before it starts", s.Name)
		}
	}
	build := c.span(t, "anchor.build default")
	if hex.EncodeToString(build.ParentSpanId) != "00f067aa0ba902b7" {
		t.Errorf("the parent is %x", build.ParentSpanId)
	}
	a := attributesOf(build)
	if a[attrTenantClass] != "gold" || a[attrPipeline] != "default" || a[attrWindowTokens] != fmt.Sprint(result.Window.UsedTokens+result.Window.Reserved()) || a[attrCost] != fmt.Sprint(result.Diagnostics.CostUSD) {
		t.Errorf("the build has %v, cost %v, %d tokens", a, result.Diagnostics.CostUSD, result.Window.UsedTokens)
	}
	broken := c.span(t, "anchor.plugin broken filter")
	if a := attributesOf(broken); a[attrErrorType] != "trap" || broken.Status.GetCode() != collectorpb.Status_STATUS_CODE_ERROR {
		t.Errorf("the call that failed has %v and %v", a, broken.Status)
	}
	if a := attributesOf(c.span(t, "anchor.step break")); a[attrSkipped] != "true" || a[attrPlugin] != "broken" {
		t.Errorf("the skipped step has %v", a)
	}
	if a := attributesOf(c.span(t, "anchor.plugin asks retrieve")); a[attrFuel] == "" || a[attrGuestMemory] == "" || a[attrOutputSize] == "" {
		t.Errorf("the call has %v", a)
	}
	if c.resource["service.name"] != "anchor-host" || c.resource["service.version"] != "1.2.3" {
		t.Errorf("the resource is %v", c.resource)
	}
	ids := map[string]bool{}
	for _, s := range c.spans {
		ids[hex.EncodeToString(s.SpanId)] = true
	}
	if len(asked) == 0 {
		t.Error("nothing was asked")
	}
	for _, q := range asked {
		if p := strings.Split(q.Header.Get("Traceparent"), "-"); len(p) != 4 || p[1] != "4bf92f3577b34da6a3ce929d0e0e4736" || !ids[p[2]] {
			t.Errorf("a server of models gets the traceparent %v", p)
		}
	}
}

// No text is sent unless the variable asks for it.
func TestContent(t *testing.T) {
	for _, captured := range []string{"", "false", "true"} {
		t.Run(captured, func(t *testing.T) {
			c := newCollector(t)
			x := start(t, Options{Getenv: environment(c, CaptureVariable, captured)})
			buildOnce(t, x)
			var all []string
			for _, s := range c.spans {
				all = append(all, fmt.Sprint(s.Name, s.Attributes, s.Events, s.Status))
			}
			text := strings.Join(all, "\n")
			if have := strings.Contains(text, "secret"); have != (captured == "true") {
				t.Errorf("content is sent: %v", have)
			}
			for _, never := range []string{"sk-secret"} {
				if strings.Contains(text, never) {
					t.Errorf("%s is sent", never)
				}
			}
			for _, key := range []string{attrQuery, attrGenAIQuery, attrGenAIDocuments, attrGenAIInput, attrGenAIOutput} {
				if have := strings.Contains(text, `"`+key+`"`); have != (captured == "true") {
					t.Errorf("%s is sent: %v", key, have)
				}
			}
		})
	}
}

// The names that others see are those of testdata/names.txt. Write the file anew with
// ANCHOR_UPDATE=1 only if users are told of the change.
func TestNames(t *testing.T) {
	c := newCollector(t)
	x := start(t, Options{Getenv: environment(c, CaptureVariable, "true")})
	touchAll(t, x)
	buildOnce(t, x)
	var lines []string
	for _, s := range c.spans {
		name, _, _ := strings.Cut(s.Name, " ")
		lines = append(lines, "span "+name)
		for _, a := range s.Attributes {
			lines = append(lines, "attribute "+a.Key)
		}
	}
	for name, f := range scrape(t, x) {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue // those of the runtime are the library's
		}
		labels := []string{}
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("metric %s %s %s", name, strings.ToLower(f.GetType().String()), strings.Join(labels, ",")), " "))
	}
	slices.Sort(lines)
	have := strings.Join(slices.Compact(lines), "\n") + "\n"
	path := filepath.Join("testdata", "names.txt")
	if os.Getenv("ANCHOR_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("the names are\n%s\nwant\n%s", have, want)
	}
}

// touchAll makes the spans and metrics that a build does not make.
func touchAll(t *testing.T, x *Telemetry) {
	if err := x.WatchJobs(func(_ context.Context, each func(kind, state string, jobs int64)) error {
		each("builds", "done", 1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := x.WatchKeys(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Helper()
	ctx := x.Context(t.Context())
	for _, w := range []struct {
		w observe.Work
		r observe.Result
	}{
		{observe.Work{Kind: observe.Assembly}, observe.Result{Window: &observe.Window{Compared: true}}},
		{observe.Work{Kind: observe.Provider, Name: "trim"}, observe.Result{}},
		{observe.Work{Kind: observe.Model, ServerModel: "tiny", Address: "http://localhost:1234/v1"}, observe.Result{CachedTokens: 1}},
		{observe.Work{Kind: observe.Model, ServerModel: "tiny"}, observe.Result{Cached: true}},
		{observe.Work{Kind: observe.Build}, observe.Result{Err: context.Canceled, Reason: "cancelled"}},
		{observe.Work{Kind: observe.Call, Name: "p"}, observe.Result{Waited: time.Second}},
	} {
		_, span := observe.Begin(ctx, w.w)
		span.End(w.r)
	}
	for _, status := range []int{200, 429, 503, 500} {
		_, end := x.Begin(t.Context(), Request{ID: "1", Method: "POST", Route: "/v1/builds"}, nil)
		end(Answer{Status: status, Generation: 1})
	}
	app := openApp(t, modeltest.New(t, nil))
	if err := x.Watch(app); err != nil {
		t.Fatal(err)
	}
}

// A collector that is down, slow or broken takes no time from the work, and one that recovers gets
// the spans that wait.
func TestCollectorIsDown(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, c *collector){
		"gone": func(_ *testing.T, c *collector) { c.Close() },
		"broken": func(_ *testing.T, c *collector) {
			c.answer = func(_ int, w http.ResponseWriter) bool { w.WriteHeader(500); return true }
		},
		"hangs": func(t *testing.T, c *collector) {
			end := make(chan struct{})
			t.Cleanup(func() { close(end) }) // before the collector closes, which waits for its requests
			c.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			prepare(t, c)
			var log bytes.Buffer
			x := start(t, Options{Getenv: environment(c, "OTEL_EXPORTER_OTLP_TIMEOUT", "300"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			ctx := x.Context(t.Context())
			const spans = 5000 // more than the queue holds
			for range spans {
				_, s := observe.Begin(ctx, observe.Work{Kind: observe.Step, Name: "s"})
				s.End(observe.Result{})
			}
			limited, cancel := context.WithTimeout(t.Context(), await.Patience)
			defer cancel()
			if err := x.Shutdown(limited); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the end took %v", await.Patience)
			}
			if n := strings.Count(log.String(), "spans are lost"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, &log)
			}
			failed := value(scrape(t, x), metricSpans, "outcome=failed")
			if failed <= 0 {
				t.Error("lost spans are not counted")
			}
			if name == "hangs" && failed >= spans { // work that waits for room in the queue loses none before
				t.Errorf("%v of %d spans were given to a collector that hangs: the work waited for it", failed, spans)
			}
		})
	}
}

// A batch is repeated if the collector is busy.
func TestCollectorIsBusy(t *testing.T) {
	c := newCollector(t)
	c.answer = func(n int, w http.ResponseWriter) bool {
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n < 3
	}
	x := start(t, Options{Getenv: environment(c)})
	_, s := observe.Begin(x.Context(t.Context()), observe.Work{Kind: observe.Step, Name: "s"})
	s.End(observe.Result{})
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 1 || len(c.requests) != 3 {
		t.Errorf("%d spans after %d requests", len(c.spans), len(c.requests))
	}
	if value(scrape(t, x), metricSpans, "outcome=sent") != 1 {
		t.Error("the span is not counted")
	}
}

// Headers and compression are those of the variables. Redirects are not followed, because headers may
// be keys.
func TestExportHeaders(t *testing.T) {
	c := newCollector(t)
	elsewhere := newCollector(t)
	c.answer = func(_ int, w http.ResponseWriter) bool {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	x := start(t, Options{Getenv: environment(c, "OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, other=c", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")})
	_, s := observe.Begin(x.Context(t.Context()), observe.Work{Kind: observe.Step, Name: "s"})
	s.End(observe.Result{})
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.requests) != 1 || len(elsewhere.requests) != 0 {
		t.Fatalf("%d requests, and %d elsewhere", len(c.requests), len(elsewhere.requests))
	}
	if h := c.requests[0].Header; h.Get("X-Key") != "a b" || h.Get("Other") != "c" || h.Get("Content-Encoding") != "gzip" {
		t.Errorf("the headers are %v", h)
	}
}

// Sampling is that of the variables, and the parent decides if it is asked for.
func TestSampling(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
	c := newCollector(t)
	x := start(t, Options{Getenv: environment(c)})
	const n = 1000
	for range n {
		ctx, s := observe.Begin(x.Context(t.Context()), observe.Work{Kind: observe.Build})
		_, step := observe.Begin(ctx, observe.Work{Kind: observe.Step, Name: "s"})
		step.End(observe.Result{})
		s.End(observe.Result{})
	}
	_, s := observe.Begin(x.Continue(x.Context(t.Context()), parent), observe.Work{Kind: observe.Search, Name: "of the parent"})
	s.End(observe.Result{})
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	builds := 0
	for _, s := range c.spans {
		if s.Name == "anchor.build default" {
			builds++
		}
	}
	if builds < n/20 || builds > n/5 {
		t.Errorf("%d of %d builds are sampled", builds, n)
	}
	c.span(t, "retrieval of the parent")
	if len(c.spans) != 2*builds+1 {
		t.Errorf("%d spans of %d builds", len(c.spans), builds)
	}
}

// A program with its own provider gets the spans there.
func TestOwnProvider(t *testing.T) {
	var ended []string
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor(func(s sdktrace.ReadOnlySpan) {
		ended = append(ended, s.Name())
		if !slices.Contains(s.Attributes(), attribute.String(attrStep, "s")) {
			t.Errorf("attributes %v", s.Attributes())
		}
	})))
	x := start(t, Options{TracerProvider: p})
	_, s := observe.Begin(x.Context(t.Context()), observe.Work{Kind: observe.Step, Name: "s"})
	s.End(observe.Result{})
	if !slices.Equal(ended, []string{"anchor.step s"}) {
		t.Errorf("spans %v", ended)
	}
}

type processor func(sdktrace.ReadOnlySpan)

func (processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (p processor) OnEnd(s sdktrace.ReadOnlySpan)                 { p(s) }
func (processor) Shutdown(context.Context) error                  { return nil }
func (processor) ForceFlush(context.Context) error                { return nil }

// Without a collector there are no traces, and what is not valid is named with its remedy.
func TestVariables(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		set     []string
		tracing bool
		want    string
	}{
		{nil, false, ""},
		{[]string{endpoint, "http://localhost:4318"}, true, ""},
		{[]string{endpoint, " http://localhost:4318/base/ "}, true, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://localhost/x"}, true, ""},
		{[]string{endpoint, "http://localhost:4318", "OTEL_SDK_DISABLED", "true"}, false, ""},
		{[]string{endpoint, "http://localhost:4318", "OTEL_TRACES_EXPORTER", "none"}, false, ""},
		{[]string{endpoint, "http://localhost:4318", "OTEL_TRACES_EXPORTER", "zipkin"}, false, "want otlp or none"},
		{[]string{endpoint, "localhost:4317"}, false, "want an address"},
		{[]string{endpoint, "http://user:pass-word@"}, false, "want an address"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, false, "http/protobuf"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd"}, false, "want gzip or none"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}, false, "milliseconds"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_HEADERS", "key"}, false, "name=value"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_HEADERS", "key=pass%0aword"}, false, "name=value"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_CERTIFICATE", "missing.pem"}, false, "missing.pem"},
		{[]string{endpoint, "http://h:1", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "missing.pem"}, false, "CLIENT_KEY"},
		{[]string{endpoint, "http://h:1", "OTEL_TRACES_SAMPLER", "sometimes"}, false, "parentbased_traceidratio"},
		{[]string{endpoint, "http://h:1", "OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", "10%"}, false, "0 to 1"},
	} {
		x, err := New(Options{Getenv: environment(nil, c.set...)})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: error %v, want %q", c.set, err, c.want)
		case err == nil && x.Tracing() != c.tracing:
			t.Errorf("%q: tracing %v", c.set, x.Tracing())
		}
		if err != nil && strings.Contains(err.Error(), "pass") {
			t.Errorf("the error shows a secret: %v", err)
		}
		if err == nil {
			_ = x.Shutdown(t.Context()) // it has sent nothing
		}
	}
}
