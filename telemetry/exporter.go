package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// firstPause is the pause before the first repetition of an export. Each further one is twice as
	// long.
	firstPause = 200 * time.Millisecond
	// maxAnswer bounds what is read of an answer, so that the connection can be used again.
	maxAnswer = 64 << 10
	// logEvery is how often a failing export is logged.
	logEvery = time.Minute
)

// exporter sends spans with OTLP over HTTP. The library's own client would add 5 MB of gRPC to the
// program, which it does not use.
type exporter struct {
	settings *settings
	client   *http.Client
	log      *slog.Logger
	count    func(spans int, sent bool)

	mu     sync.Mutex
	logged time.Time // guarded by mu
	missed int       // spans since then, guarded by mu
}

func newExporter(s *settings, log *slog.Logger, count func(spans int, sent bool)) *exporter {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	if s.tls != nil {
		t.TLSClientConfig = s.tls
	}
	return &exporter{settings: s, log: log, count: count, client: &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers may be keys
	}}
}

func (e *exporter) Start(context.Context) error { return nil }

func (e *exporter) Stop(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. A batch that cannot be sent is counted, logged, and
// lost. There is no error, because the library would print it.
func (e *exporter) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	n := 0
	for _, r := range spans {
		for _, s := range r.ScopeSpans {
			n += len(s.Spans)
		}
	}
	err := e.upload(ctx, spans)
	e.count(n, err == nil)
	if err != nil {
		e.complain(n, err)
	}
	return nil
}

// complain logs a failure, unless one was logged a short time ago.
func (e *exporter) complain(spans int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missed += spans
	if now := time.Now(); now.Sub(e.logged) >= logEvery {
		e.log.Warn("spans are lost: the collector cannot be reached (check OTEL_EXPORTER_OTLP_ENDPOINT)", "spans", e.missed, "error", err.Error())
		e.logged, e.missed = now, 0
	}
}

// upload sends spans, and repeats that as long as it may help and time is left.
func (e *exporter) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The message of an export has the same form as a document of traces.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	if e.settings.gzip {
		body = zipped(body)
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.timeout)
	defer cancel()
	for pause := firstPause; ; pause *= 2 {
		again, after, err := e.once(ctx, body)
		if err == nil || !again {
			return err
		}
		wait := max(pause, after)
		if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// once sends spans once. again says that a repetition may help, after that time.
func (e *exporter) once(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, 0, errors.New("the address is not valid")
	}
	r.Header = e.settings.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if e.settings.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := e.client.Do(r)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) { // which shows the address, that may have a password
			err = of.Err
		}
		return true, 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // only the status matters
	switch s := answer.StatusCode; {
	case s/100 == 2:
		return false, 0, nil
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // without a number the own pause counts
		return true, time.Duration(min(max(seconds, 0), 3600)) * time.Second, fmt.Errorf("the collector answers with status %d", s)
	default:
		return false, 0, fmt.Errorf("the collector answers with status %d", s)
	}
}
