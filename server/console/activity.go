package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server"
)

// Bounds of what an activity remembers, and of its texts in characters.
const (
	maxSeenKeys, maxFailing, maxFailures, maxRefused = 10_000, 500, 5, 50
	noteLength                                       = 400
)

// Activity remembers what requests did since the program began: when each key was used, which calls of plugins
// failed last, and which requests were refused last. Its zero value is ready for use. It is safe for concurrent
// use.
type Activity struct {
	mu       sync.Mutex
	keys     map[string]keyUse
	failures map[string][]failureNote // by plugin, the newest first
	refused  []refusal                // the newest first
}

// keyUse is how a key was used: last with any listener, and how often with that of the API.
type keyUse struct {
	Last              time.Time
	Requests, Refused int64
}

// failureNote is a step that failed or was skipped in a build.
type failureNote struct {
	Time                                     time.Time
	Step, Reason, Text, Tenant, Build, Asked string // Asked is the id of the request
}

// refusal is a request that was not carried out.
type refusal struct {
	Time                            time.Time
	Status                          int
	Tenant, Key, Action, Reason, ID string
}

// Observer hears of requests and builds for the activity.
func (a *Activity) Observer() server.Observer {
	return server.Observer{
		OnRequest: func(ctx context.Context, _ *server.RequestInfo) (context.Context, func(*server.RequestInfo, server.Usage, error)) {
			return ctx, func(r *server.RequestInfo, _ server.Usage, err error) {
				a.request(r, err, time.Now())
			}
		},
		OnBuild: func(ctx context.Context, b *server.BuildInfo) (context.Context, []pipeline.Callback, func(*pipeline.Result, error)) {
			return ctx, nil, func(result *pipeline.Result, err error) { a.build(b, pipeline.DiagnosticsOf(result, err), time.Now()) }
		},
	}
}

// request notes a request that has ended.
func (a *Activity) request(r *server.RequestInfo, err error, now time.Time) {
	var refused *server.Refusal
	limited := errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusForbidden || refused.Status == http.StatusUnauthorized)
	a.mu.Lock()
	defer a.mu.Unlock()
	if id := r.Principal.KeyID; id != "" {
		if a.keys == nil {
			a.keys = map[string]keyUse{}
		}
		use, known := a.keys[id]
		if use.Last = now; !r.Admin {
			use.Requests++
		}
		if limited && !r.Admin {
			use.Refused++
		}
		if known || len(a.keys) < maxSeenKeys {
			a.keys[id] = use
		}
	}
	if limited && !r.Admin {
		a.refused = slices.Insert(a.refused, 0, refusal{
			Time: now, Status: refused.Status, Tenant: r.Principal.Tenant, Key: r.Principal.KeyID, Action: r.Action, ID: begin(r.ID, noteLength), Reason: begin(cmp.Or(refused.Reason, failure.Of(err).Error.Reason), noteLength),
		})
		a.refused = a.refused[:min(len(a.refused), maxRefused)]
	}
}

// build notes the plugins that failed in a build.
func (a *Activity) build(b *server.BuildInfo, d *pipeline.Diagnostics, now time.Time) {
	if d == nil || len(d.StepFailures) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failures == nil {
		a.failures = map[string][]failureNote{}
	}
	for i := range d.StepFailures {
		f := &d.StepFailures[i]
		list := a.failures[f.Plugin]
		if f.Plugin == "" || list == nil && len(a.failures) == maxFailing {
			continue
		}
		list = slices.Insert(list, 0, failureNote{now, begin(f.Step, noteLength), begin(f.Reason, noteLength), begin(f.Message, noteLength), b.Request.Principal.Tenant, b.ID, begin(b.Request.ID, noteLength)})
		a.failures[f.Plugin] = list[:min(len(list), maxFailures)]
	}
}

// use says how a key was used.
func (a *Activity) use(key string) keyUse {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}

// failed are the last failures of a plugin, the newest first.
func (a *Activity) failed(plugin string) []failureNote {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.failures[plugin])
}

// lastRefused are the requests that were refused last, the newest first.
func (a *Activity) lastRefused() []refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.refused)
}
