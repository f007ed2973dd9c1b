package providers

import (
	"cmp"
	"context"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// TruncationConfig describes the truncation provider. The zero value works: it holds
// the budget of the run.
type TruncationConfig struct {
	// Disabled leaves it out of the chain of New; Enforce still truncates.
	Disabled bool
	// Priority is TruncationPriority when 0.
	Priority int
	// MaxTokens and MaxMessages bound the list beside the budget of the run: the
	// smaller bound counts. 0 is no bound.
	MaxTokens   int
	MaxMessages int
	// BeginWithUser leaves out, of a list that is truncated, what is before the first
	// message of the user that stays, instructions excepted: some APIs refuse a list that
	// begins with an answer or with a tool's result. In the chain of New, compaction puts
	// it into its summary.
	BeginWithUser bool
	// Counter counts tokens. nil means one of the default encoding.
	Counter *agent.Counter
}

// Truncation leaves out the oldest messages of a list that is over the budget. System
// messages, the newest user message, and a tool call at the end of the list always stay,
// even when they alone exceed it, and if there is none of them the newest message does.
// The results of that call, and of the newest one that does not fit as a whole, are cut to
// the room that is left, with a line that says so. Of the others the newest stay, as many in
// a row as there is room for; the summary of the compaction provider stays when it fits
// beside what always does, of a result at least its beginning. A tool call and its results stay or go together. Order is
// kept.
//
// It is a view: the state is never changed, so that the next run has all messages to
// choose from. It is isolated and safe for concurrent use.
type Truncation struct {
	cfg  TruncationConfig
	name string
}

// NewTruncation checks the configuration.
func NewTruncation(cfg TruncationConfig) (*Truncation, error) {
	return newTruncation(cfg, TruncationName)
}

func newTruncation(cfg TruncationConfig, name string) (*Truncation, error) {
	err := checkBounds(name, map[string]int{"max_tokens": cfg.MaxTokens, "max_messages": cfg.MaxMessages})
	if err != nil {
		return nil, err
	}
	if cfg.Counter, err = counterOr(cfg.Counter); err != nil {
		return nil, err
	}
	cfg.Priority = cmp.Or(cfg.Priority, TruncationPriority)
	return &Truncation{cfg, name}, nil
}

// Isolated marks the provider: it changes nothing.
func (t *Truncation) Isolated() {}

// Name returns TruncationName, or EnforcementName for the one that enforces.
func (t *Truncation) Name() string { return t.name }

// Priority returns the place in the chain.
func (t *Truncation) Priority() int { return t.cfg.Priority }

// EstimateTokens is 0: truncation adds nothing.
func (t *Truncation) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 0, nil
}

// Apply returns the messages that stay, or nil when all do.
func (t *Truncation) Apply(ctx context.Context, _ *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	room := size{tokens: tighter(t.cfg.MaxTokens, b.MaxTokens), messages: tighter(t.cfg.MaxMessages, b.MaxMessages)}
	v, err := newView(ctx, t.cfg.Counter, msgs, room.tokens > 0)
	if err != nil || !v.total.exceeds(room) {
		return nil, err
	}
	v.measure()
	v.pin()
	if err := v.pinResults(ctx, t.cfg.Counter, room); err != nil {
		return nil, err
	}
	v.unpinSummary(room)
	if v.kept.messages == 0 {
		v.keep(v.units[len(msgs)-1])
	}
	if err := v.fillCutting(ctx, t.cfg.Counter, room); err != nil {
		return nil, err
	}
	if t.cfg.BeginWithUser {
		v.beginWithUser(func(int) bool { return false })
	}
	return v.list(), nil
}
