package memory

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
)

// Dialogue is the conversation of a manager. [conversation.SlidingWindow] implements it.
type Dialogue interface {
	pipeline.MemoryProvider
	AddTurn(ctx context.Context, t pipeline.Turn) error
	Clear(ctx context.Context) error
}

// Config describes a [Manager]. The zero value works: a conversation of
// [conversation.DefaultConversationTokens], and no facts.
type Config struct {
	// Conversation is the conversation. nil means a sliding window made from Window.
	Conversation Dialogue
	// Window describes the conversation if Conversation is nil. If its Tokenizer, Logger or
	// Now is nil, the one below is used.
	Window conversation.SlidingWindowConfig
	// Log stores the conversation made from Window. nil means that the conversation is not
	// stored.
	Log *conversation.Log
	// Facts keeps the facts. nil means that there are none.
	Facts Facts
	// Filter selects the facts that are offered. FilterBy, if not nil, returns the filter
	// for each query, for example by a user in its metadata.
	Filter   Filter
	FilterBy func(q *pipeline.Query) Filter
	// MaxFacts is the largest number of facts to offer. The manager offers those that
	// matter most to the query, with their scores for it. 0 offers all facts, each with its
	// own relevance.
	MaxFacts int
	// MinScore leaves out facts with a lower score. It needs MaxFacts.
	MinScore float64
	// Scorer scores facts for a query. nil means the zero Scorer.
	Scorer *Scorer
	// FactsFirst places facts before the first turn in formatted output. By default they
	// are among the turns, by the time at which they were added.
	FactsFirst bool
	// Extractor takes facts from turns for [Manager.Promote], and merges, shortens and
	// removes facts for [Manager.Consolidate]. nil means that both do nothing.
	Extractor Extractor
	// KnownFacts is how many known facts the extractor sees together with turns. 0 means
	// DefaultKnownFacts, -1 none.
	KnownFacts int
	// Consolidator compares extracted facts with the stored ones. nil means that only equal
	// content is recognized.
	Consolidator Consolidator
	// Tokenizer counts the tokens of facts. nil means that of Window, or
	// pipeline.DefaultEncoding.
	Tokenizer pipeline.Tokenizer
	// NewID returns IDs for new facts. nil means random UUIDs.
	NewID func() string
	// Logger is slog.Default when nil, Now is time.Now.
	Logger *slog.Logger
	Now    func() time.Time
}

// factPriority is the priority of facts as items. It does not depend on that of the turns.
const factPriority = 8

// Manager is a memory: a conversation, and facts that outlive it. It is a
// [pipeline.MemoryProvider] and safe for concurrent use.
type Manager struct {
	cfg Config

	// writing is held from the moment when the manager looks for a fact until it has
	// written the fact. Readers never wait for it.
	writing sync.Mutex

	counting sync.Mutex
	counts   map[string]int // tokens of the facts last offered, by content
}

var _ pipeline.MemoryProvider = (*Manager)(nil)

// New checks the configuration and returns a manager. A conversation with a Log is
// empty until [Manager.Load].
func New(cfg Config) (*Manager, error) {
	switch {
	case cfg.MaxFacts < 0:
		return nil, fmt.Errorf("memory: max_facts %d: %w (want 0 or more)", cfg.MaxFacts, pipeline.ErrInvalid)
	case !(cfg.MinScore >= 0 && cfg.MinScore <= 1) || cfg.MinScore > 0 && cfg.MaxFacts == 0:
		return nil, fmt.Errorf("memory: min_score %v: %w (want 0 to 1, and max_facts with it)", cfg.MinScore, pipeline.ErrInvalid)
	case cfg.KnownFacts < -1:
		return nil, fmt.Errorf("memory: known_facts %d: %w (want 0 or more, or -1)", cfg.KnownFacts, pipeline.ErrInvalid)
	case cfg.Conversation != nil && cfg.Log != nil:
		return nil, fmt.Errorf("memory: log: %w (a given conversation has its own)", pipeline.ErrInvalid)
	}
	if cfg.Scorer == nil {
		cfg.Scorer = new(Scorer)
	}
	if err := cfg.Scorer.Validate(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	cfg.Tokenizer = cmp.Or(cfg.Tokenizer, cfg.Window.Tokenizer)
	if cfg.Tokenizer == nil {
		t, err := pipeline.EncodingTokenizer(pipeline.DefaultEncoding)
		if err != nil {
			return nil, err
		}
		cfg.Tokenizer = t
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Manager{cfg: cfg}
	return m, m.converse()
}

// converse makes the conversation if the configuration has none.
func (m *Manager) converse() error {
	if m.cfg.Conversation != nil {
		return nil
	}
	w := m.cfg.Window
	w.Tokenizer = cmp.Or(w.Tokenizer, m.cfg.Tokenizer)
	w.Logger = cmp.Or(w.Logger, m.cfg.Logger)
	if w.Now == nil {
		w.Now = m.cfg.Now
	}
	if m.cfg.Log != nil {
		w.Log = m.cfg.Log
	}
	window, err := conversation.NewSlidingWindow(w)
	if err != nil {
		return err
	}
	m.cfg.Conversation = window
	return nil
}

// Load fills the conversation from its log. It does nothing without a log.
func (m *Manager) Load(ctx context.Context) error {
	if window, ok := m.cfg.Conversation.(*conversation.SlidingWindow); ok && m.cfg.Log != nil {
		return m.cfg.Log.Load(ctx, window)
	}
	return nil
}

// Conversation returns the conversation.
func (m *Manager) Conversation() Dialogue { return m.cfg.Conversation }

// AddMessage adds a turn with the given text to the conversation.
func (m *Manager) AddMessage(ctx context.Context, role pipeline.Role, text string) error {
	return m.cfg.Conversation.AddTurn(ctx, pipeline.Turn{Role: role, Content: text})
}

// AddTurn adds a turn to the conversation.
func (m *Manager) AddTurn(ctx context.Context, t pipeline.Turn) error {
	return m.cfg.Conversation.AddTurn(ctx, t)
}

// Clear forgets the conversation and the facts that Filter selects, expired ones included.
// If FilterBy selects facts, only a query says to whom they belong. Clear then leaves the
// facts; [Manager.Forget] deletes those of one user.
func (m *Manager) Clear(ctx context.Context) error {
	if err := m.cfg.Conversation.Clear(ctx); err != nil {
		return err
	}
	if m.cfg.Facts == nil || m.cfg.FilterBy != nil {
		return nil
	}
	own := m.cfg.Filter
	own.Expired = true
	_, err := m.Forget(ctx, own)
	return err
}
