// Package ledger counts what the work for one build asks of models and other services, and holds
// it to budgets. It is what a plugin host, the clients of models and a pipeline agree on, so that
// none has to know the others.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/usage"
)

// ErrSpent says that a budget has no calls or no tokens left.
var ErrSpent = errors.New("the budget of the build is spent")

// Limit bounds what is taken from an account.
type Limit struct {
	// Calls and Tokens are the most that may be taken. 0: there is no bound.
	Calls, Tokens int64
	// CallsKey and TokensKey are the settings that errors name as what to raise, if not empty.
	CallsKey, TokensKey string
	// Unit is what Tokens counts, in errors. Empty: tokens.
	Unit string
}

// What is used, how much, and both.
type (
	// Use is a [usage.Use].
	Use = usage.Use
	// Amount is a [usage.Amount].
	Amount = usage.Amount
	// Line is a [usage.Line].
	Line = usage.Line
)

// NameOf returns the name under which an embedder is counted: that of the configuration, which one of
// a configuration says with a method ServiceName, else the ID of its model.
func NameOf(embedder any, model string) string {
	if e, ok := embedder.(interface{ ServiceName() string }); ok {
		return e.ServiceName()
	}
	return model
}

// Rate is what a million tokens cost in US dollars: of the input, of the part of it that the server
// has in a cache, and of the output. Model is the name of the model for its server.
type Rate struct {
	Model                 string
	Input, Cached, Output float64
}

// Cost returns what an amount costs in US dollars.
func (r Rate) Cost(a Amount) float64 {
	fresh := max(0, a.InputTokens-a.CachedTokens)
	return (float64(fresh)*r.Input + float64(a.CachedTokens)*r.Cached + float64(a.OutputTokens)*r.Output) / 1e6
}

// Cost returns the sum of the costs of lines in US dollars. It is 0 if the price of any tokens is not
// known, because a part of the cost would pass for all of it.
func Cost(lines []Line) float64 {
	sum := 0.0
	for _, l := range lines {
		if l.Unpriced {
			return 0
		}
		sum += l.CostUSD
	}
	return sum
}

// Ledger has the accounts of one build. It is safe for concurrent use.
type Ledger struct {
	models *Limit // in the place of the limits of models; nil: those hold

	mu    sync.Mutex
	taken map[string]*Limit
	used  map[Use]*Amount
	rates func(Use) (Rate, bool)
	spent error // the first that Take refused
}

type (
	key    struct{}
	plugin struct{}
)

// Under returns a context with a ledger, and the ledger: that of ctx, or a new one.
func Under(ctx context.Context) (context.Context, *Ledger) {
	if l, ok := ctx.Value(key{}).(*Ledger); ok {
		return ctx, l
	}
	return Own(ctx)
}

// Own returns a context with a new ledger, and the ledger, whatever ctx has: for work that goes on
// after its build.
func Own(ctx context.Context) (context.Context, *Ledger) {
	l := new(Ledger)
	return context.WithValue(ctx, key{}, l), l
}

// SetRates sets who knows the prices of uses: it returns false for one whose tokens have none. The ledger calls it while it is locked.
func (l *Ledger) SetRates(of func(Use) (Rate, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rates = of
}

// WithModels returns a context with a new ledger in which one limit for each account of a model, and
// for each plugin that asks models, is in the place of those for a build. It is for work that is no
// build, such as the ingestion of a collection.
func WithModels(ctx context.Context, limit Limit) (context.Context, *Ledger) {
	l := &Ledger{models: &limit}
	return context.WithValue(ctx, key{}, l), l
}

// For returns a context in which a plugin is who uses what is noted; see [PluginOf].
func For(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, plugin{}, name)
}

// PluginOf returns the plugin that [For] has named, "" for none.
func PluginOf(ctx context.Context) string {
	name, _ := ctx.Value(plugin{}).(string)
	return name
}

// Model is Take for an account of a model.
func (l *Ledger) Model(account string, limit Limit, tokens int64) (settle func(tokens int64), err error) {
	if l.models != nil {
		limit = *l.models
	}
	return l.Take(account, limit, tokens)
}

// Spent returns the first error of Take, nil if there was none.
func (l *Ledger) Spent() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// refuse keeps the first reason why an account has not as much left.
func (l *Ledger) refuse(account, format string, args ...any) error {
	err := fmt.Errorf("%w: %s: %s", ErrSpent, account, fmt.Sprintf(format, args...))
	if l.spent == nil {
		l.spent = err
	}
	return err
}

// raise is the advice to raise a setting.
func raise(key string) string {
	if key == "" {
		return ""
	}
	return " (raise " + key + ")"
}

// Take takes a call and tokens from an account, before they are used, and returns what replaces
// the tokens by those that were used in the end; less than 0 gives the call back too. The error
// wraps ErrSpent if the account has not as much left; then nothing is taken.
func (l *Ledger) Take(account string, limit Limit, tokens int64) (settle func(tokens int64), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.taken[account]
	if l.taken == nil {
		l.taken = map[string]*Limit{}
	}
	if t == nil {
		t = &Limit{}
		l.taken[account] = t
	}
	switch {
	case limit.Calls > 0 && t.Calls >= limit.Calls:
		return nil, l.refuse(account, "%d of %d calls are made%s", t.Calls, limit.Calls, raise(limit.CallsKey))
	case limit.Tokens > 0 && tokens > limit.Tokens-t.Tokens:
		return nil, l.refuse(account, "%d of %d %s are used or in use, and the request may take %d%s", t.Tokens, limit.Tokens, cmp.Or(limit.Unit, "tokens"), tokens, raise(limit.TokensKey))
	}
	t.Calls++
	t.Tokens += tokens
	return func(used int64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if used < 0 {
			t.Calls, used = t.Calls-1, 0
		}
		t.Tokens += used - tokens
	}, nil
}

// Note adds an amount to a use.
func (l *Ledger) Note(u Use, a Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.used[u]
	if l.used == nil {
		l.used = map[Use]*Amount{}
	}
	if t == nil {
		t = &Amount{}
		l.used[u] = t
	}
	t.Calls, t.Cached, t.Failed, t.Texts = t.Calls+a.Calls, t.Cached+a.Cached, t.Failed+a.Failed, t.Texts+a.Texts
	t.InputTokens, t.CachedTokens, t.OutputTokens = t.InputTokens+a.InputTokens, t.CachedTokens+a.CachedTokens, t.OutputTokens+a.OutputTokens
}

// Lines returns the uses with their amounts by service, name and plugin, nil for none.
func (l *Ledger) Lines() []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Line
	for u, a := range l.used {
		line := Line{Use: u, Amount: *a}
		if l.rates != nil {
			rate, known := l.rates(u)
			line.Model, line.CostUSD, line.Unpriced = rate.Model, rate.Cost(*a), !known && a.InputTokens+a.OutputTokens > 0
		}
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Plugin, b.Plugin))
	})
	return out
}
