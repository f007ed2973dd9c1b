package agent

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/anchor-host/anchor-host/pipeline"
)

// plan returns the budget of each provider. With planning, it is the budget minus the
// estimates of all providers after it, and at least half of the budget.
func (r *chainRun) plan(ctx context.Context, providers []rankedProvider) []Budget {
	budgets := make([]Budget, len(providers))
	held, most := 0, r.diag.Budget.MaxTokens/2
	for i := len(providers) - 1; i >= 0; i-- {
		budgets[i] = r.diag.Budget
		if most > 0 {
			budgets[i].MaxTokens -= held
		}
		if !r.c.cfg.Plan || ctx.Err() != nil {
			continue
		}
		n, err := r.estimate(ctx, &providers[i])
		if err != nil {
			if ctx.Err() == nil {
				r.warn(ctx, "no estimate", err, slog.String("provider", providers[i].name))
			}
			continue
		}
		r.diag.Providers[i].EstimatedTokens = &n
		held += min(n, most-held)
	}
	return budgets
}

// estimate calls EstimateTokens of a provider, under its timeout.
func (r *chainRun) estimate(ctx context.Context, p *rankedProvider) (int, error) {
	out := p.attempt(ctx, *r.state, nil, func(ctx context.Context, a *answer) (err error) {
		a.estimate, err = p.EstimateTokens(ctx, &a.state)
		return err
	})
	if out.err == nil && out.estimate < 0 {
		out.err = fmt.Errorf("estimate of %d tokens: %w (want 0 or more)", out.estimate, pipeline.ErrInvalid)
	}
	return out.estimate, out.err
}
