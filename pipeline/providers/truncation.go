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
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// Truncation leaves out the oldest messages of a list that is over the budget. System
// messages, the newest user message, and a tool call at the end of the list always stay,
// even if they alone exceed the budget. If there are none of these, the newest message
// stays. Of the other messages the newest stay, as many in a row as there is room for. The
// summary of the compaction provider stays if it fits together with the messages that
// always stay. A tool call and its results stay or leave together. The results of a tool
// call at the end of the list, and of the newest call that does not fit as a whole, are cut
// to the room that is left, with a line that says so. The order stays.
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
