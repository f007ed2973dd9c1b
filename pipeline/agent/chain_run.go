package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Run is like [Chain.Assemble], without diagnostics.
func (c *Chain) Run(ctx context.Context, s *State, messages []pipeline.Message, budget Budget) ([]pipeline.Message, error) {
	a, err := c.Assemble(ctx, s, messages, budget)
	return a.Messages, err
}

// Assemble passes messages, usually s.Messages, through the providers and returns the list
// for the model. It does not change the given list. Changes to the state by providers that
// succeed remain in s.
//
// A provider fails if it returns an error, panics or exceeds its timeout. It also fails if
// no model would take its list: the list holds an invalid message, or a tool call without
// the result that it had, or it is empty although it was not. A nil list means no change.
//
// When ctx ends, Assemble stops. The provider that is running then has no effect, whatever
// it returns. Assemble returns the list of the providers before it together with the error
// of ctx; their changes to the state remain. The same holds for a provider of [RequireProvider]
// that fails. The only other error is [ErrInvalid] for arguments out of bounds, before any provider
// runs. The result is never nil.
func (c *Chain) Assemble(ctx context.Context, s *State, messages []pipeline.Message, budget Budget) (*Assembly, error) {
	budget.Phase = cmp.Or(budget.Phase, PhaseLLM)
	r := &chainRun{c: c, state: s, messages: messages, began: c.cfg.Now(), counter: c.cfg.Counter}
	r.diag = &Diagnostics{Budget: budget, Providers: []ProviderDiagnostic{}}
	ctx, used := ledger.Under(ctx)
	err := r.checkArguments()
	if err == nil {
		err = r.run(ctx, c.snapshot())
	}
	r.diag.Services = used.Lines()
	r.diag.CostUSD = ledger.Cost(r.diag.Services)
	r.finish(ctx, err == nil)
	return &Assembly{Messages: message.CloneList(r.messages), Diagnostics: r.diag}, err
}

// chainRun is the state of one run. It belongs to one goroutine.
type chainRun struct {
	c        *Chain
	state    *State
	messages []pipeline.Message
	size     ListSize // of messages
	counter  *Counter
	diag     *Diagnostics
	began    time.Time
}

func (r *chainRun) checkArguments() error {
	b := &r.diag.Budget
	switch {
	case r.state == nil:
		return fmt.Errorf("provider chain: no state: %w", pipeline.ErrInvalid)
	case !b.Phase.Valid():
		return fmt.Errorf("provider chain: phase %q: %w (want %s or %s)", b.Phase, pipeline.ErrInvalid, PhaseLLM, PhaseSynthesize)
	case b.MaxTokens < 0 || b.MaxMessages < 0:
		return fmt.Errorf("provider chain: max_tokens %d, max_messages %d: %w (want 0 or more)", b.MaxTokens, b.MaxMessages, pipeline.ErrInvalid)
	}
	if err := validate(r.messages); err != nil {
		return fmt.Errorf("provider chain: %w", err)
	}
	if err := validate(r.state.Messages); err != nil {
		return fmt.Errorf("provider chain: state: %w", err)
	}
	return nil
}

func (r *chainRun) run(ctx context.Context, providers []rankedProvider) error {
	r.size = r.measure(ctx, r.messages)
	r.diag.Before = r.size
	for i := range providers {
		r.diag.Providers = append(r.diag.Providers, ProviderDiagnostic{
			Name: providers[i].name, Priority: providers[i].priority, Outcome: ProviderNotRun, Before: r.size, After: r.size,
		})
	}
	budgets := r.plan(ctx, providers)
	for i := range providers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.step(ctx, &providers[i], budgets[i], &r.diag.Providers[i]); err != nil {
			return err
		}
	}
	return nil
}

// step runs one provider and records its outcome. The error is that of ctx, or that of a provider of
// [RequireProvider].
func (r *chainRun) step(ctx context.Context, p *rankedProvider, b Budget, d *ProviderDiagnostic) (err error) {
	began := r.c.cfg.Now()
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Provider, Name: p.name})
	defer func() {
		span.End(observe.Result{Err: err, Reason: d.Reason, Skipped: err == nil && d.Outcome == ProviderFailed, Items: len(r.messages), Fuel: d.Fuel})
	}()
	d.Before, d.After = r.size, r.size
	var m usedfuel.Meter
	var dropped atomic.Int64 // a provider that was abandoned may still add to it
	out := r.apply(context.WithValue(m.Under(ctx), droppedLines{}, &dropped), p, b)
	d.Fuel = m.Fuel()
	d.TimeMS = values.Milliseconds(r.c.cfg.Now().Sub(began))
	ended := ctx.Err()
	if ended != nil && !errors.Is(out.err, ended) {
		out.err = ended
	}
	if err := out.err; err != nil {
		d.Outcome, d.Plugin, d.Reason, d.Message = ProviderFailed, pipeline.PluginOf(err), pipeline.ReasonOf(err), observe.Text(ctx, err)
		if ended != nil {
			return ended
		}
		if p.required {
			return fmt.Errorf("provider %q: %w", p.name, err)
		}
		warn.Log(ctx, r.c.cfg.Logger, "provider left out", err, slog.String("provider", p.name),
			slog.String("plugin", d.Plugin), slog.String("reason", d.Reason))
		return nil
	}
	*r.state = out.state
	d.Outcome = ProviderUnchanged
	if out.messages != nil && !slices.EqualFunc(out.messages, r.messages, equalMessages) {
		d.Outcome = ProviderChanged
		d.CutResults = cutResults(r.messages, out.messages)
		d.DroppedLines = int(dropped.Load())
		if p.lossy {
			d.LeftOut = max(0, len(r.messages)-len(out.messages))
		}
		r.messages, r.size = out.messages, r.measure(ctx, out.messages)
		d.After = r.size
	}
	return nil
}

func equalMessages(a, b pipeline.Message) bool { return a.Equal(&b) }

// apply calls Apply and checks the answer. It does not change the run.
func (r *chainRun) apply(ctx context.Context, p *rankedProvider, b Budget) answer {
	out := p.attempt(ctx, *r.state, r.messages, func(ctx context.Context, a *answer) (err error) {
		a.messages, err = p.Apply(ctx, &a.state, a.messages, b)
		return err
	})
	if out.err == nil {
		out.err = r.check(&out)
	}
	return out
}

// answer is the input of a provider, and then its result.
type answer struct {
	messages []pipeline.Message
	state    State
	estimate int
	err      error
}

// attempt calls a provider under its timeout.
func (p *rankedProvider) attempt(ctx context.Context, s State, messages []pipeline.Message, call func(context.Context, *answer) error) answer {
	given := answer{state: s, messages: messages[:len(messages):len(messages)]}
	if p.timeout == 0 {
		return p.protected(ctx, given, call)
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	out := p.protected(limited, given, call)
	if errors.Is(out.err, context.DeadlineExceeded) && limited.Err() != nil && ctx.Err() == nil {
		out.err = fmt.Errorf("no answer within %v: %w", p.timeout, out.err)
	}
	return out
}

// protected calls a provider with as many copies as it needs. A provider that is not
// isolated and has a timeout runs in its own goroutine, which owns the copies. If the
// context ends first, the run abandons it. If too many abandoned calls of the provider still
// run, it is not called and fails.
func (p *rankedProvider) protected(ctx context.Context, a answer, call func(context.Context, *answer) error) answer {
	do := func() (out answer) {
		out = a
		out.err = core.Guard(func() error { return call(ctx, &out) })
		return out
	}
	if p.isolated {
		return do()
	}
	a.state, a.messages = a.state.Clone(), message.CloneList(a.messages)
	if p.timeout == 0 {
		return do()
	}
	out, err := abandon.Call(ctx, p.Provider, func() (answer, error) { return do(), nil })
	if errors.Is(err, abandon.ErrExited) {
		err = fmt.Errorf("provider %w", err)
	}
	if err != nil {
		return answer{err: err}
	}
	return out
}

// check returns an error if no model would take the list.
func (r *chainRun) check(a *answer) error {
	if a.messages != nil && len(a.messages) == 0 && len(r.messages) > 0 {
		return fmt.Errorf("no messages left of %d: %w (return nil for no change)", len(r.messages), pipeline.ErrInvalid)
	}
	if err := validate(a.messages); err != nil {
		return err
	}
	if err := validate(a.state.Messages); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if a.messages == nil {
		return nil
	}
	return checkPairs(r.messages, a.messages)
}

// measure returns the size of a list. If the tokens cannot be counted, the run continues
// without counts.
func (r *chainRun) measure(ctx context.Context, messages []pipeline.Message) ListSize {
	size := ListSize{Messages: len(messages)}
	if r.counter == nil || ctx.Err() != nil {
		return size
	}
	low, total, err := r.counter.Bounds(ctx, messages)
	if err != nil {
		r.warn(ctx, "tokens not counted", err)
		r.counter = nil
		return size
	}
	size.Tokens = &total
	if low < total {
		size.LowTokens = &low
	}
	return size
}

func (r *chainRun) warn(ctx context.Context, msg string, err error, attrs ...slog.Attr) {
	r.diag.Warnings = append(r.diag.Warnings, msg+": "+observe.Text(ctx, err))
	warn.Log(ctx, r.c.cfg.Logger, msg, err, attrs...)
}

// finish compares the list with the budget. A run that exceeds the budget does not fail, but
// the diagnostics and the log report it.
func (r *chainRun) finish(ctx context.Context, done bool) {
	d := r.diag
	d.After = r.size
	if d.After.Tokens != nil {
		d.Estimates = r.counter.Estimates(r.messages)
	}
	d.TimeMS = values.Milliseconds(r.c.cfg.Now().Sub(r.began))
	if d.Budget.MaxMessages > 0 {
		d.MessagesOver = max(0, d.After.Messages-d.Budget.MaxMessages)
	}
	if d.Budget.MaxTokens > 0 && d.After.Tokens != nil {
		d.TokensOver = max(0, *d.After.Tokens-d.Budget.MaxTokens)
	}
	if done && d.TokensOver+d.MessagesOver > 0 {
		r.c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "messages over budget",
			slog.Int("tokens_over", d.TokensOver), slog.Int("messages_over", d.MessagesOver))
	}
}
