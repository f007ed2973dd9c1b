package assemble

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/factmodel"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// The errors of configurations that say of nobody to extract or to consolidate facts.
var (
	errNoExtract     = fmt.Errorf("%w: memory.facts.extract is not set (add extract: {use: NAME} below it, where the plugin has the operation extract, or extract: {model: NAME})", config.ErrInvalid)
	errNoConsolidate = fmt.Errorf("%w: neither memory.facts.consolidate nor memory.facts.extract is set (add consolidate: {model: NAME}, with an entry of models)", config.ErrInvalid)
)

// Promoter returns the facts of a configuration with the plugin or model that extracts facts from
// turns. It loads the plugin. The user and session of the configuration own the promoted facts. If
// it has neither, its conversation is the session that owns them.
func (g *Generation) Promoter(ctx context.Context, c *config.Config, s store.Store) (*memory.Manager, error) {
	if c.Facts == nil || c.Facts.Extract == nil {
		return nil, errNoExtract
	}
	return g.factMaker(ctx, c, s, c.Facts.Extract.Model)
}

// Consolidator returns the facts of a configuration with the plugin or model that merges facts.
func (g *Generation) Consolidator(ctx context.Context, c *config.Config, s store.Store) (*memory.Manager, error) {
	switch {
	case c.Facts == nil || c.Facts.Consolidate == nil && c.Facts.Extract == nil:
		return nil, errNoConsolidate
	case c.Facts.Consolidate != nil:
		return g.factMaker(ctx, c, s, c.Facts.Consolidate.Model)
	}
	return g.factMaker(ctx, c, s, c.Facts.Extract.Model)
}

// factMaker returns the facts with a model, or with the plugin of memory.facts.extract if model is empty.
func (g *Generation) factMaker(ctx context.Context, c *config.Config, s store.Store, model string) (*memory.Manager, error) {
	b, err := g.loadedFor(ctx, c, jobFacts)
	if err != nil {
		return nil, err
	}
	extractor, err := b.extractor(c, model)
	if err != nil {
		return nil, err
	}
	known := memory.DefaultKnownFacts
	if e := c.Facts.Extract; e != nil && e.Known != nil {
		if known = *e.Known; known == 0 {
			known = -1
		}
	}
	return memory.New(memory.Config{
		Facts: g.Facts(s, c.TenantName()), Filter: factOwner(c), KnownFacts: known, Scorer: g.FactScorer(c),
		Extractor: extractor, Tokenizer: b.out.Tokenizer, Logger: g.options.Logger,
	})
}

func (b *builder) extractor(c *config.Config, model string) (memory.Extractor, error) {
	g := b.generation
	if model != "" {
		m, err := g.Model(model)
		if err != nil {
			return nil, err
		}
		named := &factmodel.Model{Name: model, Model: m}
		return &factmodel.Extractor{Extracts: named, Consolidates: named, Tenant: c.TenantName()}, nil
	}
	extractor, err := part(b, extractPath, abi.OpExtract, *c.Facts.Extract.Use(), steps.Extractor)
	if err != nil {
		return nil, err
	}
	return countedExtractor{extractor, g.tokenizer, b.out.Tokenizer}, nil
}

// FactScorer returns what ranks the facts of a configuration, nil for the default.
func (g *Generation) FactScorer(c *config.Config) *memory.Scorer {
	if c.Facts == nil || g.factVectors[c.Facts.Embedder] == nil {
		return nil
	}
	return &memory.Scorer{Embedder: g.factVectors[c.Facts.Embedder], OnError: func(err error) {
		g.options.Logger.Warn("facts are found by words only", "embedder", c.Facts.Embedder, "error", err)
	}}
}

// PreparePromoter loads the plugin that extracts facts from turns, if there is one. A plugin that
// is not ready is an error only if its instance is required or if it refuses its configuration.
func (g *Generation) PreparePromoter(ctx context.Context, c *config.Config) error {
	if c.Facts == nil || c.Facts.Extract == nil {
		return nil
	}
	b := g.builder(c)
	return b.run(ctx, b.setTokenizer, b.load(jobFacts))
}

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
