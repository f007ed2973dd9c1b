package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation in traces.
const scope = "github.com/anchor-host/anchor-host/telemetry"

// CaptureVariable is the environment variable that switches [Options.CaptureContent] on with "true".
const CaptureVariable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// Options are the settings of a [Telemetry]. The zero value takes everything from the environment.
type Options struct {
	// Version is that of the program, in metrics and traces. Empty: "unknown".
	Version string
	// Service is the name of the service in traces, unless OTEL_SERVICE_NAME or
	// OTEL_RESOURCE_ATTRIBUTES state one. Empty: "anchor-host".
	Service string
	// Logger receives what goes wrong with exports, at most a line in a minute. nil discards it.
	Logger *slog.Logger
	// TenantClasses are the tenants of each class. A tenant of no class is "other".
	TenantClasses map[string][]string
	// CaptureContent sends queries, results of searches, and messages to models with traces. It is
	// also switched on by the variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.
	CaptureContent bool
	// TracerProvider makes the spans, for programs that have one. The variables OTEL_* then have no
	// effect here, and Shutdown does not end it. nil: one that sends to the collector of the
	// variables, and none if they name no collector.
	TracerProvider trace.TracerProvider
	// Getenv reads variables. nil: [os.Getenv]. Variables of the sampler, of resources and of the
	// queue are always read from the environment of the process.
	Getenv func(string) string
}

// Telemetry makes traces and metrics of work. It is safe for concurrent use.
type Telemetry struct {
	metrics    *metrics
	tracer     trace.Tracer // nil without traces
	provider   *sdktrace.TracerProvider
	propagator propagation.TraceContext
	content    bool
	classes    map[string]string
}

// New returns a Telemetry. If the variables name no collector, there are metrics only. Errors name the
// variable that is not valid; the Telemetry then has metrics only.
func New(o Options) (*Telemetry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	t := &Telemetry{classes: map[string]string{}, content: o.CaptureContent || strings.EqualFold(o.Getenv(CaptureVariable), "true")}
	for class, tenants := range o.TenantClasses {
		for _, tenant := range tenants {
			t.classes[tenant] = class
		}
	}
	t.metrics = newMetrics(cmp.Or(o.Version, "unknown"))
	if o.TracerProvider != nil {
		t.tracer = o.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
		return t, nil
	}
	settings, err := exportSettings(o.Getenv)
	if err != nil || settings == nil {
		return t, err
	}
	if t.provider, err = newProvider(&o, newExporter(settings, o.Logger, t.metrics.exported)); err != nil {
		return t, err
	}
	t.tracer = t.provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

// newProvider returns what makes spans and sends them. The library reads the variables of the
// sampler, the resource and the queue.
func newProvider(o *Options, client otlptrace.Client) (*sdktrace.TracerProvider, error) {
	if err := checkSampler(o.Getenv); err != nil {
		return nil, err
	}
	// What is given first is replaced by what the environment says.
	r, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", cmp.Or(o.Service, "anchor-host")), attribute.String("service.version", cmp.Or(o.Version, "unknown"))),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w (want name=value,name=value)", err)
	}
	exporter := otlptrace.NewUnstarted(client)
	return sdktrace.NewTracerProvider(sdktrace.WithResource(r), sdktrace.WithBatcher(exporter)), nil
}

// Tracing reports whether spans are made.
func (t *Telemetry) Tracing() bool { return t.tracer != nil }

// Continue returns a context under which spans continue the trace of a W3C traceparent. An empty or
// invalid one changes nothing.
func (t *Telemetry) Continue(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" || t.tracer == nil {
		return ctx
	}
	return t.propagator.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// TraceID returns the id of the trace that the work of ctx belongs to, and "" if it belongs to none.
func (t *Telemetry) TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// Class returns the class of a tenant, "other" if it has none.
func (t *Telemetry) Class(tenant string) string {
	if class, ok := t.classes[tenant]; ok {
		return class
	}
	return other
}

// Handler answers a scrape of Prometheus. In the format OpenMetrics, histograms have the traces of
// examples.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.metrics.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Registerer takes metrics of others, which [Telemetry.Handler] then shows, too.
func (t *Telemetry) Registerer() prometheus.Registerer { return t.metrics.registry }

// Shutdown sends the spans that wait, and ends the export. What is not sent when ctx ends is lost.
// Metrics can be used on.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: send spans: %w", err)
	}
	return nil
}

// Names are names of a configuration. Metrics always show them as they are; other names share the
// room for a hundred of each kind, and are then "other".
type Names struct {
	Pipelines, Steps, Providers, Plugins, Models, Embedders, Collections []string
}

// Know makes room for names of a configuration. It can be called again after a reload.
func (t *Telemetry) Know(n Names) {
	m := t.metrics
	m.pipelines.know(n.Pipelines...)
	m.steps.know(n.Steps...)
	m.providers.know(n.Providers...)
	m.plugins.know(n.Plugins...)
	m.models.know(n.Models...)
	m.embedders.know(n.Embedders...)
	m.collections.know(n.Collections...)
}
