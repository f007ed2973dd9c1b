package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// A scrape has what a build did.
func TestMetricsOfABuild(t *testing.T) {
	x := start(t, Options{Version: "1.2.3", TenantClasses: map[string][]string{"gold": {"acme"}}})
	result, _ := buildOnce(t, x)
	families := scrape(t, x)
	in := 0.0
	for _, it := range result.Window.Items {
		in += float64(it.TokenCount)
	}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{metricBuilds, []string{"tenant_class=gold", "outcome=ok"}, 1},
		{metricBuildDuration, []string{"pipeline=default", "outcome=ok"}, 1},
		{metricStageDuration, []string{"stage=fill"}, 1},
		{metricStepDuration, []string{"step=ask", "outcome=ok"}, 1},
		{metricStepDuration, []string{"step=break", "outcome=skipped"}, 1},
		{metricSkips, []string{"step=break", "reason=trap"}, 1},
		{metricCallDuration, []string{"plugin=asks", "operation=retrieve"}, 1},
		{metricCallFailures, []string{"plugin=broken", "reason=trap"}, 1},
		{metricTokens, []string{"source=retrieval", "decision=in"}, in},
		{metricInference, []string{"gen_ai_request_model=tiny", "gen_ai_provider_name=openai", "error_type="}, 1},
		{metricInference, []string{"gen_ai_request_model=tiny", "gen_ai_provider_name=openai", "error_type=refused"}, 1},
		{metricInputTokens, []string{"gen_ai_request_model=tiny"}, 10},
		{metricOutputTokens, []string{"gen_ai_request_model=tiny"}, 5},
		{metricCost, []string{"model=tiny", "tenant_class=gold"}, (10*1000 + 5*2000) / 1e6},
		{metricSearch, []string{"collection=docs", "outcome=ok"}, 2},
		{metricEmbeddedTexts, []string{"model=vectors"}, -2}, // at least 2
		{metricStore, []string{"operation=write", "outcome=ok"}, -1},
		{metricInfo, []string{"version=1.2.3"}, 1},
		{"go_goroutines", nil, -1},
	} {
		switch have := value(families, c.name, c.labels...); {
		case c.want < 0 && have < -c.want, c.want >= 0 && have != c.want:
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, have, c.want)
		}
	}
	if fuel := value(families, metricCallFuel, "plugin=asks"); fuel <= 0 {
		t.Errorf("fuel %v", fuel)
	}
	if result.Diagnostics.CostUSD != 0.02 || !strings.Contains(fmt.Sprintf("%+v", result.Diagnostics.Services), "CostUSD:0.02") {
		t.Errorf("cost %v of %+v", result.Diagnostics.CostUSD, result.Diagnostics.Services)
	}
	document, err := json.Marshal(result)
	if err != nil || !bytes.Contains(document, []byte(`"cost_usd":0.02`)) {
		t.Errorf("the document has no cost: %v", err)
	}
}

// Histograms name a trace of the value in the format OpenMetrics, if it is sampled.
func TestExemplars(t *testing.T) {
	c := newCollector(t)
	x := start(t, Options{Getenv: environment(c)})
	ctx := x.Continue(x.Context(t.Context()), parent)
	_, s := observe.Begin(ctx, observe.Work{Kind: observe.Build})
	s.End(observe.Result{})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text")
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, metricBuildDuration+"_bucket") && strings.Contains(line, `trace_id="4bf92f3577b34da6a3ce929d0e0e4736"`) {
			return
		}
	}
	t.Errorf("no exemplar in\n%s", w.Body)
}

// Who sends 100,000 names makes a hundred series of each kind, and those of the configuration keep
// theirs.
func TestManyNames(t *testing.T) {
	x := start(t, Options{})
	x.Know(Names{Pipelines: []string{"docs"}, Plugins: []string{"known"}})
	ctx := x.Context(t.Context())
	names := 100_000
	if testing.Short() {
		names = 5000
	}
	end := func(w observe.Work, r observe.Result) {
		_, s := observe.Begin(ctx, w)
		s.End(r)
	}
	for i := range names {
		name := fmt.Sprintf("name \xff%d", i)
		failed := observe.Result{Err: errors.New(name), Reason: name}
		end(observe.Work{Kind: observe.Build, Name: name, Tenant: name}, observe.Result{
			Err: errors.New(name), Reason: name, Failures: []observe.Failure{{Name: name, Reason: name}},
			Window: &observe.Window{Tokens: []observe.Tokens{{Source: name, In: 1}}},
		})
		end(observe.Work{Kind: observe.Step, Name: name}, failed)
		end(observe.Work{Kind: observe.Call, Name: name, Operation: name}, failed)
		end(observe.Work{Kind: observe.Model, Name: name, ServerModel: name}, failed)
		end(observe.Work{Kind: observe.Embed, Name: name}, failed)
		end(observe.Work{Kind: observe.Search, Name: name}, failed)
		end(observe.Work{Kind: observe.Provider, Name: name}, failed)
		_, answered := x.Begin(t.Context(), Request{ID: name, Method: name, Route: name, Traceparent: name}, nil)
		answered(Answer{Status: 429, Tenant: name, Reason: name, Quota: name})
	}
	end(observe.Work{Kind: observe.Build, Name: "docs"}, observe.Result{})
	end(observe.Work{Kind: observe.Call, Name: "known"}, observe.Result{Fuel: 7})
	families := scrape(t, x)
	series := 0
	for name, f := range families {
		series += len(f.Metric)
		if n := len(f.Metric); n > 30*maxNames {
			t.Errorf("%s has %d series", name, n)
		}
	}
	if series > 20_000 {
		t.Errorf("%d series", series)
	}
	if value(families, metricBuildDuration, "pipeline=docs", "outcome=ok") != 1 || value(families, metricCallFuel, "plugin=known") != 7 {
		t.Error("names of the configuration have no series")
	}
	if value(families, metricBuildDuration, "pipeline=other", "outcome=failed") < float64(names)/2 || value(families, metricBuilds, "tenant_class=other", "outcome=failed") != float64(names) {
		t.Error("further names are not counted as other")
	}
}

// The state of an App is that of the moment of the scrape.
func TestWatch(t *testing.T) {
	app := openApp(t, modeltest.New(t, nil))
	x := start(t, Options{})
	if err := x.Watch(app); err != nil {
		t.Fatal(err)
	}
	if err := x.Watch(app); err == nil {
		t.Error("an App is watched twice")
	}
	families := scrape(t, x)
	if value(families, metricGeneration) != 1 || value(families, metricReload) != 1 || value(families, metricPluginUp, "plugin=asks") != 1 || value(families, metricQueue, "plugin=asks") != 0 {
		t.Error("the state of the first version is wrong")
	}
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	families = scrape(t, x)
	if value(families, metricGeneration) != 2 || time.Since(time.UnixMilli(int64(1000*value(families, metricReloadTime)))) > time.Minute {
		t.Error("the reload is not shown")
	}
}

// A second version of a step has the measures of its report; quality only if a judged question was asked.
func TestShadowMetrics(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"anchor.yaml":     "steps: [{name: s, use: keep-first, operation: filter, shadow: {use: no-change, share: 100}}]\nstore: {path: store.db}\n",
		"questions.jsonl": `{"question": "q", "documents": ["2"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plugins, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(filepath.Join(dir, "anchor.yaml"), anchor.Options{PluginDir: plugins, CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.WithoutCancel(t.Context())) }) // other tests are about closing
	x := start(t, Options{})
	if err := x.Watch(app); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{6, 7} {
		if _, err := app.Build(t.Context(), pipeline.Query{Text: []string{"other", "q"}[n]}, anchor.BuildOptions{Items: []pipeline.Item{
			{ID: "1", Content: "one", Source: pipeline.SourceRetrieval, Priority: 5}, {ID: "2", Content: "two", Source: pipeline.SourceRetrieval, Priority: 5},
		}}); err != nil {
			t.Fatal(err)
		}
		if !await.True(func() bool { return app.Shadows()[0].Calls == int64(n+1) }) {
			t.Fatalf("%+v", app.Shadows())
		}
		families := scrape(t, x)
		got := value(families, metricShadow, "step=s", "measure=quality")
		if has := len(families[metricShadow].GetMetric()); has != want || value(families, metricShadow, "step=s", "measure=overlap") != 0.5 || n == 1 && (got < 0.63 || got > 0.64) {
			t.Errorf("after %d calls %d measures (want %d), quality %v", n+1, has, want, got)
		}
	}
}

// A request has one line, without content, with its trace and the class of its tenant.
func TestRequestLog(t *testing.T) {
	c := newCollector(t)
	x := start(t, Options{Getenv: environment(c), TenantClasses: map[string][]string{"gold": {"acme"}}})
	var log bytes.Buffer
	l := NewRequestLog(slog.New(slog.NewJSONHandler(&log, nil)))
	_, end := x.Begin(t.Context(), Request{ID: "r-1", Method: "POST", Route: "/v1/builds", Traceparent: parent}, l)
	end(Answer{Status: 429, Tenant: "acme", Reason: "quota_exceeded", Quota: "requests", Bytes: 12, Degraded: 2})
	_, end = x.Begin(t.Context(), Request{ID: "r-2", Method: "GET", Route: "/livez", Quiet: true}, l)
	end(Answer{Status: 200})
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	for key, want := range map[string]any{
		"request": "r-1", "route": "/v1/builds", "status": 429.0, "tenant_class": "gold", "reason": "quota_exceeded", "bytes": 12.0, "degraded": 2.0, "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(log.String(), "acme") {
		t.Errorf("the line has the tenant: %s", &log)
	}
	families := scrape(t, x)
	if value(families, metricRequests, "route=/v1/builds", "method=POST", "status=429") != 1 || value(families, metricRejections, "tenant_class=gold", "quota=requests") != 1 || value(families, metricRunning) != 0 {
		t.Error("the requests are not counted")
	}
}

// In a flood lines are left out and counted, those of failures apart from the others.
func TestFloodOfLines(t *testing.T) {
	x := start(t, Options{})
	var log bytes.Buffer
	l := NewRequestLog(slog.New(slog.NewTextHandler(&log, nil)))
	var flood sync.WaitGroup
	for range 4 {
		flood.Go(func() {
			for range 2000 {
				_, end := x.Begin(t.Context(), Request{ID: "r", Method: "GET", Route: "/v1/x"}, l)
				end(Answer{Status: 200})
			}
		})
	}
	flood.Wait()
	_, end := x.Begin(t.Context(), Request{ID: "failed", Method: "GET", Route: "/v1/x"}, l)
	end(Answer{Status: 500, Reason: "panic"})
	if n := strings.Count(log.String(), "status=200"); n < goodLines || n > 20*goodLines {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(log.String(), "request=failed") {
		t.Error("the flood hides a failure")
	}
	b := bucket{rate: 1}
	at := time.Unix(100, 0)
	for i, want := range []struct {
		after time.Duration
		left  int64
		ok    bool
	}{{0, 0, true}, {0, 0, false}, {time.Millisecond, 0, false}, {time.Second, 2, true}} {
		if left, ok := b.take(at.Add(want.after)); left != want.left || ok != want.ok {
			t.Errorf("%d: %d, %v", i, left, ok)
		}
	}
}

// Observing costs at most a tenth of a build: with metrics, and traces of every tenth build. "items"
// is the smallest build that makes sense, "search" one that finds its items in a collection.
func BenchmarkBuild(b *testing.B) {
	app, err := anchor.Load("testdata/bench.yaml", anchor.Options{
		PluginDir: "../plugins/starter", CacheDir: "off", Overrides: map[string]string{"store.path": filepath.Join(b.TempDir(), "store.db")},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close(b.Context())
	items, sources := make([]pipeline.Item, 200), make([]ingest.Source, 2000)
	for i := range items {
		items[i] = pipeline.Item{ID: fmt.Sprint(i), Content: strings.Repeat(fmt.Sprintf("word%d ", i), 40), Source: pipeline.SourceRetrieval, Score: float64(i%97) / 97, Priority: 5}
	}
	for i := range sources {
		sources[i] = ingest.Source{Path: fmt.Sprintf("%d.md", i), Reader: strings.NewReader(strings.Repeat(fmt.Sprintf("word%d other%d ", i%50, i%7), 60))}
	}
	if _, err := app.Ingest(b.Context(), sources, ingest.Options{Collection: retrieve.Collection{Tenant: "default", Name: "docs"}}); err != nil {
		b.Fatal(err)
	}
	c := newCollector(b)
	b.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	b.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
	metrics, sampled := start(b, Options{}), start(b, Options{Getenv: environment(c)})
	for name, o := range map[string]anchor.BuildOptions{"items": {Items: items, Skip: []string{"find"}}, "search": {}} {
		b.Run(name, func(b *testing.B) {
			compare(b, app, o, []variant{{name: "off", ctx: b.Context()}, {name: "metrics", ctx: metrics.Context(b.Context())}, {name: "sampled", ctx: sampled.Context(b.Context())}})
		})
	}
}

// variant is a way to observe builds, with the times that they took.
type variant struct {
	name string
	ctx  context.Context
	took []time.Duration
}

// compare builds under each variant in turn, so that whatever else the machine does hits all of them,
// and reports medians.
func compare(b *testing.B, app *anchor.App, o anchor.BuildOptions, variants []variant) {
	for turn := 0; b.Loop(); turn++ {
		for i := range variants {
			v := &variants[(turn+i)%len(variants)]
			began := time.Now()
			if _, err := app.Build(v.ctx, pipeline.Query{Text: "word7 other3"}, o); err != nil {
				b.Fatal(err)
			}
			v.took = append(v.took, time.Since(began))
		}
	}
	off := 0.0
	for _, v := range variants {
		slices.Sort(v.took)
		median := float64(v.took[len(v.took)/2].Microseconds())
		if v.name == "off" {
			off = median
		}
		b.ReportMetric(median, v.name+"-µs")
		b.ReportMetric(median/off, v.name+"/off")
	}
}
