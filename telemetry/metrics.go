package telemetry

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/observe"
)

// Bounds of the buckets of histograms, in seconds. Those of models are those of the conventions.
var (
	bucketsShort = []float64{0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}
	bucketsLong  = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}
	bucketsModel = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
)

// metrics are those of Prometheus, and the vocabularies of their labels.
type metrics struct {
	registry *prometheus.Registry

	pipelines, steps, providers, plugins, models, embedders, collections, operations, reasons, sources, routes, quotas *vocabulary

	requests, builds, buildFailures, skips, tokens, prefix, cost, failures, fuel, inputTokens, outputTokens, cacheRead, kept, texts, rejections, sheds, spans *prometheus.CounterVec
	requestTime, buildTime, assemblyTime, stageTime, stepTime, providerTime, callTime, callWait, modelTime, embedTime, searchTime, storeTime                  *prometheus.HistogramVec
	memory                                                                                                                                                    *prometheus.GaugeVec
	running                                                                                                                                                   prometheus.Gauge
	// stages are those of stageTime, by stage.
	stages map[string]prometheus.Observer
}

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	for _, v := range []**vocabulary{&m.pipelines, &m.steps, &m.providers, &m.plugins, &m.models, &m.embedders, &m.collections, &m.routes, &m.quotas} {
		*v = newVocabulary(maxNames)
	}
	// These are words of this program. The room beyond those that are known is for embedders.
	m.reasons, m.sources, m.operations = newVocabulary(maxNames/4), newVocabulary(maxNames/4), newVocabulary(maxNames/10)
	for _, r := range abi.Reasons {
		m.reasons.know(string(r))
	}
	m.reasons.know("error", "panic", "busy", "draining", "overloaded", "quota_exceeded", "unavailable", "refused", "invalid", "budget")
	for _, o := range abi.Operations {
		m.operations.know(string(o.Op))
	}
	m.counters()
	m.histograms()
	m.stages = map[string]prometheus.Observer{}
	for _, s := range []string{"query", "system", "memory", "enrich", "step", "count", "fill", "format"} {
		m.stages[s] = m.stageTime.WithLabelValues(s) // finding them takes as long as all else
	}
	m.memory = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricCallMemory, Help: "Linear memory of a plugin's instance after its last call."}, []string{"plugin"})
	m.running = prometheus.NewGauge(prometheus.GaugeOpts{Name: metricRunning, Help: "Requests that are being answered."})
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: metricInfo, Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": clip(version), "goversion": runtime.Version()},
	})
	info.Set(1)
	m.registry.MustRegister(m.memory, m.running, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// counters makes the counters.
func (m *metrics) counters() {
	for _, c := range []struct {
		to         **prometheus.CounterVec
		name, help string
		labels     []string
	}{
		{&m.requests, metricRequests, "Requests that were answered.", []string{"route", "method", "status"}},
		{&m.builds, metricBuilds, "Builds and assemblies. outcome is ok, or failed.", []string{"tenant_class", "outcome"}},
		{&m.buildFailures, metricBuildFailures, "Builds and assemblies that failed.", []string{"pipeline", "reason"}},
		{&m.skips, metricSkips, "Steps and other parts without which a build or an assembly continued.", []string{"step", "reason"}},
		{&m.tokens, metricTokens, "Tokens of items in windows (decision in), and of items that were left out (out).", []string{"source", "decision"}},
		{&m.prefix, metricPrefixTokens, "Tokens of outputs that begin as the previous one (kind common), and of what follows (new).", []string{"kind"}},
		{&m.cost, metricCost, "What tokens of models cost, in US dollars, for models with a price.", []string{"model", "tenant_class"}},
		{&m.failures, metricCallFailures, "Calls of plugins that failed.", []string{"plugin", "reason"}},
		{&m.fuel, metricCallFuel, "Fuel that calls of plugins used.", []string{"plugin"}},
		{&m.inputTokens, metricInputTokens, "Tokens that models read, those from caches included.", []string{"gen_ai_request_model", "gen_ai_provider_name"}},
		{&m.outputTokens, metricOutputTokens, "Tokens of the answers of models.", []string{"gen_ai_request_model", "gen_ai_provider_name"}},
		{&m.cacheRead, metricCacheRead, "Tokens that models read from the caches of their servers.", []string{"gen_ai_request_model", "gen_ai_provider_name"}},
		{&m.kept, metricKeptAnswers, "Questions to models that were answered from the program's own cache.", []string{"gen_ai_request_model"}},
		{&m.texts, metricEmbeddedTexts, "Texts for which vectors were asked.", []string{"model"}},
		{&m.rejections, metricRejections, "Requests that a quota refused.", []string{"tenant_class", "quota"}},
		{&m.sheds, metricSheds, "Requests that were refused because the service was full or ending.", []string{"reason"}},
		{&m.spans, metricSpans, "Spans by what became of them: made, sent to the collector, or failed.", []string{"outcome"}},
	} {
		*c.to = prometheus.NewCounterVec(prometheus.CounterOpts{Name: c.name, Help: c.help}, c.labels)
		m.registry.MustRegister(*c.to)
	}
}

// histograms makes the histograms.
func (m *metrics) histograms() {
	for _, h := range []struct {
		to         **prometheus.HistogramVec
		name, help string
		buckets    []float64
		labels     []string
	}{
		{&m.requestTime, metricRequestDuration, "Duration of requests.", bucketsLong, []string{"route"}},
		{&m.buildTime, metricBuildDuration, "Duration of builds. outcome is ok or failed.", bucketsLong, []string{"pipeline", "outcome"}},
		{&m.assemblyTime, metricAssembly, "Duration of assemblies of an agent's messages. outcome is ok or failed.", bucketsLong, []string{"outcome"}},
		{&m.stageTime, metricStageDuration, "Duration of the stages of builds.", bucketsShort, []string{"stage"}},
		{&m.stepTime, metricStepDuration, "Duration of steps. outcome is ok, skipped or failed.", bucketsShort, []string{"step", "outcome"}},
		{&m.providerTime, metricProvider, "Duration of providers of assemblies. outcome is ok, skipped or failed.", bucketsShort, []string{"provider", "outcome"}},
		{&m.callTime, metricCallDuration, "Duration of calls of plugins, waiting included.", bucketsShort, []string{"plugin", "operation"}},
		{&m.callWait, metricCallWait, "How long calls of plugins waited for an instance and a processor.", bucketsShort, []string{"plugin"}},
		{&m.modelTime, metricInference, "Duration of questions to models, repetitions included.", bucketsModel, []string{"gen_ai_operation_name", "gen_ai_request_model", "gen_ai_provider_name", "error_type"}},
		{&m.embedTime, metricEmbedding, "Duration of making vectors. outcome is ok or failed.", bucketsLong, []string{"model", "outcome"}},
		{&m.searchTime, metricSearch, "Duration of searches in collections. outcome is ok or failed.", bucketsShort, []string{"collection", "outcome"}},
		{&m.storeTime, metricStore, "Duration of reads and writes of the store. outcome is ok or failed.", bucketsShort, []string{"operation", "outcome"}},
	} {
		*h.to = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: h.name, Help: h.help, Buckets: h.buckets}, h.labels)
		m.registry.MustRegister(*h.to)
	}
}

// measure adds a duration to a histogram, with the trace of a span as an example. The span is nil if
// there is none that is sampled.
func measure(span trace.Span, h prometheus.Observer, took time.Duration) {
	if span != nil {
		c := span.SpanContext()
		if x, ok := h.(prometheus.ExemplarObserver); ok {
			x.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": c.TraceID().String(), "span_id": c.SpanID().String()})
			return
		}
	}
	h.Observe(took.Seconds())
}

// outcomeOf is the value of the label outcome of a piece of work.
func outcomeOf(r *observe.Result) string {
	switch {
	case r.Err == nil && !r.Skipped:
		return "ok"
	case r.Skipped:
		return "skipped"
	}
	return "failed"
}

// exported counts spans that were sent, or could not be.
func (m *metrics) exported(spans int, sent bool) {
	outcome := "failed"
	if sent {
		outcome = "sent"
	}
	m.spans.WithLabelValues(outcome).Add(float64(spans))
}

// reason is the value of the label reason. Errors without a reason are "error".
func (m *metrics) reason(r *observe.Result) string {
	switch {
	case r.Err == nil && r.Reason == "":
		return ""
	case r.Reason == "":
		return "error"
	}
	return m.reasons.of(r.Reason)
}
