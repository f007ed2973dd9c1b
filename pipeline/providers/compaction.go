package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// DefaultCompactionTimeout is long enough for a compactor that asks a model.
const DefaultCompactionTimeout = time.Minute

// CompactionConfig describes the compaction provider. The zero value works.
type CompactionConfig struct {
	// Disabled leaves the provider out of the chain of New.
	Disabled bool
	// Priority is its place in the chain. 0 means CompactionPriority.
	Priority int
	// TriggerTokens and TriggerMessages are the sizes above which a list is compacted. 0
	// means three quarters of the run's budget, or no such size if the budget has no bound.
	TriggerTokens   int
	TriggerMessages int
	// KeepTokens and KeepMessages are the sizes to which the list is compacted, without the
	// summary. 0 means half of the trigger. A compaction should remove much at once,
	// because each one invalidates the model's cached prompt.
	KeepTokens   int
	KeepMessages int
	// Compactor writes the summary. nil means Digest, which is deterministic. Its oldest
	// lines are dropped when the message takes more than a quarter of the run's budget, or
	// more than the messages that stay leave free.
	Compactor pipeline.Compactor
	// Timeout bounds one Apply in the chain of New. 0 means the bound of the chain, or
	// DefaultCompactionTimeout with a Compactor.
	Timeout time.Duration
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// Compaction replaces the oldest messages by a summary when the list has grown too large,
// and writes the summary into the state. System messages, the newest user message and the
// newest messages stay as they are. A tool call and its results stay or leave together. The
// next time, the compactor receives the summary so far.
//
// While a state has observations, nothing is compacted, because they stand for the same
// messages. This has a bound. In a chain of New with [Observing], it is the bound of that
// provider. In other chains it is four times the trigger.
//
// A result over the budget of the run is not used. The exception is a list whose messages
// that must stay exceed the budget even without the summary: truncation then loses less.
//
// Messages that other providers put into the list in the same run stay in it, and are not
// written into the state. If the compactor fails, nothing changes. Compaction is safe for
// concurrent use if its compactor is.
type Compaction struct {
	cfg  CompactionConfig
	room size // the bounds of truncation, in addition to the run's budget; 0 is no bound
	// beginWithUser also summarizes the messages before the first user message that stays.
	beginWithUser bool
	// observed returns how large a conversation [Observing] leaves; nil where it does not run.
	observed func(agent.Budget) int
}

// NewCompaction checks the configuration.
func NewCompaction(cfg CompactionConfig) (*Compaction, error) {
	err := checkBounds(CompactionName, map[string]int{
		"trigger_tokens": cfg.TriggerTokens, "trigger_messages": cfg.TriggerMessages,
		"keep_tokens": cfg.KeepTokens, "keep_messages": cfg.KeepMessages,
	})
	if err != nil {
		return nil, err
	}
	if cfg.Counter, err = counterOr(cfg.Counter); err != nil {
		return nil, err
	}
	if cfg.Compactor == nil {
		cfg.Compactor = Digest{}
	} else {
		cfg.Timeout = cmp.Or(cfg.Timeout, DefaultCompactionTimeout)
	}
	cfg.Priority = cmp.Or(cfg.Priority, CompactionPriority)
	return &Compaction{cfg: cfg}, nil
}

// Name returns CompactionName.
func (c *Compaction) Name() string { return CompactionName }

// Priority returns the place in the chain.
func (c *Compaction) Priority() int { return c.cfg.Priority }

// EstimateTokens returns 0, because compaction makes the list smaller.
func (c *Compaction) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 0, nil
}

// observedFactor is how many times larger than the trigger a list with observations may grow
// before it is compacted all the same, so that the state of a run stays bounded.
const observedFactor = 4

// givesWay reports whether a list with observations stays as it is. Observations stand for
// the same messages, so that compaction leaves them to [Observing], or to truncation if the
// observations come from elsewhere.
func (c *Compaction) givesWay(v *view, own []bool, trigger size, b agent.Budget) bool {
	if c.observed != nil {
		return v.conversation(own) <= c.observed(b)
	}
	return !v.total.exceeds(size{observedFactor * trigger.tokens, observedFactor * trigger.messages})
}

// Apply returns the compacted list, or nil when it is small enough, when all of it must
// stay, when the summary would not be shorter, or when the result would not fit.
func (c *Compaction) Apply(ctx context.Context, s *agent.State, msgs []pipeline.Message, b agent.Budget) ([]pipeline.Message, error) {
	trigger, keep := c.bounds(b)
	if trigger == (size{}) {
		return nil, nil
	}
	v, err := newView(ctx, c.cfg.Counter, msgs, true)
	if err != nil || !v.total.exceeds(trigger) {
		return nil, err
	}
	own := ownMessages(msgs, s.Messages)
	if len(s.Observations) > 0 && c.givesWay(v, own, trigger, b) {
		return nil, nil
	}
	previous := v.choose(keep, own)
	if c.beginWithUser {
		v.beginWithUser(func(i int) bool { return !own[i] })
	}
	if v.left(previous) == 0 {
		return nil, nil
	}
	summary, err := c.summarize(ctx, v, previous)
	if err != nil {
		return nil, err
	}
	room := size{tighter(c.room.tokens, b.MaxTokens), tighter(c.room.messages, b.MaxMessages)}
	took, err := c.cut(ctx, &summary, summaryRoom(room.tokens, v.kept.tokens))
	if err != nil {
		return nil, err
	}
	after := v.kept.plus(size{took, 1})
	if !after.improves(v.total, trigger) || after.exceeds(room) && !v.pinned(previous).exceeds(room) {
		return nil, nil
	}
	s.Messages = v.replaced(summary, func(i int) bool { return own[i] })
	return v.replaced(summary, func(int) bool { return true }), nil
}

// improves reports whether s is better than the size before, which exceeds the bound. If
// the tokens exceeded it, s must have fewer tokens and no more messages. Otherwise s must
// have fewer messages, and its tokens must not exceed the bound.
func (s size) improves(before, bound size) bool {
	if (size{tokens: before.tokens}).exceeds(bound) {
		return s.tokens < before.tokens && s.messages <= before.messages
	}
	return s.messages < before.messages && !(size{tokens: s.tokens}).exceeds(bound)
}

// bounds returns the size above which a list is compacted, and the size to which it is
// compacted.
func (c *Compaction) bounds(b agent.Budget) (trigger, keep size) {
	trigger = size{
		tokens:   cmp.Or(c.cfg.TriggerTokens, b.MaxTokens*3/4),
		messages: cmp.Or(c.cfg.TriggerMessages, b.MaxMessages*3/4),
	}
	keep = size{
		tokens:   cmp.Or(c.cfg.KeepTokens, trigger.tokens/2),
		messages: cmp.Or(c.cfg.KeepMessages, trigger.messages/2),
	}
	return trigger, keep
}

// choose chooses the messages that stay: those that must stay, those that are not from the
// state, the newest unit whatever its size, and others for which there is room. It returns
// the index of the summary so far, or -1.
func (v *view) choose(room size, own []bool) (previous int) {
	v.measure()
	v.pin()
	for i := range own {
		if !own[i] {
			v.keep(v.units[i])
		}
	}
	if previous = findSummary(v.msgs); previous >= 0 && !own[previous] {
		previous = -1
	}
	if previous >= 0 {
		v.keeps[previous] = false
		v.kept = size{v.kept.tokens - v.counts[previous], v.kept.messages - 1}
	}
	if last := len(v.msgs) - 1; last != previous {
		v.keep(v.units[last])
	}
	v.fill(room)
	return previous
}

// pinned returns the messages that must stay, without the summary so far.
func (v *view) pinned(previous int) (s size) {
	for i := range v.msgs {
		if i != previous && (v.msgs[i].Instructs() || i == v.newestUser) {
			s = s.plus(v.sizes[v.units[i]])
		}
	}
	return s
}

// left returns the number of messages to summarize, without the summary so far.
func (v *view) left(previous int) (n int) {
	for i, unit := range v.units {
		if i != previous && !v.keeps[unit] {
			n++
		}
	}
	return n
}

// replaced returns the kept messages that are wanted, with the summary at the place of the
// first message that it replaces.
func (v *view) replaced(summary pipeline.Message, wanted func(i int) bool) []pipeline.Message {
	out := make([]pipeline.Message, 0, v.kept.messages+1)
	placed := false
	for i, unit := range v.units {
		switch {
		case v.keeps[unit] && wanted(i):
			out = append(out, v.msgs[i])
		case !v.keeps[unit] && !placed:
			out, placed = append(out, summary), true
		}
	}
	return out
}

// summarize asks the compactor for the text that replaces all messages that are not kept.
func (c *Compaction) summarize(ctx context.Context, v *view, previous int) (pipeline.Message, error) {
	summary, before := pipeline.Message{Role: pipeline.RoleSystem, Name: SummaryMessage}, ""
	if previous >= 0 {
		before = withoutHeader(v.msgs[previous].Content)
	}
	var turns []pipeline.Turn
	for i, unit := range v.units {
		if i != previous && !v.keeps[unit] {
			turns = append(turns, asTurn(&v.msgs[i], v.counts[i]))
		}
	}
	text, err := c.cfg.Compactor.Compact(ctx, turns, before)
	if err != nil {
		return summary, fmt.Errorf("compact %d messages: %w", len(turns), err)
	}
	if strings.TrimSpace(text) == "" {
		return summary, fmt.Errorf("compact %d messages: summary is empty: %w", len(turns), pipeline.ErrInvalid)
	}
	summary.Content = SummaryHeader + "\n" + text
	return summary, nil
}

// cut drops the oldest lines of a digest until its message takes at most room tokens, but
// keeps at least one line. It returns the tokens of the message. It does not cut the text
// of another compactor, whose structure it does not know.
func (c *Compaction) cut(ctx context.Context, summary *pipeline.Message, room int) (int, error) {
	took, err := c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
	if _, ok := c.cfg.Compactor.(Digest); !ok || err != nil || room == 0 || took <= room {
		return took, err
	}
	lines, gone := splitDigest(withoutHeader(summary.Content))
	cut := *summary
	first := sort.Search(len(lines)-1, func(i int) bool {
		cut.Content = SummaryHeader + "\n" + joinDigest(lines[i+1:], gone+i+1)
		n, failed := c.cfg.Counter.Total(ctx, []pipeline.Message{cut})
		err = errors.Join(err, failed)
		return n <= room
	})
	if err != nil {
		return 0, err
	}
	first = min(first+1, len(lines)-1)
	summary.Content = SummaryHeader + "\n" + joinDigest(lines[first:], gone+first)
	return c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
}
