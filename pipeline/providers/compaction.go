package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/internal/compact"
	"github.com/anchor-host/anchor-host/pipeline/internal/pause"
	"github.com/anchor-host/anchor-host/pipeline/message"
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
	// means the run's budget, or no such size if the budget has no bound: nothing is compacted
	// that fits.
	TriggerTokens   int
	TriggerMessages int
	// KeepTokens and KeepMessages are the sizes to which the list is compacted, without the
	// summary. 0 means half of the trigger, or three eighths of the budget if there is no trigger:
	// a model's summary costs time, and ends what its cache knows of the prompt, so a compaction
	// removes much at once. A caller that sends the whole list in every call gets the same
	// beginning until the rest has grown to the trigger again. The zero Digest costs nothing.
	// Without any of these four sizes, it fills the budget, see [Compaction].
	KeepTokens   int
	KeepMessages int
	// Compactor writes the summary. nil means Digest, which is deterministic. The oldest lines
	// of a summary are dropped when its message takes more than a quarter of the run's budget
	// (or of the trigger, if the run has no budget), or more than the messages that stay leave
	// free. Of a single line, the end is dropped. For any other compactor than Digest, the
	// bound is at least 256 tokens, and a cut is logged at WARN.
	Compactor pipeline.Compactor
	// Pauses remember the failures of the compactor by run. After a failure, or a summary that
	// made the list no smaller, the compactor of a run is not called for 10 seconds. Each
	// failure in a row doubles the pause, up to 10 minutes. Runs without an ID share a pause.
	// Chains of one run should share Pauses. nil means own ones.
	Pauses *Pauses
	// Memory is what is known of lists that did not fit. Chains of one conversation should share
	// it. nil means an own one.
	Memory *Memory
	// Owner is whose lists these are, such as a tenant. Owners that share a Memory do not influence
	// each other's lists. Empty is an owner, too.
	Owner string
	// Logger is slog.Default when nil, Now is time.Now.
	Logger *slog.Logger
	Now    func() time.Time
	// Timeout bounds one Apply in the chain of New. 0 means the bound of the chain, or
	// DefaultCompactionTimeout with a Compactor.
	Timeout time.Duration
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// Pauses remember how often in a row something failed, by name.
type Pauses = pause.Pauses

// Compaction replaces the oldest messages by a summary when the list exceeds the budget,
// and writes the summary into the state. System messages, the newest user message, the newest
// messages, and the user message that the oldest of them belongs to stay as they are. A tool call
// and its results stay or leave together. The next time, the compactor receives the summary so far.
//
// Before anything is summarized, large results of tools are cut as [Truncation] does it. If that
// is enough, nothing else happens. Cut results are written into the state, too.
//
// Without a model, the summary is a [Digest]. The newest messages then take seven eighths
// of the budget, and the digest what is left: its lines are as long as the room allows. A list
// that goes on growing, because it has a summary or begins with a remembered list, is brought to
// nine sixteenths of the budget, and keeps its beginning until it has grown to the budget again.
//
// While a state has observations, nothing is compacted, because they stand for the same
// messages. This has a bound. In a chain of New with [Observing], it is the bound of that
// provider. In other chains it is four times the trigger.
//
// A result over the budget of the run is not used. The exception is a list whose messages
// that must stay exceed the budget even without the summary: truncation then loses less.
//
// Messages that other providers put into the list in the same run stay in it, and are not
// written into the state. If the compactor fails, nothing changes, and it gets a pause. Compaction is safe for
// concurrent use if its compactor is.
type Compaction struct {
	cfg  CompactionConfig
	room size // the bounds of truncation, in addition to the run's budget; 0 is no bound
	// keep is as in [TruncationConfig].
	keep func(handle, text string)
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
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.Pauses, cfg.Memory = cmp.Or(cfg.Pauses, new(Pauses)), cmp.Or(cfg.Memory, new(Memory))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
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
	m := c.marks(b)
	if m.trigger == (size{}) {
		return nil, nil
	}
	v, err := newView(ctx, c.cfg.Counter, msgs, true)
	if err != nil || !v.total.exceeds(m.trigger) {
		return nil, err
	}
	own := ownMessages(msgs, s.Messages)
	if len(s.Observations) > 0 && c.givesWay(v, own, m.high, b) {
		return nil, nil
	}
	known := c.cfg.Memory.recall(c.cfg.Owner, CompactionName, s.RunID, m.trigger, msgs)
	_, pieces, err := known.again(ctx, c.cfg.Counter, v, m.trigger)
	if err != nil {
		return nil, err
	}
	if pieces == nil {
		if c.fills() {
			pieces, err = c.fill(ctx, v, own, m, known.knows())
		} else {
			pieces, err = c.settle(ctx, s.RunID, v, own, m)
		}
		if err != nil || pieces == nil {
			return nil, err
		}
		known.keep(pieces)
	}
	keepCuts(c.keep, msgs, pieces)
	s.Messages = made(msgs, slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool { return p.at >= 0 && !own[p.at] }))
	return made(msgs, pieces), nil
}

// settle compacts a list to the lower mark. It returns nil if that is of no use.
func (c *Compaction) settle(ctx context.Context, run string, v *view, own []bool, m marks) ([]piece, error) {
	v.measure()
	if err := v.cutLarge(ctx, &cutter{keep: c.keep}, c.cfg.Counter, m.room); err != nil {
		return nil, err
	}
	if !v.total.exceeds(m.trigger) {
		return v.all(), nil
	}
	previous := v.choose(m.high, m.low, own)
	if c.beginWithUser {
		v.beginWithUser(func(i int) bool { return !own[i] })
	}
	if v.left(previous) == 0 || !v.worthwhile(previous, m.high, m.low, m.room) {
		return nil, nil
	}
	summary, err := c.condense(ctx, run, v, previous)
	if err != nil {
		return nil, err
	}
	most := summaryRoom(cmp.Or(m.room.tokens, m.high.tokens), v.kept.tokens)
	if !c.digests() && most > 0 {
		most = max(most, minSummaryTokens)
	}
	took, dropped, err := c.cut(ctx, &summary, most)
	if err != nil {
		return nil, err
	}
	after := v.kept.plus(size{took, 1})
	if !after.improves(v.total, m.trigger) || after.exceeds(m.room) && !v.pinned(previous).exceeds(m.room) {
		c.note(run, true) // or each turn would cost a call that is of no use
		return nil, nil
	}
	c.note(run, false)
	if c.digests() {
		dropped = v.newlyGone(summary, previous)
	}
	agent.NoteDroppedLines(ctx, dropped)
	return v.pieces(withoutHeader(summary.Text())), nil
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

// marks are the sizes that a compaction goes by. 0 is no bound.
type marks struct {
	room      size // what may be left
	trigger   size // a list above it is compacted
	high, low size // what is left is between them, without the summary
}

// marks returns the sizes for a budget. Without a trigger, the upper mark leaves a quarter of the
// budget to the summary.
func (c *Compaction) marks(b agent.Budget) (m marks) {
	m.room = size{tighter(c.room.tokens, b.MaxTokens), tighter(c.room.messages, b.MaxMessages)}
	m.trigger = size{cmp.Or(c.cfg.TriggerTokens, m.room.tokens), cmp.Or(c.cfg.TriggerMessages, m.room.messages)}
	m.high = size{cmp.Or(c.cfg.TriggerTokens, m.room.tokens*3/4), cmp.Or(c.cfg.TriggerMessages, m.room.messages*3/4)}
	m.low = size{cmp.Or(c.cfg.KeepTokens, m.high.tokens/2), cmp.Or(c.cfg.KeepMessages, m.high.messages/2)}
	return m
}

// choose chooses the messages that stay: those that must stay, those that are not from the
// state, the newest unit whatever its size, and the newest others. It returns the index of the
// summary so far, or -1.
func (v *view) choose(trigger, keep size, own []bool) (previous int) {
	v.measure()
	for i := range own {
		if !own[i] || instructs(&v.msgs[i]) {
			v.keep(v.units[i])
		}
	}
	if previous = findSummary(v.msgs); previous >= 0 && !own[previous] {
		previous = -1
	}
	if previous >= 0 {
		v.drop(previous)
	}
	var must []int
	if last := len(v.msgs) - 1; last != previous {
		must = append(must, v.units[last])
	}
	if v.newestUser >= 0 {
		must = append(must, v.units[v.newestUser])
	}
	var summary size
	if previous >= 0 {
		summary = size{v.counts[previous], 1}
	}
	e := newEdges(v, must, previous)
	e.keepFrom(e.settle(trigger, keep, summary))
	return previous
}

// pinned returns the messages that must stay, without the summary so far.
func (v *view) pinned(previous int) (s size) {
	for i := range v.msgs {
		if i != previous && (instructs(&v.msgs[i]) || i == v.newestUser) {
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

// newlyGone returns how many lines a digest has dropped since the summary so far.
func (v *view) newlyGone(summary pipeline.Message, previous int) int {
	_, gone := splitDigest(withoutHeader(summary.Text()))
	if previous >= 0 {
		_, before := splitDigest(withoutHeader(v.msgs[previous].Text()))
		gone -= before
	}
	return max(0, gone)
}

// worthwhile reports whether enough messages are left out of those that are kept. Where messages
// that must stay take more than the lower mark, each new message would otherwise be summarized
// alone. A list that is over its budget is always compacted.
func (v *view) worthwhile(previous int, trigger, keep, room size) bool {
	if keep.tokens == 0 || v.kept.tokens <= keep.tokens || v.total.exceeds(room) {
		return true
	}
	gone := v.total.tokens - v.kept.tokens
	if previous >= 0 {
		gone -= v.counts[previous]
	}
	step := trigger.tokens - keep.tokens
	if left := room.tokens - v.kept.tokens; room.tokens > 0 {
		step = min(step, left/2)
	}
	return gone >= step
}

// condense is summarize for a run whose compactor may have failed a short time ago.
func (c *Compaction) condense(ctx context.Context, run string, v *view, previous int) (pipeline.Message, error) {
	if left, failures := c.cfg.Pauses.Left(run, c.cfg.Now()); left > 0 && !c.digests() {
		return pipeline.Message{}, fmt.Errorf("compact: the compactor failed or was of no use (%d in a row) and is called again in %v: %w", failures, left.Round(time.Second), errPause)
	}
	summary, err := c.summarize(ctx, v, previous)
	if err != nil && !errors.Is(err, context.Canceled) { // a run that was cancelled says nothing
		c.note(run, true)
	}
	return summary, err
}

// digests reports whether the compactor is a Digest, which costs nothing.
func (c *Compaction) digests() bool {
	_, ok := c.cfg.Compactor.(Digest)
	return ok
}

// note notes how a compaction of a run ended.
func (c *Compaction) note(run string, failed bool) {
	if !c.digests() {
		c.cfg.Pauses.Note(run, failed, c.cfg.Now())
	}
}

// minSummaryTokens is the room that the summary of a compactor has at least: a few sentences.
const minSummaryTokens = 256

// errPause means that a compactor was not called.
var errPause = errors.New("pause after a failure")

// summarize asks the compactor for the text that replaces all messages that are not kept.
func (c *Compaction) summarize(ctx context.Context, v *view, previous int) (pipeline.Message, error) {
	summary, before := pipeline.Message{}, ""
	if previous >= 0 {
		before = withoutHeader(v.msgs[previous].Text())
	}
	var turns []pipeline.Turn
	for i, unit := range v.units {
		if i != previous && !v.keeps[unit] {
			turns = append(turns, asTurn(&v.msgs[i], v.counts[i]))
		}
	}
	text, err := compact.Call(ctx, c.cfg.Compactor, turns, before)
	if err != nil {
		return summary, fmt.Errorf("compact %d messages: %w", len(turns), err)
	}
	if strings.TrimSpace(text) == "" {
		return summary, fmt.Errorf("compact %d messages: summary is empty: %w", len(turns), pipeline.ErrInvalid)
	}
	return summaryMessage(text), nil
}

// cut drops the oldest lines of a summary until its message takes at most room tokens, but keeps
// at least the beginning of its last line. It returns the tokens of the message, and how many
// lines it dropped or shortened.
func (c *Compaction) cut(ctx context.Context, summary *pipeline.Message, room int) (took, dropped int, err error) {
	text := withoutHeader(summary.Text())
	if room == 0 || len(text) <= room*compact.MaxTokenBytes { // a longer text must not be counted as a whole
		took, err = c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
		if err != nil || room == 0 || took <= room {
			return took, 0, err
		}
	}
	if !c.digests() {
		c.cfg.Logger.WarnContext(ctx, "summary is too long and is cut", "bytes", len(text), "tokens", room)
	}
	if dropped, err = c.shorten(ctx, summary, room); err != nil {
		return 0, 0, err
	}
	took, err = c.cfg.Counter.Total(ctx, []pipeline.Message{*summary})
	return took, dropped, err
}

// shorten drops lines of a summary message that takes more than room tokens. It returns how many
// lines it dropped or shortened.
func (c *Compaction) shorten(ctx context.Context, summary *pipeline.Message, room int) (dropped int, err error) {
	lines, gone := c.summaryLines(withoutHeader(summary.Text()))
	if len(lines) == 0 {
		return 0, nil
	}
	b := compact.Bound{Room: room, Count: func(text string) (int, error) {
		return c.cfg.Counter.Total(ctx, []pipeline.Message{summaryMessage(text)})
	}}
	write := func(first int) string {
		if c.digests() {
			return joinDigest(lines[first:], gone+first)
		}
		return strings.Join(lines[first:], "\n")
	}
	first := b.Newest(len(lines), write)
	text := write(first)
	if dropped = first; first == len(lines)-1 && !c.digests() && !b.Fits(text) {
		text, dropped = b.Beginning(text), first+1
	}
	*summary = summaryMessage(text)
	return dropped, b.Err
}

// summaryLines returns the lines of a summary. For a digest it also returns how many lines were
// dropped before.
func (c *Compaction) summaryLines(text string) (lines []string, gone int) {
	if c.digests() {
		return splitDigest(text)
	}
	return strings.Split(text, "\n"), 0
}

// summaryMessage returns the message of a summary.
func summaryMessage(text string) pipeline.Message {
	return message.New(pipeline.RoleSystem, SummaryHeader+"\n"+text)
}
