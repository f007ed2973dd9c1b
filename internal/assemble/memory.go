package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// errNoStore is the error of a build that needs a store when none is open.
var errNoStore = errors.New("no store is open")

// UsesStore says whether a build of the configuration needs the store.
func UsesStore(c *config.Config) bool {
	return c.UsesRetrievers() || c.Facts != nil || c.Frames != nil || c.Conversation != nil && c.Conversation.ID != ""
}

// setMemory sets the memory plugin, or the plugin that condenses a conversation.
func (b *builder) setMemory(context.Context) (err error) {
	if u := b.config.Memory.Use; u.Name != "" {
		b.out.MemoryOnError = policy(stated(b.config, &u), pipeline.Skip)
		if b.kind(&u) != "" {
			b.out.MemoryTimeout = time.Duration(u.Timeout)
			b.out.Memory, err = componentPart(b, "memory", func(m made) (pipeline.MemoryProvider, error) { return m.Memory(), nil })
		} else {
			b.out.Memory, err = part(b, "memory", abi.OpMemory, u, steps.Memory)
		}
		if err == nil || mistake(err) {
			return err
		}
		b.out.Memory = unready(err)
		return nil
	}
	if c := b.config.Conversation; c != nil && c.Compact != nil {
		b.compactor, err = part(b, condensePath, abi.OpCompact, *c.Compact.Use(), steps.Compactor)
		if mistake(err) {
			return err
		}
		if err != nil {
			b.compactor = unready(err) // the summary is then a list of turns
		}
	}
	return nil
}

// remembers makes the memory manager of one build. It returns nil if there is neither a
// conversation nor facts.
func (p *Pipeline) remembers(ctx context.Context, o *Overrides, t pipeline.Tokenizer) (*memory.Manager, error) {
	c := o.Config
	if c.Memory.Name != "" || c.Conversation == nil && c.Facts == nil {
		return nil, nil
	}
	m, err := memory.New(p.memoryConfig(o, t))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	if err := m.Load(ctx); err != nil {
		return nil, err
	}
	if c.Conversation == nil {
		return m, nil
	}
	turns := o.Turns
	if turns == nil {
		turns = statedTurns(c.Conversation.Turns)
	}
	for i, t := range turns {
		if err := m.AddTurn(ctx, t); err != nil {
			return nil, fmt.Errorf("conversation[%d]: %w", i, err)
		}
	}
	return m, nil
}

// memoryConfig returns the configuration of the memory manager of one build.
func (p *Pipeline) memoryConfig(o *Overrides, t pipeline.Tokenizer) (cfg memory.Config) {
	c := o.Config
	cfg.Tokenizer, cfg.Logger, cfg.Now = t, p.generation.options.Logger, o.Now
	if c := c.Conversation; c != nil {
		cfg.Window.MaxTokens, cfg.Window.Model = c.MaxTokens, o.Config.Model
		if c.ID != "" {
			var turns conversation.TurnStore = o.Store
			if o.Repeats {
				turns = unchanged{o.Store}
			}
			cfg.Log = conversation.NewLog(turns, o.Config.TenantName(), c.ID)
		}
		cfg.Window.Eviction = eviction(c)
		if c.Eviction == "importance" {
			cfg.Window.ChooseTokens = importantWindows * cmp.Or(c.MaxTokens, conversation.DefaultConversationTokens)
		}
		cfg.Window.BeginWithUser = c.Begin == "user"
		p.setCompaction(&cfg.Window, o)
	}
	if f := c.Facts; f != nil {
		cfg.Facts = p.generation.Facts(o.Store, c.TenantName())
		cfg.MaxFacts, cfg.MinScore = cmp.Or(f.MaxItems, memory.DefaultTopK), f.MinScore
		cfg.Filter, cfg.Scorer = factFilter(c), p.generation.FactScorer(c)
	}
	return cfg
}

// unchanged is a store whose conversations can only be read.
type unchanged struct{ conversation.TurnStore }

func (unchanged) Append(context.Context, store.Key, ...store.Record) (int64, error) {
	return 0, store.ErrReadOnly
}
func (unchanged) Put(context.Context, store.Key, store.Record) error { return store.ErrReadOnly }
func (unchanged) Clear(context.Context, store.Key) (int, error)      { return 0, store.ErrReadOnly }
func (unchanged) Apply(context.Context, ...store.Change) error       { return store.ErrReadOnly }

// setCompaction sets how the conversation of a build is compacted.
func (p *Pipeline) setCompaction(w *conversation.SlidingWindowConfig, o *Overrides) {
	c := o.Config.Conversation
	w.HighWater, w.LowWater, w.SummaryTokens = c.HighWater, c.LowWater, c.SummaryTokens
	if p.compactor == nil {
		return
	}
	w.Compactor = p.compactor
	if c.Compact != nil && c.Compact.Timeout > 0 {
		w.CompactTimeout = time.Duration(c.Compact.Timeout) + waiting
	}
	w.Compactions, w.Name, w.OnCompact = o.Compactions, CompactionName(o.Config.TenantName(), c.ID), p.generation.Hold
	// The turns of a conversation that is not stored must give the same window in each build.
	w.CompactInline = o.Compactions == nil || c.ID == ""
	if c.ID == "" {
		w.Compactions = nil
	}
}

// CompactionName is the name of a stored conversation of a tenant among [conversation.Compactions].
func CompactionName(tenant, conversation string) string { return tenant + "\x00" + conversation }

// factFilter selects the facts of a configuration. Facts of a user are for that user only, and without
// a user facts of a session or a conversation for that one only.
func factFilter(c *config.Config) memory.Filter {
	f := c.Facts
	filter := memory.Filter{Users: []string{f.User}, SessionID: f.Session, Type: memory.Type(f.Type), Tags: f.Tags}
	if f.User == "" && f.Session == "" {
		filter.Sessions = []string{"", conversationOf(c)}
	}
	return filter
}

// factOwner selects the user and the session that own the facts that are extracted from the
// conversation of a configuration.
func factOwner(c *config.Config) memory.Filter {
	f := c.Facts
	if f.User == "" && f.Session == "" {
		return memory.Filter{SessionID: conversationOf(c)}
	}
	return memory.Filter{UserID: f.User, SessionID: f.Session}
}

// conversationOf returns the name of the stored conversation of a configuration. It returns "" if
// there is none.
func conversationOf(c *config.Config) string {
	if c.Conversation == nil {
		return ""
	}
	return c.Conversation.ID
}

// statedTurns are the turns that the configuration states.
func statedTurns(stated []config.Turn) []pipeline.Turn {
	turns := make([]pipeline.Turn, len(stated))
	for i, t := range stated {
		turns[i] = pipeline.Turn{Role: pipeline.Role(t.Role), Content: t.Content, CreatedAt: t.CreatedAt, Metadata: t.Metadata, Whole: t.Whole}
	}
	return turns
}

// graphMemory returns a provider of the facts that the graph of the store leads to. It returns
// nil if the configuration has no graph.
func graphMemory(o *Overrides, m *memory.Manager) pipeline.MemoryProvider {
	f := o.Config.Facts
	if f == nil || f.Graph == nil {
		return nil
	}
	g := &memory.GraphMemory{
		Manager: m, Graph: memory.NewStoreGraph(o.Store, o.Config.TenantName()), Filter: factFilter(o.Config), MaxItems: f.Graph.MaxItems,
	}
	if d := f.Graph.MaxDepth; d != nil {
		if g.MaxDepth = *d; *d == 0 {
			g.MaxDepth = -1
		}
	}
	return g
}
