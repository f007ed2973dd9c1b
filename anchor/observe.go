package anchor

import (
	"context"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// priced returns a context with a ledger that knows what the models of the configuration cost.
func (g *generation) priced(ctx context.Context) context.Context {
	if g.prices == nil {
		return ctx
	}
	ctx, l := ledger.Under(ctx)
	l.SetRates(func(u ledger.Use) (ledger.Rate, bool) {
		if u.Service != manifest.ServiceLLM {
			return ledger.Rate{}, true // servers do not say what vectors and searches cost
		}
		model := g.loaded.Models[u.Name].Model
		rate, known := g.prices.Rate(model)
		rate.Model = model
		return rate, known
	})
	return ctx
}

// observed runs the work of a build with an observer.
func (p *plan) observed(ctx context.Context, work func(context.Context) (*pipeline.Result, error)) (*pipeline.Result, error) {
	ctx, span := observe.Begin(p.generation.priced(ctx), observe.Work{
		Kind: observe.Build, Name: p.pipeline, Tenant: p.config.TenantName(), Text: func() string { return p.query.Text },
	})
	result, err := work(ctx)
	if span.Observed() {
		span.End(built(result, err))
	}
	return result, err
}

// built describes the end of a build.
func built(result *pipeline.Result, err error) observe.Result {
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

// observed runs the work of an assembly with an observer.
func (r *agentRun) observed(ctx context.Context, g *generation, work func(context.Context) (*Assembled, error)) (*Assembled, error) {
	ctx, span := observe.Begin(g.priced(ctx), observe.Work{Kind: observe.Assembly, Tenant: r.config.TenantName()})
	result, err := work(ctx)
	if !span.Observed() {
		return result, err
	}
	end := observe.Result{Err: err, Reason: pipeline.ReasonOf(err)}
	if result != nil && result.Assembly != nil {
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
	}
	span.End(end)
	return result, err
}
