package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// errNoStore is the error of a configuration that needs a store, where none was
// opened.
var errNoStore = errors.New("no store is open")

// UsesStore says whether a build of the configuration needs the store.
func UsesStore(c *config.Config) bool {
	return c.Facts != nil || c.Frames != nil || c.Conversation != nil && c.Conversation.ID != ""
}

func (b *builder) setMemory(ctx context.Context) error {
	if err := b.setOwnMemory(ctx); err != nil {
		return err
	}
	offered, err := b.frameMemory(ctx)
	switch {
	case err != nil || offered == nil:
		return err
	case b.out.Memory == nil:
		b.out.Memory = offered
	default:
		b.out.Memory = memories{offered, b.out.Memory}
	}
	return nil
}

// setOwnMemory sets the plugin that remembers, or conversation and facts.
func (b *builder) setOwnMemory(ctx context.Context) (err error) {
	if u := b.config.Memory; u != nil {
		b.out.MemoryOnError = cmp.Or(pipeline.OnError(u.OnError), pipeline.Skip)
		b.out.Memory, err = part(b, "memory", abi.OpMemory, u.Use(), steps.Memory)
		if err == nil || mistake(err) {
			return err
		}
		b.out.Memory = unready(err)
		return nil
	}
	if b.config.Conversation == nil && b.config.Facts == nil {
		return nil
	}
	cfg, err := b.memoryConfig()
	if err != nil {
		return err
	}
	if b.memory, err = memory.New(cfg); err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	if err := b.memory.Load(ctx); err != nil {
		return err
	}
	if c := b.config.Conversation; c != nil {
		err = addTurns(ctx, b.memory, c.Turns)
	}
	b.out.Memory = b.memory
	return err
}

// memoryConfig describes the conversation and the facts of the configuration.
func (b *builder) memoryConfig() (cfg memory.Config, err error) {
	if UsesStore(b.config) && b.options.Store == nil {
		return cfg, fmt.Errorf("conversation and facts: %w", errNoStore)
	}
	cfg.Tokenizer, cfg.Logger = b.out.Tokenizer, b.options.Logger
	if c := b.config.Conversation; c != nil {
		cfg.Window.MaxTokens = c.MaxTokens
		if c.ID != "" {
			cfg.Log = memory.NewLog(b.options.Store, b.config.TenantName(), c.ID)
		}
		cfg.Window.Eviction, cfg.Window.Recency = eviction(c), recency(c)
		cfg.Window.BeginWithUser = c.Begin == "user"
		if c.Compact != nil {
			cfg.Window.Compactor, err = part(b, "conversation.compact", abi.OpCompact, *c.Compact, steps.Compactor)
			if mistake(err) {
				return cfg, err
			}
			if err != nil {
				cfg.Window.Compactor = unready(err) // then turns are listed
			}
		}
	}
	if f := b.config.Facts; f != nil {
		facts := memory.NewStoreFacts(b.options.Store, b.config.TenantName())
		facts.SkipDamaged(func(id string, err error) { // one must not keep the others away
			b.options.Logger.Warn("fact is damaged and left out", "id", id, "error", err)
		})
		cfg.Facts = facts
		cfg.MaxFacts, cfg.MinScore = cmp.Or(f.MaxItems, memory.DefaultTopK), f.MinScore
		cfg.Filter = memory.Filter{UserID: f.User, SessionID: f.Session, Type: memory.Type(f.Type), Tags: f.Tags}
	}
	return cfg, nil
}

// addTurns adds the turns that the configuration states.
func addTurns(ctx context.Context, m *memory.Manager, turns []config.Turn) error {
	for i, t := range turns {
		turn := pipeline.Turn{Role: pipeline.Role(t.Role), Content: t.Content, CreatedAt: t.CreatedAt}
		if err := m.AddTurn(ctx, turn); err != nil {
			return fmt.Errorf("conversation[%d]: %w", i, err)
		}
	}
	return nil
}
