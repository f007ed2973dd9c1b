package providers

import (
	"cmp"
	"context"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// TruncationConfig describes the truncation provider. The zero value works: the budget of
// the run is then the only bound.
type TruncationConfig struct {
	// Disabled leaves the provider out of the chain of New. Enforce truncates even then.
	Disabled bool
	// Priority is its place in the chain. 0 means TruncationPriority.
	Priority int
	// MaxTokens and MaxMessages bound the list in addition to the budget of the run. The
	// smaller bound counts. 0 means no bound.
	MaxTokens   int
	MaxMessages int
	// BeginWithUser leaves the messages before the first user message that stays out of a
	// truncated list, except instructions. Some APIs refuse a list that begins with an
	// answer or with a tool's result. In the chain of New, compaction puts these messages
	// into its summary.
	BeginWithUser bool
	// Keep receives each text of a result that was cut, with the handle that the cut text
	// names. The same text always has the same handle. Keep must not block. nil: cut texts
	// name no handle.
	Keep func(handle, text string)
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// Truncation leaves out the oldest messages of a list that is over the budget. System
// messages, items of the Responses API in which the API keeps the history before them, the
// newest user message, and a tool call with its results at the end of the list
// always stay, even if they alone exceed the budget. If there are none of these, the newest
// message stays. Of the other messages the newest stay, and the user message that the oldest
// of them belongs to. The summary of the compaction provider stays if it fits together with
// the messages that always stay. A tool call and its results stay or leave together. So do
// a user message and a system message within the list of Anthropic's form that follows it. The
// order stays.
//
// The oldest message that stays changes in steps of a quarter of the room, not with every
// turn, and it depends on the list alone. So the beginning of the prompt is the same for many
// turns, and a model's cache can serve it.
//
// Of a list that is over the budget, each tool call whose results take more than half of the
// budget is cut: the beginning and the end of its longest results stay, with a line between
// them that says how much is missing. What is left of a result depends on the result and the
// budget alone, so that it is the same in every turn. Results that must stay and still do not
// fit are cut to the room that is left.
//
// Truncation never changes the state, so that the next run can choose from all messages. It
// is isolated and safe for concurrent use.
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

// Isolated marks the provider, because it changes nothing.
func (t *Truncation) Isolated() {}

// LeavesOut marks the provider, because nothing replaces the messages that do not fit.
func (t *Truncation) LeavesOut() {}

// Name returns TruncationName, or EnforcementName for the provider that enforces the
// budget.
func (t *Truncation) Name() string { return t.name }

// Priority returns the place in the chain.
func (t *Truncation) Priority() int { return t.cfg.Priority }

// EstimateTokens returns 0, because truncation adds nothing.
func (t *Truncation) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 0, nil
}

// Apply returns the messages that stay, or nil if all stay.
func (t *Truncation) Apply(ctx context.Context, _ *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	room := size{tokens: tighter(t.cfg.MaxTokens, b.MaxTokens), messages: tighter(t.cfg.MaxMessages, b.MaxMessages)}
	v, err := newView(ctx, t.cfg.Counter, msgs, room.tokens > 0)
	if err != nil || !v.total.exceeds(room) {
		return nil, err
	}
	cut := &cutter{keep: t.cfg.Keep}
	if err := v.truncate(ctx, cut, t.cfg.Counter, room); err != nil {
		return nil, err
	}
	if t.cfg.BeginWithUser {
		v.beginWithUser(func(int) bool { return false })
	}
	cut.report(v)
	return v.list(), nil
}
