package conversation

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// The defaults of a conversation.
const (
	DefaultConversationTokens = 4096
	// DefaultCompactTimeout is long enough for a compactor that asks a model.
	DefaultCompactTimeout = time.Minute
	// NoTimeout means that only the context of the turn bounds a compactor.
	NoTimeout time.Duration = -1
)

// minSummaryTokens is the least default of SummaryTokens: a few sentences.
const minSummaryTokens = 256

// SlidingWindowConfig describes a conversation. The zero value works.
type SlidingWindowConfig struct {
	// MaxTokens is the room for turns in tokens. 0 means DefaultConversationTokens. The
	// summary does not count.
	MaxTokens int
	// Tokenizer is DefaultEncoding when nil.
	Tokenizer pipeline.Tokenizer
	// Model is the model whose provider's rules count images, documents and sounds. For an
	// empty or unknown name the bounds of all known rules apply.
	Model string
	// Compactor condenses the oldest turns into a summary. nil means that turns which leave are
	// forgotten. It is called in the background, with no lock held, so that nobody who adds or
	// reads turns waits for it. Until it has answered, the turns stay as they are. It must not
	// use the conversation.
	Compactor pipeline.Compactor
	// HighWater and LowWater are tokens of turns. When the turns have more than HighWater, a
	// compaction begins that leaves at most LowWater of them, or the newest turn if that is
	// larger. So N tokens of turns cost at most about N / (HighWater - LowWater) calls of the
	// compactor. If the newest turn is larger than the room between different marks, fewer
	// turns stay, so that another turn of its size fits. 0 means three quarters of MaxTokens, and two thirds of HighWater. Without a
	// Compactor, HighWater has no meaning, and LowWater is what a full conversation is brought
	// down to; 0 then means MaxTokens, so that each turn takes the place of others.
	HighWater, LowWater int
	// SummaryTokens bounds the summary in tokens. A longer one is cut: its oldest lines leave,
	// and a single line that is too long loses its end, after a word. This is logged at WARN.
	// 0 means a quarter of MaxTokens, at least 256.
	SummaryTokens int
	// CompactTimeout bounds one call of the compactor. A call that takes longer has failed and
	// is abandoned. It goes on in its own goroutine until it returns. While 8 such calls of the
	// compactor run, it is not called. 0 means DefaultCompactTimeout, NoTimeout none.
	CompactTimeout time.Duration
	// CompactInline makes the call that begins a compaction wait until it has ended. Others
	// do not wait. It makes the state after each turn certain.
	CompactInline bool
	// Compactions coordinates this conversation with others, under Name: windows of one
	// conversation have one name. nil means that the conversation has its own.
	Compactions *Compactions
	Name        string
	// OnCompact, if not nil, is called when a compaction begins, and what it returns when it
	// has ended. It must not use the conversation.
	OnCompact func() (ended func())
	// BeginWithUser leaves the turns before the first user turn out of Items and Messages,
	// except system turns. Some APIs refuse a list that begins with an answer or a tool's
	// result. The turns stay in the conversation.
	BeginWithUser bool
	// Eviction chooses the turns that leave. nil means EvictOldest. Any other policy costs
	// a copy of all turns each time some must leave.
	Eviction EvictionPolicy
	// ChooseTokens is how many tokens of turns [Log.Load] reads for Eviction to choose
	// from, if no turn has left yet. 0 means MaxTokens, which is enough for a policy that
	// chooses by age. With a Compactor, Load reads at least 16 times MaxTokens of the turns
	// that were not condensed; older ones are left out of the window and of the summary.
	ChooseTokens int
	// Recency scores the turns. nil means 0.5 for the oldest to 1 for the newest,
	// and 0.5 for a single one.
	Recency RecencyScorer
	// OnEvict receives the turns that have left, oldest first. It is called by the call that
	// added a turn, or after a compaction by its goroutine. It may use the conversation,
	// because no lock is held. Panics are logged at WARN.
	OnEvict func(ctx context.Context, evicted []pipeline.Turn)
	// Log stores the conversation. nil means that it ends with the process. A [TurnsLog]
	// stores turns that are added at the same time in one append.
	Log TurnLog
	// Priority is the priority of the turns as items. 0 means 7.
	Priority int
	// Logger is slog.Default when nil, Now is time.Now. Several goroutines that add turns
	// may call both, and the Tokenizer, at the same time.
	Logger *slog.Logger
	Now    func() time.Time
}

// addition is a turn that is being added to a conversation.
type addition struct {
	ctx   context.Context
	whole pipeline.Turn // for the log
	cut   pipeline.Turn // for the window

	evicted []pipeline.Turn
	began   *compaction // what this addition began
	err     error
}

// batch holds the additions that wait together. The caller that opens the batch adds them
// all.
type batch struct {
	additions []*addition
	added     sync.WaitGroup
}

// SlidingWindow is a conversation that keeps the newest turns within a number of tokens. It
// is a [pipeline.MemoryProvider] and safe for concurrent use. Turns are numbered in the
// order in which they were added, and appear in that order, whatever their times are.
//
// The window never has more than MaxTokens. If it becomes full before the compactor has
// answered, its oldest turns leave. A list of them, one line per turn, stands for them behind
// the summary until the compactor has condensed them. Up to MaxTokens of such turns wait for
// it. The oldest of those beyond that are given up: only their lines remain. The same happens
// while a compactor fails. It is called again after a pause of 10 seconds, which doubles with
// each failure in a row, up to 10 minutes.
type SlidingWindow struct {
	cfg SlidingWindowConfig

	waiting sync.Mutex // guards pending
	pending *batch     // the additions that the next append to the log takes

	adding  sync.Mutex      // held while the turns change, never while a compactor runs
	scratch []pipeline.Turn // guarded by adding; see shown
	task    *compaction     // guarded by adding; the compaction that runs

	mu     sync.RWMutex
	turns  []pipeline.Turn
	tokens int
	last   int64 // the last sequence number
	past   past
}

// NewSlidingWindow checks the configuration and returns an empty conversation.
func NewSlidingWindow(cfg SlidingWindowConfig) (*SlidingWindow, error) {
	switch {
	case cfg.MaxTokens < 0:
		return nil, fmt.Errorf("conversation: max_tokens %d: %w (want 1 or more)", cfg.MaxTokens, pipeline.ErrInvalid)
	case cfg.MaxTokens == 0:
		cfg.MaxTokens = DefaultConversationTokens
	}
	cfg.Priority = cmp.Or(cfg.Priority, pipeline.SourceConversation.DefaultPriority())
	if err := cfg.setMarks(); err != nil {
		return nil, err
	}
	if cfg.Priority < pipeline.MinPriority || cfg.Priority > pipeline.MaxPriority {
		return nil, fmt.Errorf("conversation: priority %d: %w (want %d to %d)", cfg.Priority, pipeline.ErrInvalid, pipeline.MinPriority, pipeline.MaxPriority)
	}
	if cfg.Tokenizer == nil {
		t, err := pipeline.EncodingTokenizer(pipeline.DefaultEncoding)
		if err != nil {
			return nil, err
		}
		cfg.Tokenizer = t
	}
	if cfg.Recency == nil {
		cfg.Recency = recencyFromHalf
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &SlidingWindow{cfg: cfg}, nil
}

// setMarks checks the settings of compactions and sets their defaults.
func (cfg *SlidingWindowConfig) setMarks() error {
	if cfg.CompactTimeout < NoTimeout || cfg.SummaryTokens < 0 {
		return fmt.Errorf("conversation: compact_timeout %v, summary_tokens %d: %w (want 0 or more)", cfg.CompactTimeout, cfg.SummaryTokens, pipeline.ErrInvalid)
	}
	cfg.CompactTimeout = cmp.Or(cfg.CompactTimeout, DefaultCompactTimeout)
	cfg.SummaryTokens = cmp.Or(cfg.SummaryTokens, max(minSummaryTokens, cfg.MaxTokens/4))
	if cfg.Compactions == nil {
		cfg.Compactions = new(Compactions)
	}
	high, low := cfg.MaxTokens, cfg.MaxTokens
	if cfg.Compactor != nil {
		high = max(1, cfg.MaxTokens-cfg.MaxTokens/4)
		low = max(1, cmp.Or(cfg.HighWater, high)*2/3)
	}
	cfg.HighWater, cfg.LowWater = cmp.Or(cfg.HighWater, high), cmp.Or(cfg.LowWater, low)
	if cfg.LowWater < 1 || cfg.LowWater > cfg.HighWater || cfg.HighWater > cfg.MaxTokens {
		return fmt.Errorf("conversation: low_water %d, high_water %d, max_tokens %d: %w (want low_water of at most high_water, and that of at most max_tokens)", cfg.LowWater, cfg.HighWater, cfg.MaxTokens, pipeline.ErrInvalid)
	}
	return nil
}

// Add adds a turn with the given text. See [SlidingWindow.AddTurn].
func (s *SlidingWindow) Add(ctx context.Context, role pipeline.Role, text string) error {
	return s.AddTurn(ctx, pipeline.Turn{Role: role, Content: text})
}

// AddTurn adds a turn, and evicts others if it does not fit. It never waits for a compactor,
// except with CompactInline. It cuts a turn that is larger than the whole window, at the end of
// a character, and sets the metadata truncated. The media and the reasoning of such a turn are
// lost to the window, its calls stay. It counts the tokens of the turn again, with the
// upper end of [media.OfParts] for what is not text, assigns its sequence number, sets a missing
// time, and replaces invalid UTF-8.
//
// When AddTurn returns nil, the [TurnLog], if there is one, has the turn. After an error
// the conversation has not changed. The error is that of the turn, the tokenizer, the log
// or ctx. If the compactor fails, this is logged at WARN.
func (s *SlidingWindow) AddTurn(ctx context.Context, t pipeline.Turn) error {
	a, err := s.add(ctx, t)
	if err != nil {
		return err
	}
	s.tell(ctx, a.evicted)
	if s.cfg.CompactInline && a.began != nil {
		_ = a.began.wait(ctx) // the turn is added
	}
	return nil
}

// tell calls OnEvict. No lock may be held.
func (s *SlidingWindow) tell(ctx context.Context, evicted []pipeline.Turn) {
	if len(evicted) == 0 || s.cfg.OnEvict == nil {
		return
	}
	err := core.Guard(func() error { s.cfg.OnEvict(ctx, evicted); return nil })
	if err != nil {
		warn.Log(ctx, s.cfg.Logger, "eviction callback failed", err)
	}
}

func (s *SlidingWindow) add(ctx context.Context, t pipeline.Turn) (*addition, error) {
	t, err := s.count(ctx, t)
	if err != nil {
		return nil, err
	}
	cut, err := s.cut(ctx, t)
	if err != nil {
		return nil, err
	}
	a := &addition{ctx: ctx, whole: t, cut: cut}
	if _, several := s.cfg.Log.(TurnsLog); several {
		s.join(a)
	} else {
		s.adding.Lock()
		defer s.adding.Unlock()
		s.addGroup([]*addition{a})
		a.began, _ = s.begin(ctx)
	}
	return a, a.err
}

// count checks, dates and counts a turn.
func (s *SlidingWindow) count(ctx context.Context, t pipeline.Turn) (pipeline.Turn, error) {
	t.TokenCount, t.Sequence = 0, 0
	if err := t.Validate(); err != nil {
		return t, err
	}
	if text := strings.ToValidUTF8(t.Content, "\uFFFD"); text != t.Content {
		t.SetText(text)
	}
	t.Metadata = values.Clone(t.Metadata)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = s.cfg.Now()
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{countedText(&t)})
	if err != nil {
		return t, fmt.Errorf("conversation: %w", err)
	}
	t.TokenCount = values.Add(counts[0], s.cfg.mediaOf(&t))
	return t, nil
}

// countedText returns the texts of a turn, with those that documents hold.
func countedText(t *pipeline.Turn) string {
	if t.Whole == nil {
		return t.Content
	}
	if more := message.MediaText(t.Whole.Parts); more != "" {
		return t.Content + "\n" + more
	}
	return t.Content
}

// mediaOf returns the tokens of a turn that are not those of texts.
func (cfg *SlidingWindowConfig) mediaOf(t *pipeline.Turn) int {
	if t.Whole == nil {
		return 0
	}
	return media.OfParts(cfg.Model, t.Whole.Parts).High
}

// cut returns a counted turn, cut to the size of the window if it is larger. The
// metadata of t itself are not changed.
func (s *SlidingWindow) cut(ctx context.Context, t pipeline.Turn) (pipeline.Turn, error) {
	if t.TokenCount <= s.cfg.MaxTokens {
		return t, nil
	}
	whole := t.TokenCount
	var counts []int
	err := core.Guard(func() (err error) {
		t.Content, err = s.cfg.Tokenizer.Truncate(ctx, t.Content, s.cfg.MaxTokens)
		return err
	})
	if err == nil {
		t.SetText(wholeCharacters(t.Content))
		counts, err = core.CountTexts(ctx, s.cfg.Tokenizer, []string{t.Content})
	}
	if err == nil && counts[0] > s.cfg.MaxTokens {
		err = fmt.Errorf("%d tokens left, room for %d: %w (the tokenizer must cut to what it counts)", counts[0], s.cfg.MaxTokens, pipeline.ErrInvalid)
	}
	if err != nil {
		return t, fmt.Errorf("conversation: cut turn of %d tokens: %w", whole, err)
	}
	t.TokenCount = counts[0]
	t.Metadata = values.Clone(t.Metadata)
	if t.Metadata == nil {
		t.Metadata = make(map[string]any, 1)
	}
	t.Metadata["truncated"] = true
	return t, nil
}

// wholeCharacters removes an incomplete character from the end of a text that was cut.
func wholeCharacters(text string) string {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Turns returns copies of the turns, oldest first.
func (s *SlidingWindow) Turns() []pipeline.Turn {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return core.CloneTurns(s.turns)
}

// MaxTokens returns the room for turns in tokens.
func (s *SlidingWindow) MaxTokens() int { return s.cfg.MaxTokens }

// readTokens returns how many tokens of turns to read when the conversation is loaded.
func (s *SlidingWindow) readTokens() int {
	tokens := s.cfg.MaxTokens
	if s.cfg.Compactor != nil {
		tokens = min(tokens, math.MaxInt/catchUp) * catchUp
	}
	return max(tokens, s.cfg.ChooseTokens)
}

// catchUp is how many windows of turns without a summary are read when a conversation is
// loaded. While a compactor runs, there are up to four.
const catchUp = 16

// TotalTokens returns the tokens of the turns, without the summary.
func (s *SlidingWindow) TotalTokens() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tokens
}

// Clear forgets the turns and the summary. Sequence numbers continue. The log keeps the
// turns, but notes that they are no longer part of the conversation. If the log fails,
// Clear returns its error, and the conversation is unchanged.
func (s *SlidingWindow) Clear(ctx context.Context) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	cleared := digest{Digest: Digest{Count: s.past.settled.Count, Through: s.last}}
	if err := s.saveDigest(ctx, cleared.Digest); err != nil {
		return err
	}
	s.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns, s.tokens, s.past = nil, 0, past{settled: cleared, shown: cleared}
	return nil
}

func sumTokens(turns []pipeline.Turn) (sum int) {
	for i := range turns {
		sum += turns[i].TokenCount
	}
	return sum
}

var _ pipeline.MemoryProvider = (*SlidingWindow)(nil)
