package servecmd

import (
	"bytes"
	"context"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/console"
	"github.com/anchor-host/anchor-host/telemetry"
)

// mountConsole adds the console to the admin listener. close must be called when the server has ended.
func mountConsole(s *server.Server, o *server.Options, app *anchor.App, t *telemetry.Telemetry) (closeConsole func(), _ error) {
	c, err := console.New(console.Options{
		App: app, Authenticator: o.Authenticator, Logger: o.Logger, Flush: app.FlushRecords,
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
		Rebuild: func(ctx context.Context, p server.Principal, document []byte, b anchor.BuildOptions) (*pipeline.Result, error) {
			return rebuild(ctx, o.Admission, app, p, document, b)
		},
	})
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

// rebuild builds a document again, within the quotas of who asks for it.
func rebuild(ctx context.Context, a server.Admission, app *anchor.App, p server.Principal, document []byte, o anchor.BuildOptions) (result *pipeline.Result, err error) {
	cost := server.Cost{Action: "build", Scope: server.ScopeBuild, Bytes: int64(len(document))}
	if err := a.Enter(p, cost); err != nil {
		return nil, err
	}
	release, err := a.Admit(ctx, p, cost)
	if err != nil {
		return nil, err
	}
	ctx, used := ledger.Under(ctx)
	defer func() { release(usageOf(result, err, used)) }()
	return app.BuildRequest(ctx, "request", bytes.NewReader(document), o)
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
