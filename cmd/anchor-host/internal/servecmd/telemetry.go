package servecmd

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/telemetry"
)

// observer makes traces, metrics and log lines of requests.
func observer(t *telemetry.Telemetry, log *telemetry.RequestLog) server.Observer {
	return server.Observer{OnRequest: func(ctx context.Context, r *server.RequestInfo) (context.Context, func(*server.RequestInfo, server.Usage, error)) {
		quiet := r.Admin || r.Action == "livez" || r.Action == "readyz"
		ctx, end := t.Begin(ctx, telemetry.Request{ID: r.ID, Method: r.Method, Route: r.Route, Traceparent: r.Traceparent, Quiet: quiet}, log)
		return ctx, func(r *server.RequestInfo, u server.Usage, err error) {
			a := telemetry.Answer{Status: u.Status, Tenant: r.Principal.Tenant, Bytes: u.Bytes, Degraded: u.Degraded, Generation: r.Generation, Err: err}
			var refusal *server.Refusal
			switch {
			case errors.As(err, &refusal):
				a.Reason, a.Quota = refusal.Reason, quotaOf(refusal.Header)
			case err != nil:
				a.Reason = cmp.Or(u.Reason, failure.Reason(err)) // events have no answer with a reason
			}
			end(a)
		}
	}}
}

// quotaOf returns the name of the quota in the field RateLimit of a refusal, such as "requests", "" if there
// is none.
func quotaOf(h http.Header) string {
	_, rest, ok := strings.Cut(h.Get("RateLimit"), `"`)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// mount adds the scrape to the admin listener.
func mount(s *server.Server, t *telemetry.Telemetry) error {
	return s.MountAdmin(server.Route{Method: "GET", Path: "/metrics", Action: "metrics", Scope: server.ScopeNone, Handler: t.Handler()})
}
