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
	// Memory is what is known of lists that did not fit. Chains of one conversation should share
	// it. nil means an own one.
	Memory *Memory
	// Owner is whose lists these are, such as a tenant. Owners that share a Memory do not influence
	// each other's lists. Empty is an owner, too.
	Owner string
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
// Results of tools are cut before a message is left out, if those of a call take more than half
// of the budget: the beginning and the end of the longest stay, with a line between
// them that says how much is missing. They get all the room that the other messages leave. The
// results of the oldest call that stays, and results that must stay, are cut to the room that is left.
//
// What is left uses the budget. A list that begins with one that did not fit goes on growing: it
// keeps its beginning while that fits (see [Memory]), and is then brought to nine sixteenths of the
// budget, so that the beginning of the prompt is the same for many turns and a model's cache can
// serve it.
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
	cfg.Memory = cmp.Or(cfg.Memory, new(Memory))
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
func (t *Truncation) Apply(ctx context.Context, s *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	room := size{tokens: tighter(t.cfg.MaxTokens, b.MaxTokens), messages: tighter(t.cfg.MaxMessages, b.MaxMessages)}
	v, err := newView(ctx, t.cfg.Counter, msgs, room.tokens > 0)
	if err != nil || !v.total.exceeds(room) {
		return nil, err
	}
	run := ""
	if s != nil {
		run = s.RunID
	}
	known := t.cfg.Memory.recall(t.cfg.Owner, t.name, run, room, msgs)
	out, pieces, err := known.again(ctx, t.cfg.Counter, v, room)
	if err != nil || out != nil {
		keepCuts(t.cfg.Keep, msgs, pieces)
		return out, err
	}
	target := room
	if known.knows() {
		target = room.growing()
	}
	cut := &cutter{keep: t.cfg.Keep}
	if err := v.truncate(ctx, cut, t.cfg.Counter, target, room); err != nil {
		return nil, err
	}
	if t.cfg.BeginWithUser {
		v.beginWithUser(func(int) bool { return false })
	}
	cut.report(v)
	if out, pieces = v.list(); out != nil {
		known.keep(pieces)
	}
	return out, nil
}
