package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Contexter returns the plugin that makes the contexts of the chunks of a collection, and loads it.
// It is nil if the configuration names none. It can be used until the generation is closed.
func (g *Generation) Contexter(ctx context.Context, collection string) (ingest.Contexter, error) {
	u := g.config.Collections[collection].Context
	if u == nil {
		return nil, nil
	}
	b := &builder{generation: g, plugins: &plugins{config: g.config}}
	if err := b.run(ctx, b.setTokenizer, func(ctx context.Context) error { return b.loadFor(ctx, jobIngest) }, b.setPluginTokenizer); err != nil {
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
		name: fmt.Sprintf("%s %s %s %s", cmp.Or(u.Instance, u.Plugin), m.Name, m.Version, settings),
	}, nil
}

// contexter makes contexts with a plugin. For budgets, a document counts as a build.
type contexter struct {
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
	}
	ctx, _ = ledger.Under(c.host.counting(ctx, c.counts))
	got, err := c.process.Process(ctx, &pipeline.Query{}, items)
	if err != nil {
		return nil, err
	}
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
