package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// build and assemble send the trace of what they did before they end. A variable that is not valid is
// named, and a collector that is down ends no command and keeps none waiting.
func TestTracesOfCommands(t *testing.T) {
	var mu sync.Mutex
	names := map[string]bool{}
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
			names[s.Name] = true
			if s.TraceId[0] != 0x4b {
				t.Errorf("%s is of another trace", s.Name)
			}
		}
	}))
	defer collector.Close()
	config := write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nwindow: {max_tokens: 10}\n"}) + "/anchor.yaml"
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if code, _, stderr := run(t, "", "build", "--config", config, "hi"); code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, `[{"role": "user", "content": "hi"}]`, "assemble", "--config", config); code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if !names["anchor.build default"] || !names["anchor.stage fill"] || !names["anchor.assemble"] {
		t.Errorf("spans %v", names)
	}
	collector.Close()
	began := time.Now()
	if code, _, stderr := run(t, "", "build", "--config", config, "hi"); code != 0 {
		t.Errorf("without a collector: code %d: %s", code, stderr)
	}
	if took := time.Since(began); took > 50*time.Second { // the exporter alone would try for a minute
		t.Errorf("a command waits %v for a collector", took)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if code, _, stderr := run(t, "", "build", "--config", config, "hi"); code != 3 || !strings.Contains(stderr, "OTEL_EXPORTER_OTLP_PROTOCOL") {
		t.Errorf("code %d: %s", code, stderr)
	}
}

// The result of a build says what its models cost if a file has their prices, and names the place of
// a mistake in it.
func TestPricesOfCommands(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"anchor.yaml": "telemetry: {prices: prices.yaml}\n", "prices.yaml": "date: 2026-11-27\nsource: x\nmodels: {a: {input: 1}}\n",
	})
	code, _, stderr := run(t, "", "build", "--config", dir+"/anchor.yaml", "hi")
	if code != 3 || !strings.Contains(stderr, "prices.yaml:3") || !strings.Contains(stderr, "output") {
		t.Errorf("code %d: %s", code, stderr)
	}
	dir = write(t, map[string]string{"anchor.yaml": "telemetry: {tenant_classes: {a: [x], b: [x]}}\n"})
	if code, _, stderr := run(t, "", "build", "--config", dir+"/anchor.yaml", "hi"); code != 3 || !strings.Contains(stderr, "also in the class") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
