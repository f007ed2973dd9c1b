package assemble

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// errNoExtract is the error of a configuration that names no plugin to extract facts.
var errNoExtract = fmt.Errorf("%w: facts.extract is not set (add facts: {extract: {plugin: NAME}}, where the plugin has the operation extract)", config.ErrInvalid)

// Promoter returns the facts of a configuration with the plugin that extracts facts from turns.
// It loads the plugin. The user and session of the configuration own the promoted facts. If it has
// neither, its conversation is the session that owns them.
func (g *Generation) Promoter(ctx context.Context, c *config.Config, s store.Store) (*memory.Manager, error) {
	if c.Facts == nil || c.Facts.Extract == nil {
		return nil, errNoExtract
	}
	b := &builder{generation: g, plugins: &plugins{config: c}}
	for _, stage := range []func(context.Context) error{b.setTokenizer, b.loadToExtract, b.setPluginTokenizer} {
		if err := stage(ctx); err != nil {
			return nil, err
		}
	}
	f := c.Facts
	extractor, err := part(b, extractPath, abi.OpExtract, f.Extract.Use(), steps.Extractor)
	if err != nil {
		return nil, err
	}
	known := memory.DefaultKnownFacts
	if k := f.Extract.Known; k != nil {
		if known = *k; known == 0 {
			known = -1
		}
	}
	return memory.New(memory.Config{
		Facts: g.Facts(s, c.TenantName()), Filter: factOwner(c), KnownFacts: known,
		Extractor: countedExtractor{extractor, g.tokenizer, b.out.Tokenizer}, Tokenizer: b.out.Tokenizer, Logger: g.options.Logger,
	})
}

// PreparePromoter loads the plugin that extracts facts from turns, if there is one. A plugin that
// is not ready is an error only if its instance is required or if it refuses its configuration.
func (g *Generation) PreparePromoter(ctx context.Context, c *config.Config) error {
	if c.Facts == nil || c.Facts.Extract == nil {
		return nil
	}
	b := &builder{generation: g, plugins: &plugins{config: c}}
	if err := b.setTokenizer(ctx); err != nil {
		return err
	}
	return b.loadToExtract(ctx)
}

// loadToExtract loads the plugins that extract facts.
func (b *builder) loadToExtract(ctx context.Context) error { return b.loadFor(ctx, jobFacts) }

// countedExtractor is an extractor whose plugin counts with the tokenizer of its
// configuration.
type countedExtractor struct {
	memory.Extractor
	host   *hostTokenizer
	counts pipeline.Tokenizer
}

// Extract calls the extractor.
func (e countedExtractor) Extract(ctx context.Context, turns []pipeline.Turn, known []memory.Entry) (memory.Extraction, error) {
	return e.Extractor.Extract(e.host.counting(ctx, e.counts), turns, known)
}
