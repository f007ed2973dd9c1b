package anchor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// observed runs work for the tenant of a configuration, and ends it after the timeout of the configuration;
// 0 is no timeout. The error of a timeout says how to raise it. An observer gets the end of the work.
func observed[T any](ctx context.Context, g *assemble.Generation, c *config.Config, w observe.Work, end func(T, error) observe.Result, work func(context.Context) (T, error)) (T, error) {
	w.Tenant = c.TenantName()
	ctx, used := ledger.Under(host.WithTenant(ctx, w.Tenant)) // of all that the work asks models for
	priced(used, g)
	ctx, span := observe.Begin(ctx, w)
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, time.Duration(c.Timeout))
	}
	defer cancel()
	done, err := work(bounded)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("%w (all of it may take %v: raise timeout)", err, c.Timeout)
	}
	if span.Observed() {
		span.End(end(done, err))
	}
	return done, err
}

// priced tells a ledger what the models of the configuration cost.
func priced(l *ledger.Ledger, g *assemble.Generation) {
	if g.Prices == nil {
		return
	}
	l.SetRates(func(u ledger.Use) (ledger.Rate, bool) {
		if u.Service != manifest.ServiceLLM {
			return ledger.Rate{}, true // servers do not say what vectors and searches cost
		}
		model := cmp.Or(g.Loaded.Models[u.Name].Model, u.Name)
		rate, known := g.Prices.Rate(model)
		rate.Model = model
		return rate, known
	})
}

// ended describes the end of a build.
func ended(result *pipeline.Result, err error) observe.Result {
	out := observe.Result{Err: err, Reason: pipeline.ReasonOf(err)}
	if result != nil {
		out.Items, out.Window = len(result.Window.Items), windowOf(result)
	}
	d := pipeline.DiagnosticsOf(result, err)
	if d == nil {
		return out
	}
	out.Services = d.Services
	for _, f := range d.StepFailures {
		if f.Step != d.FailedStep {
			out.Failures = append(out.Failures, observe.Failure{Name: f.Step, Plugin: f.Plugin, Reason: f.Reason})
		}
	}
	return out
}

// windowOf counts the tokens of a window and of what was left out.
func windowOf(result *pipeline.Result) *observe.Window {
	w := &observe.Window{Used: result.Window.UsedTokens + result.Window.Reserved(), Max: result.Window.MaxTokens}
	of := func(s pipeline.Source) *observe.Tokens {
		for i := range w.Tokens {
			if w.Tokens[i].Source == string(s) {
				return &w.Tokens[i]
			}
		}
		w.Tokens = append(w.Tokens, observe.Tokens{Source: string(s)})
		return &w.Tokens[len(w.Tokens)-1]
	}
	for i := range result.Window.Items {
		of(result.Window.Items[i].Source).In += result.Window.Items[i].TokenCount
	}
	for i := range result.Overflow {
		of(result.Overflow[i].Source).Out += result.Overflow[i].TokenCount
	}
	if c := result.Diagnostics.Cache; c != nil {
		w.Compared, w.CommonTokens, w.NewTokens = true, c.CommonTokens, c.Tokens-c.CommonTokens
	}
	return w
}

// endedAssembly describes the end of an assembly.
func endedAssembly(result *Assembled, err error) observe.Result {
	end := observe.Result{Err: err, Reason: pipeline.ReasonOf(err)}
	if result == nil || result.Assembly == nil {
		return end
	}
	d := result.Diagnostics
	end.Items, end.Services = len(result.Messages), d.Services
	if d.After.Tokens != nil {
		end.Window = &observe.Window{Used: *d.After.Tokens, Max: d.Budget.MaxTokens}
	}
	for i := range d.Providers {
		if p := &d.Providers[i]; p.Outcome == agent.ProviderFailed {
			end.Failures = append(end.Failures, observe.Failure{Name: p.Name, Plugin: p.Plugin, Reason: p.Reason})
		}
	}
	return end
}
