package audit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

// maxRefusals is how many refused requests of a second have a line. A flood of them must not fill the
// disk.
const maxRefusals = 20

// refusals counts refused requests.
type refusals struct {
	since   time.Time
	written int
	left    int64 // those without a line
}

// Observer returns what writes a line for each request to a server but those that everybody may
// send. Of the requests that are refused before they run, 20 of a second have a line; the others
// are counted in one.
func (l *Log) Observer() server.Observer {
	return server.Observer{OnRequest: func(ctx context.Context, r *server.RequestInfo) (context.Context, func(*server.RequestInfo, server.Usage, error)) {
		return ctx, func(r *server.RequestInfo, u server.Usage, err error) { l.request(r, u, err) }
	}}
}

// open are the actions that need no key, and the live figures of the console.
var open = map[string]bool{"": true, "livez": true, "readyz": true, "openapi": true, "consoleAsset": true, "consoleEvents": true}

func (l *Log) request(r *server.RequestInfo, u server.Usage, err error) {
	if open[r.Action] {
		return
	}
	e := Entry{
		Key: r.Principal.KeyID, Tenant: r.Principal.Tenant, Action: r.Action, Outcome: outcome(err), Status: u.Status, Request: r.ID, Generation: r.Generation,
		Object: Digest([]byte(r.Method + " " + r.Path)),
	}
	for _, c := range u.Claims {
		claim := e
		claim.Action, claim.Outcome, claim.Status, claim.Object = "claim", "ok", 0, Digest([]byte(c.What+" "+c.Name))
		_ = l.Append(claim)
	}
	switch u.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if !l.mayWriteRefusal() {
			return
		}
	}
	_ = l.Append(e) // it is logged, and Err says it
}

// outcome is the reason of an error, "ok" for none.
func outcome(err error) string {
	var refusal *server.Refusal
	var reasoner interface{ Reason() string }
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refusal):
		return refusal.Reason
	case errors.As(err, &reasoner) && reasoner.Reason() != "":
		return reasoner.Reason()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}

// mayWriteRefusal reports whether a refused request gets a line.
func (l *Log) mayWriteRefusal() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.refusals.since) >= time.Second {
		l.flushRefusals(now)
	}
	if l.refusals.written >= maxRefusals {
		l.refusals.left++
		return false
	}
	l.refusals.written++
	return true
}

// flushRefusals writes how many refused requests have no line.
func (l *Log) flushRefusals(now time.Time) {
	left := l.refusals.left
	l.refusals = refusals{since: now}
	if left == 0 || l.closed {
		return
	}
	if l.failure != nil {
		l.lost += left
		return
	}
	if err := l.write(Entry{Action: "audit.refusals", Outcome: "refused requests without a line", Count: left}); err != nil {
		l.lost += left
		_ = l.failed(err)
	}
}

// Guarded is an admission that refuses everything while the log cannot be written, for operators
// who would rather stop than act without a trace. next decides otherwise; nil admits everything.
func (l *Log) Guarded(next server.Admission) server.Admission { return guarded{l, next} }

type guarded struct {
	log  *Log
	next server.Admission
}

// check refuses while the log cannot be written.
func (g guarded) check() error {
	if g.log.Err() == nil {
		return nil
	}
	return &server.Refusal{
		Status: http.StatusServiceUnavailable, Reason: "audit_unavailable", Message: "the audit log cannot be written",
		Remedy: "try again later; the operator has to free space or repair the disk", RetryAfter: 10 * time.Second,
	}
}

func (g guarded) Enter(p server.Principal, c server.Cost) error {
	if err := g.check(); err != nil || g.next == nil {
		return err
	}
	return g.next.Enter(p, c)
}

func (g guarded) Admit(ctx context.Context, p server.Principal, c server.Cost) (func(server.Usage), error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if g.next == nil {
		return func(server.Usage) {}, nil
	}
	return g.next.Admit(ctx, p, c)
}
