package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/anchor-host/anchor-host/internal/observe"
)

// topPipeline names the pipeline at the top level of the file, which has no name.
const topPipeline = "default"

// observer makes spans and metrics of work.
type observer struct {
	t *Telemetry
	// mute makes no spans: the work belongs to one that is not sampled, and what is below that needs
	// none. This saves most of what spans cost.
	mute bool
}

// work is a piece of work that goes on.
type work struct {
	t     *Telemetry
	what  observe.Work
	began time.Duration // after base
	span  trace.Span    // nil unless it is sampled
}

// works are those that have ended, for others. A build has a dozen of them.
var works = sync.Pool{New: func() any { return new(work) }}

// base is when the program began. What is measured from it needs only the clock that never jumps.
var base = time.Now()

func (o observer) Begin(ctx context.Context, w observe.Work) (context.Context, observe.Ending) {
	p := works.Get().(*work)
	p.t, p.what, p.began = o.t, w, time.Since(base)
	if o.t.tracer != nil && !o.mute {
		kind := trace.SpanKindInternal
		if w.Kind == observe.Model || w.Kind == observe.Embed {
			kind = trace.SpanKindClient
		}
		ctx, p.span = o.t.tracer.Start(ctx, spanName(&w), trace.WithSpanKind(kind))
		if p.span.IsRecording() {
			p.span.SetAttributes(o.t.beginning(&w)...)
		} else {
			ctx, p.span = observe.Under(ctx, observer{o.t, true}), nil
		}
	}
	return ctx, p
}

// Context returns a context whose work is observed.
func (t *Telemetry) Context(ctx context.Context) context.Context {
	return observe.Under(ctx, observer{t: t})
}

func (o observer) Header(ctx context.Context, h http.Header) {
	if h != nil {
		o.t.propagator.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

func (p *work) End(r observe.Result) {
	took := time.Since(base) - p.began
	defer func() {
		*p = work{}
		works.Put(p)
	}()
	if p.what.Kind == observe.Build && p.what.Name == "" {
		p.what.Name = topPipeline
	}
	p.t.metrics.observe(p, &r, took)
	if p.span == nil {
		return
	}
	p.span.SetAttributes(p.t.end(&p.what, &r)...)
	if r.Err != nil {
		p.span.SetStatus(codes.Error, p.t.metrics.reason(&r))
	}
	p.t.metrics.spans.WithLabelValues("made").Inc()
	p.span.End()
}

// spanName is the name of the span of a piece of work.
func spanName(w *observe.Work) string {
	name := func(words ...string) string {
		for i, word := range words {
			words[i] = clip(word)
		}
		return strings.TrimRight(strings.Join(words, " "), " ")
	}
	switch w.Kind {
	case observe.Build:
		if w.Name == "" {
			return spanBuild + " " + topPipeline
		}
		return name(spanBuild, w.Name)
	case observe.Assembly:
		return spanAssembly
	case observe.Stage:
		if w.Name == "memory" {
			return spanMemory
		}
		return name(spanStage, w.Name)
	case observe.Step:
		return name(spanStep, w.Name)
	case observe.Provider:
		return name(spanProvider, w.Name)
	case observe.Call:
		return name(spanCall, w.Name, w.Operation)
	case observe.Model:
		return name(spanChat, w.ServerModel)
	case observe.Embed:
		return name(spanEmbedding, w.Name)
	case observe.Search:
		return name(spanRetrieval, w.Name)
	}
	return name(spanStore, w.Name)
}

// maxContent bounds an attribute with content, in bytes.
const maxContent = 16 << 10

func text(key, value string) attribute.KeyValue {
	if len(value) > 4*maxName {
		value = value[:4*maxName]
	}
	return attribute.String(key, strings.ToValidUTF8(value, "\ufffd"))
}

func count[T int | int64](key string, n T) attribute.KeyValue { return attribute.Int64(key, int64(n)) }

// attributes collects those that are set.
type attributes []attribute.KeyValue

func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, text(key, value))
	}
}

func (a *attributes) count(key string, n int64) {
	if n != 0 {
		*a = append(*a, count(key, n))
	}
}

// addContent adds what holds content, if that may be sent.
func (t *Telemetry) addContent(a *attributes, key string, of func() string) {
	if !t.content || of == nil {
		return
	}
	if s := of(); s != "" {
		*a = append(*a, attribute.String(key, strings.ToValidUTF8(s[:min(len(s), maxContent)], "\ufffd")))
	}
}

// beginning returns the attributes that are known when work begins.
func (t *Telemetry) beginning(w *observe.Work) []attribute.KeyValue {
	var a attributes
	switch w.Kind {
	case observe.Build:
		name := cmp.Or(w.Name, topPipeline)
		a.text(attrPipeline, name)
		a.text(attrTenantClass, t.Class(w.Tenant))
		t.addContent(&a, attrQuery, w.Text)
	case observe.Assembly:
		a.text(attrTenantClass, t.Class(w.Tenant))
	case observe.Stage:
		a.text(attrStage, w.Name)
		if w.Name == "memory" {
			a.text(attrGenAIOperation, spanMemory)
		}
	case observe.Step:
		a.text(attrStep, w.Name)
		a.text(attrPlugin, w.Plugin)
	case observe.Provider:
		a.text(attrProvider, w.Name)
	case observe.Call:
		a.text(attrPlugin, w.Name)
		a.text(attrOperation, w.Operation)
	case observe.Store:
		a.text(attrStoreAction, w.Name)
	default:
		t.asking(&a, w)
	}
	return a
}

// asking adds what is known of a question to a model, an embedder or a collection.
func (t *Telemetry) asking(a *attributes, w *observe.Work) {
	switch w.Kind {
	case observe.Model:
		a.text(attrGenAIOperation, spanChat)
		a.text(attrGenAIProvider, w.API)
		a.text(attrGenAIModel, w.ServerModel)
		a.text(attrModelName, w.Name)
		a.count(attrGenAIMaxTokens, int64(w.Count))
		a.address(w.Address)
		t.addContent(a, attrGenAIInput, w.Text)
	case observe.Embed:
		a.text(attrGenAIOperation, spanEmbedding)
		a.text(attrGenAIModel, w.Name)
		a.count(attrTexts, int64(w.Count))
	case observe.Search:
		a.text(attrGenAIOperation, spanRetrieval)
		a.text(attrGenAISource, w.Name)
		a.count(attrGenAITopK, int64(w.Count))
		t.addContent(a, attrGenAIQuery, w.Text)
	}
}

// address adds the host and the port of a server.
func (a *attributes) address(server string) {
	u, err := url.Parse(server)
	if err != nil {
		return
	}
	a.text(attrServer, u.Hostname())
	if port, err := strconv.Atoi(u.Port()); err == nil {
		a.count(attrServerPort, int64(port))
	}
}

// end returns the attributes that are known when work has ended.
func (t *Telemetry) end(w *observe.Work, r *observe.Result) []attribute.KeyValue {
	var a attributes
	if r.Err != nil {
		a.text(attrErrorType, t.metrics.reason(r))
		t.addContent(&a, attrErrorMessage, r.Err.Error)
	}
	if r.Skipped {
		a = append(a, attribute.Bool(attrSkipped, true))
	}
	switch w.Kind {
	case observe.Stage, observe.Step, observe.Provider, observe.Build, observe.Assembly, observe.Search:
		a = append(a, count(attrItems, r.Items))
	}
	switch w.Kind {
	case observe.Build, observe.Assembly:
		a.window(r)
	case observe.Stage:
		if w.Name == "memory" {
			a = append(a, count(attrGenAIMemoryCount, r.Items))
		}
	case observe.Call:
		a.count(attrFuel, r.Fuel)
		a.count(attrGuestMemory, r.Memory)
		a.count(attrInputSize, r.BytesIn)
		a.count(attrOutputSize, r.BytesOut)
		if r.Waited > 0 {
			a = append(a, attribute.Float64(attrWait, r.Waited.Seconds()))
		}
	case observe.Model:
		a.count(attrGenAIInputTokens, r.InputTokens)
		a.count(attrGenAIOutputTokens, r.OutputTokens)
		a.count(attrGenAICacheRead, r.CachedTokens)
		if r.Cached {
			a = append(a, attribute.Bool(attrAnswerCached, true))
		}
		t.addContent(&a, attrGenAIOutput, r.Text)
	case observe.Search:
		t.addContent(&a, attrGenAIDocuments, r.Text)
	}
	return a
}

// window adds what a build has put into its window, and what it cost.
func (a *attributes) window(r *observe.Result) {
	cost := 0.0
	for i := range r.Services {
		cost += r.Services[i].CostUSD
	}
	if cost > 0 {
		*a = append(*a, attribute.Float64(attrCost, cost))
	}
	w := r.Window
	if w == nil {
		return
	}
	left := 0
	for _, s := range w.Tokens {
		left += s.Out
	}
	*a = append(*a, count(attrWindowTokens, w.Used), count(attrTokensLeft, left))
	a.count(attrWindowMax, int64(w.Max))
	if w.Compared {
		*a = append(*a, count(attrPrefixCommon, w.CommonTokens), count(attrPrefixNew, w.NewTokens))
	}
}

// observe counts a piece of work that has ended.
func (m *metrics) observe(p *work, r *observe.Result, took time.Duration) {
	w, outcome := &p.what, outcomeOf(r)
	switch w.Kind {
	case observe.Build, observe.Assembly:
		m.observeBuild(p, r, took, outcome)
	case observe.Stage:
		h, ok := m.stages[w.Name]
		if !ok {
			h = m.stageTime.WithLabelValues(w.Name)
		}
		measure(p.span, h, took)
	case observe.Step:
		measure(p.span, m.stepTime.WithLabelValues(m.steps.of(w.Name), outcome), took)
	case observe.Provider:
		measure(p.span, m.providerTime.WithLabelValues(m.providers.of(w.Name), outcome), took)
	case observe.Call:
		plugin := m.plugins.of(w.Name)
		measure(p.span, m.callTime.WithLabelValues(plugin, m.operations.of(w.Operation)), took)
		measure(p.span, m.callWait.WithLabelValues(plugin), r.Waited)
		m.fuel.WithLabelValues(plugin).Add(float64(max(0, r.Fuel)))
		if r.Memory > 0 {
			m.memory.WithLabelValues(plugin).Set(float64(r.Memory))
		}
		if r.Err != nil {
			m.failures.WithLabelValues(plugin, m.reason(r)).Inc()
		}
	case observe.Model:
		m.observeModel(p, r, took)
	case observe.Embed:
		model := m.embedders.of(w.Name)
		measure(p.span, m.embedTime.WithLabelValues(model, outcome), took)
		m.texts.WithLabelValues(model).Add(float64(w.Count))
	case observe.Search:
		measure(p.span, m.searchTime.WithLabelValues(m.collections.of(w.Name), outcome), took)
	case observe.Store:
		measure(p.span, m.storeTime.WithLabelValues(w.Name, outcome), took)
	}
}

// observeBuild counts a build or an assembly.
func (m *metrics) observeBuild(p *work, r *observe.Result, took time.Duration, outcome string) {
	class, pipeline := p.t.Class(p.what.Tenant), "assemble"
	if p.what.Kind == observe.Build {
		pipeline = m.pipelines.of(p.what.Name)
		measure(p.span, m.buildTime.WithLabelValues(pipeline, outcome), took)
	} else {
		measure(p.span, m.assemblyTime.WithLabelValues(outcome), took)
	}
	m.builds.WithLabelValues(class, outcome).Inc()
	if r.Err != nil {
		m.buildFailures.WithLabelValues(pipeline, m.reason(r)).Inc()
	}
	for _, f := range r.Failures {
		m.skips.WithLabelValues(m.steps.of(f.Name), m.reasons.of(orError(f.Reason))).Inc()
	}
	for i := range r.Services {
		if s := &r.Services[i]; s.CostUSD > 0 {
			m.cost.WithLabelValues(m.models.of(cmp.Or(s.Model, s.Name)), class).Add(s.CostUSD)
		}
	}
	if r.Window == nil {
		return
	}
	for _, s := range r.Window.Tokens {
		source := m.sources.of(s.Source)
		m.tokens.WithLabelValues(source, "in").Add(float64(max(0, s.In)))
		m.tokens.WithLabelValues(source, "out").Add(float64(max(0, s.Out)))
	}
	if r.Window.Compared {
		m.prefix.WithLabelValues("common").Add(float64(max(0, r.Window.CommonTokens)))
		m.prefix.WithLabelValues("new").Add(float64(max(0, r.Window.NewTokens)))
	}
}

func orError(reason string) string {
	if reason == "" {
		return "error"
	}
	return reason
}

// observeModel counts a question to a model.
func (m *metrics) observeModel(p *work, r *observe.Result, took time.Duration) {
	model := m.models.of(cmp.Or(p.what.ServerModel, p.what.Name))
	if r.Cached {
		m.kept.WithLabelValues(model).Inc()
		return
	}
	provider := clip(p.what.API)
	measure(p.span, m.modelTime.WithLabelValues(spanChat, model, provider, m.reason(r)), took)
	m.inputTokens.WithLabelValues(model, provider).Add(float64(max(0, r.InputTokens)))
	m.outputTokens.WithLabelValues(model, provider).Add(float64(max(0, r.OutputTokens)))
	m.cacheRead.WithLabelValues(model, provider).Add(float64(max(0, r.CachedTokens)))
}
