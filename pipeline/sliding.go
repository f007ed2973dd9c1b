package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// DefaultConversationTokens is the size of a conversation that states none.
const DefaultConversationTokens = 4096

// SlidingWindowConfig describes a conversation. The zero value works.
type SlidingWindowConfig struct {
	// MaxTokens is the room for turns in tokens. 0 means DefaultConversationTokens.
	// A summary is not counted in it.
	MaxTokens int
	// Tokenizer is DefaultEncoding when nil.
	Tokenizer Tokenizer
	// Compactor condenses the turns that leave into a summary. nil means that they
	// are forgotten.
	Compactor Compactor
	// Eviction chooses the turns that leave. nil means EvictOldest.
	Eviction EvictionPolicy
	// Recency scores the turns. nil means 0.5 for the oldest to 1 for the newest,
	// and 0.5 for a single one.
	Recency RecencyScorer
	// OnEvict is told of turns that have left, oldest first, once per added turn. It
	// may use the conversation: no lock is held. Panics are logged at WARN.
	OnEvict func(ctx context.Context, evicted []Turn)
	// Priority is the priority of the turns as items. 0 means 7.
	Priority int
	// Logger is slog.Default when nil, Now is time.Now.
	Logger *slog.Logger
	Now    func() time.Time
}

// SlidingWindow is a conversation that keeps the newest turns within a number of
// tokens. It is a [MemoryProvider] and safe for concurrent use; turns are numbered
// in the order in which they were added, so that equal times do not change it.
type SlidingWindow struct {
	cfg SlidingWindowConfig

	adding sync.Mutex // held while a turn is added, also during compaction
	mu     sync.RWMutex
	turns  []Turn
	tokens int
	last   int64 // the last sequence number
	digest summary
}

// summary stands for the turns that have left.
type summary struct {
	text   string
	tokens int
	newest Turn // the newest turn in it
	count  int64
}

// NewSlidingWindow checks the configuration and returns an empty conversation.
func NewSlidingWindow(cfg SlidingWindowConfig) (*SlidingWindow, error) {
	switch {
	case cfg.MaxTokens < 0:
		return nil, fmt.Errorf("conversation: max_tokens %d: %w (want 1 or more)", cfg.MaxTokens, ErrInvalid)
	case cfg.MaxTokens == 0:
		cfg.MaxTokens = DefaultConversationTokens
	}
	if cfg.Priority == 0 {
		cfg.Priority = SourceConversation.DefaultPriority()
	}
	if cfg.Priority < MinPriority || cfg.Priority > MaxPriority {
		return nil, fmt.Errorf("conversation: priority %d: %w (want %d to %d)", cfg.Priority, ErrInvalid, MinPriority, MaxPriority)
	}
	if cfg.Tokenizer == nil {
		t, err := EncodingTokenizer(DefaultEncoding)
		if err != nil {
			return nil, err
		}
		cfg.Tokenizer = t
	}
	if cfg.Eviction == nil {
		cfg.Eviction = EvictOldest
	}
	if cfg.Recency == nil {
		cfg.Recency = recencyFromHalf
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &SlidingWindow{cfg: cfg}, nil
}

// Add adds a turn with the given text. See [SlidingWindow.AddTurn].
func (s *SlidingWindow) Add(ctx context.Context, role Role, text string) error {
	return s.AddTurn(ctx, Turn{Role: role, Content: text})
}

// AddTurn adds a turn, and lets others go until it fits. A turn that is larger than
// the whole window is cut and marked with the metadata truncated. The token count of
// the turn is counted anew, its sequence number assigned, its time filled in. On an
// error, which is that of the turn, the tokenizer or ctx, nothing has changed; a
// compactor that fails is logged at WARN and replaced by listing the turns.
func (s *SlidingWindow) AddTurn(ctx context.Context, t Turn) error {
	evicted, err := s.add(ctx, t)
	if err != nil || len(evicted) == 0 || s.cfg.OnEvict == nil {
		return err
	}
	err = guard(func() error { s.cfg.OnEvict(ctx, evicted); return nil })
	if err != nil {
		warn(ctx, s.cfg.Logger, "eviction callback failed", err)
	}
	return nil
}

func (s *SlidingWindow) add(ctx context.Context, t Turn) (evicted []Turn, err error) {
	s.adding.Lock()
	defer s.adding.Unlock()
	if t, err = s.fit(ctx, t); err != nil {
		return nil, err
	}
	// Only add changes the turns, and it holds adding: they cannot change between
	// this read and the write below.
	before := s.Turns()
	kept, evicted, err := s.evict(before, s.TotalTokens()+t.TokenCount-s.cfg.MaxTokens)
	if err != nil {
		return nil, err
	}
	digest, err := s.condense(ctx, evicted)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	t.Sequence = s.last
	s.turns = append(kept, t)
	s.tokens = sumTokens(s.turns)
	s.digest = digest
	return evicted, nil
}

// fit checks, counts and dates a turn, and cuts it to the size of the window.
func (s *SlidingWindow) fit(ctx context.Context, t Turn) (Turn, error) {
	t.TokenCount = 0
	if err := t.Validate(); err != nil {
		return t, err
	}
	t.Metadata = cloneMap(t.Metadata)
	if t.CreatedAt.IsZero() {
		t.CreatedAt = s.cfg.Now()
	}
	counts, err := countTexts(ctx, s.cfg.Tokenizer, []string{t.Content})
	if err != nil {
		return t, fmt.Errorf("conversation: %w", err)
	}
	t.TokenCount = counts[0]
	if t.TokenCount <= s.cfg.MaxTokens {
		return t, nil
	}
	err = guard(func() (err error) {
		t.Content, err = s.cfg.Tokenizer.Truncate(ctx, t.Content, s.cfg.MaxTokens)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("conversation: cut turn of %d tokens: %w", t.TokenCount, err)
	}
	if t.Metadata == nil {
		t.Metadata = make(map[string]any, 1)
	}
	t.Metadata["truncated"] = true
	t.TokenCount = s.cfg.MaxTokens
	return t, nil
}

// evict divides turns into those that stay and those that leave to free the given
// number of tokens.
func (s *SlidingWindow) evict(turns []Turn, free int) (kept, evicted []Turn, err error) {
	if free <= 0 {
		return turns, nil, nil
	}
	var chosen []int
	err = guard(func() error { chosen = s.cfg.Eviction(cloneTurns(turns), free); return nil })
	if err != nil {
		return nil, nil, fmt.Errorf("conversation: eviction policy: %w", err)
	}
	leaves := completeChoice(turns, chosen, free)
	for i, t := range turns {
		if leaves[i] {
			evicted = append(evicted, t)
		} else {
			kept = append(kept, t)
		}
	}
	return kept, evicted, nil
}

// Turns returns copies of the turns, oldest first.
func (s *SlidingWindow) Turns() []Turn {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return cloneTurns(s.turns)
}

// TotalTokens returns the tokens of the turns, without the summary.
func (s *SlidingWindow) TotalTokens() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tokens
}

// Clear forgets the turns and the summary. Sequence numbers go on.
func (s *SlidingWindow) Clear() {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns, s.tokens, s.digest = nil, 0, summary{}
}

// Items returns the summary, if there is one, and the turns, oldest first, as items
// of source conversation. The error is always nil.
func (s *SlidingWindow) Items(context.Context, *Query) ([]Item, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	items := make([]Item, 0, len(s.turns)+1)
	if s.digest.text != "" {
		items = append(items, s.digest.item())
	}
	for i := range s.turns {
		t := &s.turns[i]
		metadata := make(map[string]any, len(t.Metadata)+1)
		metadata["role"] = string(t.Role)
		maps.Copy(metadata, cloneMap(t.Metadata))
		items = append(items, Item{
			ID:         fmt.Sprintf("turn-%d", t.Sequence),
			Content:    t.Content,
			Source:     SourceConversation,
			Score:      boundedScore(s.cfg.Recency(i, len(s.turns))),
			Priority:   s.cfg.Priority,
			TokenCount: t.TokenCount,
			Metadata:   metadata,
			CreatedAt:  t.CreatedAt,
			Sequence:   t.Sequence,
		})
	}
	return items, nil
}

// boundedScore makes what a scorer says a score; NaN is 0.
func boundedScore(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return round4(min(1, x))
}

func sumTokens(turns []Turn) (sum int) {
	for i := range turns {
		sum += turns[i].TokenCount
	}
	return sum
}

var _ MemoryProvider = (*SlidingWindow)(nil)
