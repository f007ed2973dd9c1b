package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/anchor-host/anchor-host/internal/observe"
)

// Request describes an HTTP request when it comes.
type Request struct {
	// ID identifies it in the log.
	ID string
	// Method is the HTTP method, and Route the pattern of the path, such as "/v1/builds/{id}". Without
	// a route the request is of the route "other".
	Method, Route string
	// Traceparent is the trace context of W3C that the client has sent. It may be empty.
	Traceparent string
	// Quiet makes no span, and a log line only if the server is at fault. It is for health checks and
	// scrapes.
	Quiet bool
}

// Answer describes how a request was answered.
type Answer struct {
	// Status is the HTTP status.
	Status int
	// Tenant is whose request it was. Only its class is shown.
	Tenant string
	// Reason is the stable word of a refusal or an error, such as "quota_exceeded". Quota is what a
	// request with status 429 had too much of.
	Reason, Quota string
	// Err is why a request failed. Only the line of one with status 500 or above shows it. It may be nil.
	Err error
	// Degraded is the number of things that the answer lacks.
	Degraded int
	// Bytes is the size of the answer, and Generation the number of the configuration.
	Bytes, Generation int64
}

// methods are those that metrics name.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

// Begin is called when a request comes. The request runs under the context that it returns, whose
// work is observed. end is called once, when the request is answered. log receives a line for each
// request; nil logs none.
func (t *Telemetry) Begin(ctx context.Context, r Request, log *RequestLog) (_ context.Context, end func(Answer)) {
	began := time.Now()
	m := t.metrics
	m.running.Inc()
	method := r.Method
	if !methods[method] {
		method = other
	}
	route := other
	if r.Route != "" {
		route = m.routes.of(r.Route)
	}
	ctx = t.Continue(t.Context(ctx), r.Traceparent)
	var span trace.Span
	if t.tracer != nil && !r.Quiet {
		ctx, span = t.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer))
		if span.IsRecording() {
			span.SetAttributes(attribute.String(attrHTTPMethod, method), attribute.String(attrHTTPRoute, route), text(attrRequestID, r.ID))
		} else {
			ctx, span = observe.Under(ctx, observer{t, true}), nil
		}
	}
	return ctx, func(a Answer) {
		took := time.Since(began)
		m.running.Dec()
		m.answered(span, t.Class(a.Tenant), route, method, &a, took)
		log.add(ctx, t, &r, &a, route, took)
		if span != nil {
			t.endSpan(span, &a)
		}
	}
}

// endSpan ends the span of a request.
func (t *Telemetry) endSpan(span trace.Span, a *Answer) {
	span.SetAttributes(attribute.Int(attrHTTPStatus, a.Status), attribute.String(attrTenantClass, t.Class(a.Tenant)))
	if a.Generation != 0 {
		span.SetAttributes(attribute.Int64(attrGeneration, a.Generation))
	}
	if a.Status >= http.StatusInternalServerError {
		reason := t.metrics.reasons.of(orError(a.Reason))
		span.SetAttributes(attribute.String(attrErrorType, reason))
		span.SetStatus(codes.Error, reason)
	}
	t.metrics.spans.WithLabelValues("made").Inc()
	span.End()
}

// answered counts a request.
func (m *metrics) answered(span trace.Span, class, route, method string, a *Answer, took time.Duration) {
	status := "0"
	if a.Status >= 100 && a.Status < 600 {
		status = strconv.Itoa(a.Status)
	}
	m.requests.WithLabelValues(route, method, status).Inc()
	measure(span, m.requestTime.WithLabelValues(route), took)
	switch a.Status {
	case http.StatusTooManyRequests:
		m.rejections.WithLabelValues(class, m.quotas.of(orError(cmp.Or(a.Quota, a.Reason)))).Inc()
	case http.StatusServiceUnavailable:
		m.sheds.WithLabelValues(m.reasons.of(orError(a.Reason))).Inc()
	}
}

// RequestLog writes a line for each request: its id, route, status, duration, the class of its tenant
// and its trace. That of a failure by the fault of the server has the error and level warn. Nothing else
// in a line can have content. In a flood of requests it leaves lines out, and says how many.
type RequestLog struct {
	log *slog.Logger

	mu           sync.Mutex
	good, failed bucket
}

// Lines that are written in a second: of requests that the server answered well, and of those that
// failed by its fault, so that a flood of the ones does not hide the others.
const (
	goodLines   = 100
	failedLines = 50
)

// maxErrorText bounds the error of a line, in bytes. The stack of a panic has room.
const maxErrorText = 16 << 10

// NewRequestLog returns a log that writes to log.
func NewRequestLog(log *slog.Logger) *RequestLog {
	return &RequestLog{log: log, good: bucket{rate: goodLines}, failed: bucket{rate: failedLines}}
}

// bucket lets rate lines pass in each second.
type bucket struct {
	rate, used int
	second     int64
	left       int64 // lines left out since the last one that passed
}

// take reports whether a line may be written at a time, and how many were left out before it.
func (b *bucket) take(now time.Time) (leftOut int64, ok bool) {
	if s := now.Unix(); s != b.second {
		b.second, b.used = s, 0
	}
	if b.used >= b.rate {
		b.left++
		return 0, false
	}
	leftOut, b.left = b.left, 0
	b.used++
	return leftOut, true
}

// add writes the line of a request.
func (l *RequestLog) add(ctx context.Context, t *Telemetry, r *Request, a *Answer, route string, took time.Duration) {
	if l == nil {
		return
	}
	b := &l.good
	if a.Status >= http.StatusInternalServerError {
		b = &l.failed
	}
	if r.Quiet && b == &l.good || !l.log.Enabled(ctx, slog.LevelWarn) || b == &l.good && !l.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	l.mu.Lock()
	leftOut, ok := b.take(time.Now())
	l.mu.Unlock()
	if !ok {
		return
	}
	line := []slog.Attr{
		slog.String("request", clip(r.ID)), slog.String("method", clip(r.Method)), slog.String("route", route), slog.Int("status", a.Status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000), slog.String("tenant_class", t.Class(a.Tenant)), slog.Int64("bytes", a.Bytes),
	}
	if a.Reason != "" {
		line = append(line, slog.String("reason", clip(a.Reason)))
	}
	if a.Degraded > 0 {
		line = append(line, slog.Int("degraded", a.Degraded))
	}
	if id := t.TraceID(ctx); id != "" {
		line = append(line, slog.String("trace", id))
	}
	if leftOut > 0 {
		line = append(line, slog.Int64("lines_left_out", leftOut))
	}
	level := slog.LevelInfo
	if a.Status >= http.StatusInternalServerError && a.Err != nil {
		level = slog.LevelWarn
		text := a.Err.Error()
		line = append(line, slog.String("error", strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "\ufffd")))
	}
	l.log.LogAttrs(context.WithoutCancel(ctx), level, "answered", line...)
}
