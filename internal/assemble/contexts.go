package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Contexter returns the plugin that makes the contexts of the chunks of a collection, and loads it.
// It is nil if the configuration names none. It can be used until the generation is closed.
func (g *Generation) Contexter(ctx context.Context, collection string) (ingest.Contexter, error) {
	u := g.Loaded.Collections[collection].Context.Use()
	if u == nil {
		return nil, nil
	}
	b, err := g.loadedFor(ctx, &g.Loaded.Config, jobIngest)
	if err != nil {
		return nil, err
	}
	path := contextPath(collection)
	plugin, _, err := b.get(use{Use: *u, path: path, op: abi.OpProcess})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	process, err := part(b, path, abi.OpProcess, *u, steps.PostProcessor)
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(u.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: settings: %w", path, err)
	}
	m := plugin.Spec().Manifest
	return &contexter{
		process: process, host: g.tokenizer, counts: b.out.Tokenizer,
		name: fmt.Sprintf("%s %s %s %s", u.Name, m.Name, m.Version, settings),
	}, nil
}

// DefaultContextCalls is how many requests the contexts of a collection may make in one run, if the
// configuration does not say it.
const DefaultContextCalls = 1000

// CountIngest returns a context for one run of the ingestion of a collection, and the ledger of all
// that the run asks models and embedders.
func (g *Generation) CountIngest(ctx context.Context, collection string) (context.Context, *ledger.Ledger) {
	b, at := g.Loaded.Collections[collection].ContextBudget, strict.Join("collections", collection)+".context_budget"
	return ledger.WithModels(ctx, ledger.Limit{
		Calls: int64(cmp.Or(b.MaxCalls, DefaultContextCalls)), Tokens: int64(b.MaxTokens), CallsKey: at + ".max_calls", TokensKey: at + ".tokens",
	})
}

// maxUnanswered is how many documents in a row may get no answer of a model before no more is asked.
const maxUnanswered = 3

// contexter makes contexts with a plugin, for the documents of one run.
type contexter struct {
	// unanswered counts the documents in a row for which no model gave an answer.
	unanswered atomic.Int64

	process pipeline.PostProcessor
	host    *hostTokenizer
	counts  pipeline.Tokenizer
	name    string
}

// Name implements [ingest.Contexter].
func (c *contexter) Name() string { return c.name }

// contextKey is the name in the metadata of items under which a plugin writes the context.
const contextKey = "context"

// Contexts implements [ingest.Contexter].
func (c *contexter) Contexts(ctx context.Context, doc *retrieve.Document, chunks []*retrieve.Chunk) ([]string, error) {
	items := make([]pipeline.Item, len(chunks))
	for i, chunk := range chunks {
		it := &items[i]
		it.ID, it.Content, it.Source, it.Priority, it.CreatedAt = strconv.Itoa(i), chunk.Text, pipeline.SourceRetrieval, pipeline.SourceRetrieval.DefaultPriority(), doc.Time
		it.Metadata = map[string]any{"doc_id": doc.ID, "path": doc.Path}
		for key, text := range map[string]string{"title": doc.Title, "heading": strings.Join(chunk.Headings, " > ")} {
			if text != "" {
				it.Metadata[key] = text
			}
		}
		if chunk.Page > 0 {
			it.Metadata["page"] = int64(chunk.Page)
		}
		if chunk.PageEnd > 0 {
			it.Metadata["page_end"] = int64(chunk.PageEnd)
		}
	}
	ctx, l := ledger.Under(c.host.counting(ctx, c.counts))
	before := answered(l)
	got, err := c.process.Process(ctx, &pipeline.Query{}, items)
	if err != nil {
		return nil, c.failed(l, before, err)
	}
	c.unanswered.Store(0)
	contexts := make([]string, len(chunks))
	for i := range got {
		at, err := strconv.Atoi(got[i].ID)
		if err != nil || at < 0 || at >= len(chunks) {
			continue // a new item
		}
		contexts[at], _ = got[i].Metadata[contextKey].(string)
	}
	return contexts, nil
}

// answered returns how many requests models have answered.
func answered(l *ledger.Ledger) (n int64) {
	for _, line := range l.Lines() {
		if line.Service == manifest.ServiceLLM {
			n += line.Calls - line.Failed
		}
	}
	return n
}

// failed is the error of a document. It wraps [retrieve.ErrUnavailable], which ends the run, if the
// budget is spent, or if no model has answered for several documents.
func (c *contexter) failed(l *ledger.Ledger, before int64, err error) error {
	if spent := l.Spent(); spent != nil {
		return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, spent)
	}
	if answered(l) > before {
		c.unanswered.Store(0)
		return err
	}
	if n := c.unanswered.Add(1); n >= maxUnanswered {
		return fmt.Errorf("%w: no answer for %d documents in a row, so no more is asked: %w", retrieve.ErrUnavailable, n, err)
	}
	return err
}
