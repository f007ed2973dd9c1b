package steps

import (
	"context"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// Retriever returns the operation retrieve as a pipeline.Retriever, for query
// transform and classified steps.
func Retriever(p *host.Plugin, o Options) (pipeline.Retriever, error) {
	op, err := prepare(p, abi.OpRetrieve, o)
	if err != nil {
		return nil, err
	}
	return retriever{op}, nil
}

// PostProcessor returns the operation process as a pipeline.PostProcessor.
func PostProcessor(p *host.Plugin, o Options) (pipeline.PostProcessor, error) {
	op, err := prepare(p, abi.OpProcess, o)
	if err != nil {
		return nil, err
	}
	return postProcessor{op}, nil
}

type postProcessor struct{ o *operation }

func (p postProcessor) Isolated() {}

func (p postProcessor) Process(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return (&changeStep{o: p.o}).Run(ctx, q, items)
}

// Reranker returns the operation rerank as a pipeline.Reranker.
func Reranker(p *host.Plugin, o Options) (pipeline.Reranker, error) {
	op, err := prepare(p, abi.OpRerank, o)
	if err != nil {
		return nil, err
	}
	return reranker{op}, nil
}

type reranker struct{ o *operation }

func (r reranker) Isolated() {}

func (r reranker) Rerank(ctx context.Context, q *pipeline.Query, items []pipeline.Item, topK int) ([]pipeline.Item, error) {
	return (&changeStep{r.o, max(0, topK)}).Run(ctx, q, items)
}

// Filter returns the operation filter as a pipeline.Filter. Items outside of the scope
// stay.
func Filter(p *host.Plugin, o Options) (pipeline.Filter, error) {
	op, err := prepare(p, abi.OpFilter, o)
	if err != nil {
		return nil, err
	}
	return filter{op}, nil
}

type filter struct{ o *operation }

func (f filter) Isolated() {}

func (f filter) Filter(ctx context.Context, q *pipeline.Query, items []pipeline.Item) ([]bool, error) {
	v := visible(items, f.o.scope)
	query, err := f.o.abiQuery(ctx, q)
	if err == nil {
		err = v.addVectors(ctx, f.o.Reads())
	}
	if err != nil {
		return nil, err
	}
	answer, err := f.o.Changes(ctx, v, &abi.Envelope{Query: query, TokensLeft: tokensLeft(ctx, items)})
	if err != nil {
		return nil, err
	}
	defer answer.Release()
	c := answer.Changes
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

// QueryTransformer returns the operation transform_query as a pipeline.QueryTransformer. If
// the guest answers that nothing changes, the query is the only variant.
func QueryTransformer(p *host.Plugin, o Options) (pipeline.QueryTransformer, error) {
	op, err := prepare(p, abi.OpTransformQuery, o)
	if err != nil {
		return nil, err
	}
	return queryTransformer{op}, nil
}

type queryTransformer struct{ o *operation }

func (t queryTransformer) Isolated() {}

func (t queryTransformer) TransformQuery(ctx context.Context, q *pipeline.Query) ([]pipeline.Query, error) {
	var reply abi.TransformReply
	query, err := t.o.guestQuery(ctx, q)
	if err != nil {
		return nil, err
	}
	changed, err := t.o.Ask(ctx, abi.QueryRequest{Query: query, Settings: t.o.Settings()}, &reply)
	switch {
	case err != nil:
		return nil, err
	case !changed:
		return []pipeline.Query{*q}, nil
	}
	out := make([]pipeline.Query, len(reply.Queries))
	for i := range reply.Queries {
		out[i] = hostQuery(&reply.Queries[i], q)
		if err := out[i].Validate(); err != nil {
			return nil, t.o.refuse("queries[%d]: %w", i, err)
		}
	}
	return out, nil
}

// Classifier returns the operation classify as a pipeline.QueryClassifier. If the guest
// gives no label, the label is empty, which selects the default route.
func Classifier(p *host.Plugin, o Options) (pipeline.QueryClassifier, error) {
	op, err := prepare(p, abi.OpClassify, o)
	if err != nil {
		return nil, err
	}
	return classifier{op}, nil
}

type classifier struct{ o *operation }

func (c classifier) Isolated() {}

func (c classifier) Classify(ctx context.Context, q *pipeline.Query) (string, error) {
	var reply abi.ClassifyReply
	query, err := c.o.guestQuery(ctx, q)
	if err != nil {
		return "", err
	}
	_, err = c.o.Ask(ctx, abi.QueryRequest{Query: query, Settings: c.o.Settings()}, &reply)
	return reply.Label, err
}

// Enricher returns the operation enrich_query as a pipeline.QueryEnricher. If the guest
// answers that nothing changes, the query stays as it is.
func Enricher(p *host.Plugin, o Options) (pipeline.QueryEnricher, error) {
	op, err := prepare(p, abi.OpEnrichQuery, o)
	if err != nil {
		return nil, err
	}
	return enricher{op}, nil
}

type enricher struct{ o *operation }

func (e enricher) Isolated() {}

func (e enricher) Enrich(ctx context.Context, query string, items []pipeline.Item) (string, error) {
	v := visible(items, e.o.scope)
	asked, err := e.o.abiQuery(ctx, &pipeline.Query{Text: query})
	if err == nil {
		err = v.addVectors(ctx, e.o.Reads())
	}
	if err != nil {
		return query, err
	}
	var reply abi.EnrichReply
	changed, err := e.o.AskItems(ctx, v, &abi.Envelope{Query: asked}, &reply)
	if err != nil || !changed {
		return query, err
	}
	return reply.QueryText, nil
}

// Memory returns the operation memory as a pipeline.MemoryProvider.
func Memory(p *host.Plugin, o Options) (pipeline.MemoryProvider, error) {
	op, err := prepare(p, abi.OpMemory, o)
	if err != nil {
		return nil, err
	}
	return memoryProvider{op}, nil
}

type memoryProvider struct{ o *operation }

func (m memoryProvider) Isolated() {}

func (m memoryProvider) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	return m.o.added(ctx, q, &abi.Envelope{TokensLeft: tokensLeft(ctx, nil)})
}

// Extractor returns the operation extract as a memory.Extractor. It refuses an answer about
// facts that are not in the request.
func Extractor(p *host.Plugin, o Options) (memory.Extractor, error) {
	op, err := prepare(p, abi.OpExtract, o)
	if err != nil {
		return nil, err
	}
	return extractor{op}, nil
}

type extractor struct{ o *operation }

func (e extractor) Extract(ctx context.Context, turns []pipeline.Turn, known []memory.Entry) (memory.Extraction, error) {
	request := abi.ExtractRequest{Turns: abiTurns(turns), Facts: make([]abi.Fact, len(known)), Settings: e.o.Settings()}
	for i := range known {
		k := &known[i]
		request.Facts[i] = abi.Fact{
			ID: k.ID, Content: k.Content, Type: string(k.Type), Tags: k.Tags, Relevance: k.Relevance,
			CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt, Metadata: k.Metadata,
		}
	}
	if !e.o.Parts().Has(abi.PartFacts) {
		request.Facts = []abi.Fact{}
	}
	var reply abi.ExtractReply
	changed, err := e.o.Ask(ctx, request, &reply)
	if err != nil || !changed {
		return memory.Extraction{}, err
	}
	if err := reply.Check(request.Facts); err != nil {
		return memory.Extraction{}, e.o.refuse("%w", err)
	}
	out := memory.Extraction{Remove: reply.Remove}
	for _, f := range reply.Add {
		out.Add = append(out.Add, memory.Entry{
			Content: f.Content, Type: memory.Type(f.Type), Tags: f.Tags, Relevance: f.Relevance, Metadata: f.Metadata,
		})
	}
	for _, f := range reply.Update {
		out.Update = append(out.Update, memory.Edit{ID: f.ID, Content: f.Content, Tags: f.Tags})
	}
	return out, nil
}

// Compactor returns the operation compact as a pipeline.Compactor. If the guest answers
// that nothing changes, the summary stays as it was.
func Compactor(p *host.Plugin, o Options) (pipeline.Compactor, error) {
	op, err := prepare(p, abi.OpCompact, o)
	if err != nil {
		return nil, err
	}
	return compactor{op}, nil
}

type compactor struct{ o *operation }

func (c compactor) Isolated() {}

func (c compactor) Compact(ctx context.Context, turns []pipeline.Turn, previous string) (string, error) {
	var reply abi.CompactReply
	changed, err := c.o.Ask(ctx, abi.CompactRequest{Turns: abiTurns(turns), Summary: previous, Settings: c.o.Settings()}, &reply)
	if err != nil || !changed {
		return previous, err
	}
	return reply.Summary, nil
}
