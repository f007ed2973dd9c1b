package host

import (
	"context"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Retriever returns the operation retrieve as a pipeline.Retriever, for query
// transform and classified steps.
func (p *Plugin) Retriever(o StepOptions) (pipeline.Retriever, error) {
	op, err := p.operation(abi.OpRetrieve, o)
	if err != nil {
		return nil, err
	}
	return retriever{op}, nil
}

// PostProcessor returns the operation process as a pipeline.PostProcessor.
func (p *Plugin) PostProcessor(o StepOptions) (pipeline.PostProcessor, error) {
	op, err := p.operation(abi.OpProcess, o)
	if err != nil {
		return nil, err
	}
	return postProcessor{op}, nil
}

type postProcessor struct{ o *operation }

func (p postProcessor) Isolated() {}

func (p postProcessor) Process(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return p.o.changeItems(ctx, q, items, nil, 0)
}

// Reranker returns the operation rerank as a pipeline.Reranker.
func (p *Plugin) Reranker(o StepOptions) (pipeline.Reranker, error) {
	op, err := p.operation(abi.OpRerank, o)
	if err != nil {
		return nil, err
	}
	return reranker{op}, nil
}

type reranker struct{ o *operation }

func (r reranker) Isolated() {}

func (r reranker) Rerank(ctx context.Context, q *pipeline.Query, items []pipeline.Item, topK int) ([]pipeline.Item, error) {
	if topK <= 0 {
		topK = r.o.topK
	}
	return r.o.changeItems(ctx, q, items, nil, topK)
}

// Filter returns the operation filter as a pipeline.Filter. Items outside the
// scope are kept.
func (p *Plugin) Filter(o StepOptions) (pipeline.Filter, error) {
	op, err := p.operation(abi.OpFilter, o)
	if err != nil {
		return nil, err
	}
	return filter{op}, nil
}

type filter struct{ o *operation }

func (f filter) Isolated() {}

func (f filter) Filter(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]bool, error) {
	v := visible(items, f.o.scope)
	var r receipt
	defer r.done(f.o.plugin)
	c, err := f.o.changes(ctx, &r, v, &abi.Envelope{Query: abiQuery(q), TokensLeft: tokensLeft(ctx, items)})
	if err != nil {
		return nil, err
	}
	keep := make([]bool, len(items))
	for i := range keep {
		keep[i] = true
	}
	if c == nil || c.Keep == nil {
		return keep, nil
	}
	for row := range v.Len() {
		keep[v.index(row)] = false
	}
	for _, row := range c.Keep {
		keep[v.index(int(row))] = true
	}
	return keep, nil
}

// MaxVariants is the most queries a query transformer may return.
const MaxVariants = abi.MaxQueries

// QueryTransformer returns the operation transform_query as a
// pipeline.QueryTransformer. A guest without an answer leaves the one query.
func (p *Plugin) QueryTransformer(o StepOptions) (pipeline.QueryTransformer, error) {
	op, err := p.operation(abi.OpTransformQuery, o)
	if err != nil {
		return nil, err
	}
	return queryTransformer{op}, nil
}

type queryTransformer struct{ o *operation }

func (t queryTransformer) Isolated() {}

func (t queryTransformer) TransformQuery(ctx context.Context, q *pipeline.Query) ([]pipeline.Query, error) {
	var reply abi.TransformReply
	changed, err := t.o.ask(ctx, abi.QueryRequest{Query: *abiQuery(q), Settings: t.o.settings}, &reply)
	switch {
	case err != nil:
		return nil, err
	case !changed:
		return []pipeline.Query{*q}, nil
	case len(reply.Queries) == 0 || len(reply.Queries) > MaxVariants:
		return nil, t.o.invalid("%d queries (want 1 to %d)", len(reply.Queries), MaxVariants)
	}
	out := make([]pipeline.Query, len(reply.Queries))
	for i := range reply.Queries {
		out[i] = hostQuery(&reply.Queries[i], q)
		if err := out[i].Validate(); err != nil {
			return nil, t.o.invalid("queries[%d]: %w", i, err)
		}
	}
	return out, nil
}

// Classifier returns the operation classify as a pipeline.QueryClassifier. A
// guest without an answer gives the empty label, which routes to the default.
func (p *Plugin) Classifier(o StepOptions) (pipeline.QueryClassifier, error) {
	op, err := p.operation(abi.OpClassify, o)
	if err != nil {
		return nil, err
	}
	return classifier{op}, nil
}

type classifier struct{ o *operation }

func (c classifier) Isolated() {}

func (c classifier) Classify(ctx context.Context, q *pipeline.Query) (string, error) {
	var reply abi.ClassifyReply
	_, err := c.o.ask(ctx, abi.QueryRequest{Query: *abiQuery(q), Settings: c.o.settings}, &reply)
	return reply.Label, err
}

// Enricher returns the operation enrich_query as a pipeline.QueryEnricher. A
// guest without an answer leaves the query as it is.
func (p *Plugin) Enricher(o StepOptions) (pipeline.QueryEnricher, error) {
	op, err := p.operation(abi.OpEnrichQuery, o)
	if err != nil {
		return nil, err
	}
	return enricher{op}, nil
}

type enricher struct{ o *operation }

func (e enricher) Isolated() {}

func (e enricher) Enrich(ctx context.Context, query string, items []pipeline.Item) (string, error) {
	v := visible(items, e.o.scope)
	var reply abi.EnrichReply
	var r receipt
	defer r.done(e.o.plugin)
	changed, err := e.o.askItems(ctx, &r, v, &abi.Envelope{Query: &abi.Query{Text: query}}, &reply)
	if err != nil || !changed {
		return query, err
	}
	if reply.QueryText == "" {
		return query, e.o.invalid("query_str is empty (want the query text to go on with, or status 1 for no change)")
	}
	return reply.QueryText, nil
}

// MemoryProvider returns the operation memory as a pipeline.MemoryProvider.
func (p *Plugin) MemoryProvider(o StepOptions) (pipeline.MemoryProvider, error) {
	op, err := p.operation(abi.OpMemory, o)
	if err != nil {
		return nil, err
	}
	return memoryProvider{op}, nil
}

type memoryProvider struct{ o *operation }

func (m memoryProvider) Isolated() {}

func (m memoryProvider) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	var reply abi.MemoryReply
	var r receipt
	defer r.done(m.o.plugin)
	changed, err := m.o.askItems(ctx, &r, nil, &abi.Envelope{Query: abiQuery(q), TokensLeft: tokensLeft(ctx, nil)}, &reply)
	if err != nil || !changed {
		return nil, err
	}
	if err := m.o.check(&abi.Changes{Items: reply.Items}, 0); err != nil {
		return nil, m.o.refuse(err)
	}
	ctx, cancel := r.context(ctx)
	defer cancel()
	return m.o.counted(ctx, reply.Items)
}

// Compactor returns the operation compact as a pipeline.Compactor. A guest
// without an answer leaves the summary as it was.
func (p *Plugin) Compactor(o StepOptions) (pipeline.Compactor, error) {
	op, err := p.operation(abi.OpCompact, o)
	if err != nil {
		return nil, err
	}
	return compactor{op}, nil
}

type compactor struct{ o *operation }

func (c compactor) Isolated() {}

func (c compactor) Compact(ctx context.Context, turns []pipeline.Turn, previous string) (string, error) {
	var reply abi.CompactReply
	changed, err := c.o.ask(ctx, abi.CompactRequest{Turns: abiTurns(turns), Summary: previous, Settings: c.o.settings}, &reply)
	if err != nil || !changed {
		return previous, err
	}
	return reply.Summary, nil
}
