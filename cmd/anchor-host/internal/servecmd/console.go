package servecmd

import (
	"cmp"
	"context"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/console"
	"github.com/anchor-host/anchor-host/server/keys"
	"github.com/anchor-host/anchor-host/server/quota"
	"github.com/anchor-host/anchor-host/telemetry"
)

// mountConsole adds the console to the admin listener. store is nil if there are no keys. close must be called
// when the server has ended.
func mountConsole(s *server.Server, o *server.Options, app *anchor.App, t *telemetry.Telemetry, store *keys.Store, activity *console.Activity) (closeConsole func(), _ error) {
	settings := console.Options{
		App: app, Authenticator: o.Authenticator, Logger: o.Logger, Flush: app.FlushRecords, Activity: activity, Jobs: cmp.Or(o.Jobs, o.KeptJobs), Rollout: o.Rollout, Failures: o.Failures,
		Totals: func() console.Totals {
			totals, err := t.Totals()
			if err != nil {
				o.Logger.Warn("console: some figures cannot be read", "error", err)
			}
			return console.Totals{
				Builds: totals.Builds, Failed: totals.Failed, Skips: totals.Skips, Bounds: totals.Bounds, Buckets: totals.Buckets,
				In: totals.In, Out: totals.Out, Common: totals.Common, New: totals.New, CostUSD: totals.CostUSD,
			}
		},
		Rebuild: func(ctx context.Context, p server.Principal, tenant string, r *builds.Record, id string) error {
			return rebuild(ctx, o.Admission, app, p, tenant, r, id)
		},
	}
	if store != nil {
		settings.Tenants, settings.Keys = store.Tenants, func() []console.Key { return keysOf(store) }
	}
	c, err := console.New(settings)
	if err != nil {
		return nil, err
	}
	for _, r := range c.Routes() {
		if err := s.MountAdmin(r); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c.Close, nil
}

// keysOf are the keys of a file as the console shows them.
func keysOf(store *keys.Store) (out []console.Key) {
	now := time.Now()
	for _, k := range store.List() {
		tenant, key := store.Limits(server.Principal{KeyID: k.ID, Tenant: k.Tenant})
		out = append(out, console.Key{
			ID: k.ID, Tenant: k.Tenant, Scopes: k.Scopes, State: k.State(now), Note: k.Note, Expires: k.Expires, Limits: limitsOf(&key), TenantLimits: limitsOf(&tenant),
		})
	}
	return out
}

// limitsOf are the limits that are set, by the names of their settings.
func limitsOf(l *quota.Limits) (out []console.Limit) {
	for _, one := range []console.Limit{
		{Name: "requests_per_second", Most: l.RequestsPerSecond}, {Name: "concurrent_builds", Most: float64(l.ConcurrentBuilds)},
		{Name: "fuel_per_minute", Most: float64(l.FuelPerMinute)}, {Name: "tokens_per_minute", Most: float64(l.TokensPerMinute)},
		{Name: "model_calls_per_minute", Most: float64(l.ModelCallsPerMinute)}, {Name: "usd_per_day", Most: l.USDPerDay},
		{Name: "memory_records", Most: float64(l.MemoryRecords)}, {Name: "memory_bytes", Most: float64(l.MemoryBytes)},
	} {
		if one.Most > 0 {
			out = append(out, one)
		}
	}
	return out
}

// rebuild builds the request of a record again, within the quotas of who asks for it.
func rebuild(ctx context.Context, a server.Admission, app *anchor.App, p server.Principal, tenant string, r *builds.Record, id string) error {
	cost := server.Cost{Action: "build", Scope: server.ScopeBuild, Bytes: int64(len(r.Detail.Request))}
	if err := a.Enter(p, cost); err != nil {
		return err
	}
	release, err := a.Admit(ctx, p, cost)
	if err != nil {
		return err
	}
	ctx, used := ledger.Under(ctx)
	var u server.Usage
	defer func() { release(u) }()
	again, err := app.RepeatBuild(ctx, tenant, r, anchor.BuildOptions{ID: id, Key: p.KeyID})
	if err != nil {
		u = usageOf(nil, err, used)
		return err
	}
	u = usageOf(again.Result, again.Err, used)
	return nil
}

// usageOf is what a build has used.
func usageOf(result *pipeline.Result, err error, used *ledger.Ledger) (u server.Usage) {
	if result != nil {
		u.Tokens = result.Window.UsedTokens
	}
	if d := pipeline.DiagnosticsOf(result, err); d != nil {
		for i := range d.Steps {
			u.Fuel += uint64(max(0, d.Steps[i].Fuel))
		}
		for i := range d.StepFailures {
			u.Fuel += uint64(max(0, d.StepFailures[i].Fuel))
		}
	}
	u.Services = used.Lines()
	for _, l := range u.Services {
		if l.Service == "llm" {
			u.ModelCalls += int(l.Calls)
		}
	}
	return u
}
