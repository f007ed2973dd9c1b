package pipeline

import (
	"cmp"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// RetrieverStep returns a step that appends the items that r finds, duplicates included.
// topK 0 means [DefaultTopK]. The step is an [Appender].
func RetrieverStep(r Retriever, topK int) Step { return &retrieverStep{r, orTopK(topK)} }

type retrieverStep struct {
	retriever Retriever
	topK      int
}

func (s *retrieverStep) parts() []any     { return []any{s.retriever} }
func (s *retrieverStep) showsItems() bool { return false }

// Append implements [Appender].
func (s *retrieverStep) Append(ctx context.Context, q *Query, _ []Item) ([]Item, error) {
	return askFor(ctx, s.retriever, q, s.topK)
}

// Run implements [Step].
func (s *retrieverStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return runAppender(ctx, s, q, items)
}

// runAppender implements Run for an Appender.
func runAppender(ctx context.Context, a Appender, q *Query, items []Item) ([]Item, error) {
	more, err := a.Append(ctx, q, items)
	if err != nil {
		return nil, err
	}
	return appendItems(items, more), nil
}

// PostProcessorStep returns a step that replaces all items, system prompts included, with
// the items that p returns. Use [Scope] to pass it only some sources.
func PostProcessorStep(p PostProcessor) Step { return &postProcessorStep{p} }

type postProcessorStep struct{ processor PostProcessor }

func (s *postProcessorStep) parts() []any     { return []any{s.processor} }
func (s *postProcessorStep) showsItems() bool { return true }

// Run implements [Step].
func (s *postProcessorStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return s.processor.Process(ctx, q, items)
}

// FilterStep returns a step that keeps the items for which f reports true. f receives all
// items, system prompts included. Use [Scope] to pass it only some sources.
func FilterStep(f Filter) Step { return &filterStep{f} }

type filterStep struct{ filter Filter }

func (s *filterStep) parts() []any     { return []any{s.filter} }
func (s *filterStep) showsItems() bool { return true }

// Run implements [Step].
func (s *filterStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	keep, err := s.filter.Filter(ctx, q, items)
	if err != nil {
		return nil, err
	}
	if len(keep) != len(items) {
		return nil, fmt.Errorf("filter: %d answers for %d items: %w", len(keep), len(items), ErrInvalid)
	}
	return keepItems(items, keep), nil
}

// keepItems returns the items to keep. It returns items itself when all of them stay.
func keepItems(items []Item, keep []bool) []Item {
	kept := 0
	for _, k := range keep {
		if k {
			kept++
		}
	}
	if kept == len(items) {
		return items
	}
	out := make([]Item, 0, kept)
	for i, k := range keep {
		if k {
			out = append(out, items[i])
		}
	}
	return out
}

// FilterFunc returns a step that keeps the items for which keep returns true.
func FilterFunc(keep func(it *Item) bool) Step { return FilterStep(filterFunc(keep)) }

type filterFunc func(it *Item) bool

// Filter implements [Filter].
func (f filterFunc) Filter(_ context.Context, _ *Query, items []Item) ([]bool, error) {
	keep := make([]bool, len(items))
	for i := range items {
		keep[i] = f(&items[i])
	}
	return keep, nil
}

// RerankerStep returns a step that replaces all items, system prompts included, with the
// first topK items that r returns. topK 0 means [DefaultTopK]. Use [Scope] to pass it only
// some sources.
func RerankerStep(r Reranker, topK int) Step { return &rerankerStep{r, orTopK(topK)} }

type rerankerStep struct {
	reranker Reranker
	topK     int
}

func (s *rerankerStep) parts() []any     { return []any{s.reranker} }
func (s *rerankerStep) showsItems() bool { return true }

// Run implements [Step].
func (s *rerankerStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	out, err := s.reranker.Rerank(ctx, q, items, s.topK)
	if err == nil && len(out) > s.topK {
		out = out[:s.topK]
	}
	return out, err
}

// QueryTransformStep returns a step that retrieves topK items for each variant of the
// query, several at the same time, merges the lists with [Fuse], and appends the best topK
// whose id is not in the list yet. A variant whose retrieval fails is logged at WARN and
// left out. If all fail, the step fails. topK 0 means [DefaultTopK].
func QueryTransformStep(t QueryTransformer, r Retriever, topK int) Step {
	return &transformStep{t, r, orTopK(topK)}
}

type transformStep struct {
	transformer QueryTransformer
	retriever   Retriever
	topK        int
}

func (s *transformStep) parts() []any     { return []any{s.transformer, s.retriever} }
func (s *transformStep) showsItems() bool { return false }

// Run implements [Step].
func (s *transformStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	variants, err := s.transformer.TransformQuery(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("transform query: %w", err)
	}
	asked := make([]retrieval, len(variants))
	for i := range variants {
		asked[i] = retrieval{name: variants[i].Text, retriever: s.retriever, query: variants[i].Clone(), topK: s.topK}
	}
	lists, _, _, err := retrieveAll(ctx, "variant", asked)
	if err != nil {
		return nil, err
	}
	fused, err := Fuse(lists, FuseOptions{TopK: s.topK})
	if err != nil {
		return nil, err
	}
	return appendItems(items, withoutKnown(fused, items)), nil
}

// withoutKnown returns those of more whose id does not occur in items.
func withoutKnown(more, items []Item) []Item {
	known := make(map[string]bool, len(items))
	for i := range items {
		known[items[i].ID] = true
	}
	out := make([]Item, 0, len(more))
	for _, it := range more {
		if !known[it.ID] {
			out = append(out, it)
		}
	}
	return out
}

// ClassifiedStep returns a step that asks c for a label and appends the items that the
// retriever of that label finds. A label without a retriever uses that of the label def.
// Without either, the step fails with [ErrNoRetriever]. topK 0 means [DefaultTopK]. The step
// is an [Appender].
//
// In a pipeline, the timeout of the step bounds the call of the classifier, and again the
// call of the retriever. If the step may be skipped and c fails, the step uses the
// retriever of the label def, and diagnostics show [ClassifierPart] as skipped.
func ClassifiedStep(c QueryClassifier, routes map[string]Retriever, def string, topK int) Step {
	s := &classifiedStep{classifier: c, routes: make(map[string]Retriever, len(routes)), def: def, topK: orTopK(topK)}
	for label, r := range routes {
		s.routes[label] = r
	}
	return s
}

type classifiedStep struct {
	classifier QueryClassifier
	routes     map[string]Retriever
	def        string
	topK       int
	policy     policy
}

func (s *classifiedStep) parts() []any {
	parts := []any{s.classifier}
	for _, r := range s.routes {
		parts = append(parts, r)
	}
	return parts
}

func (s *classifiedStep) showsItems() bool { return false }

// unclassifiedError is the failure of a classifier whose step returns the items of the
// default route.
type unclassifiedError struct{ error }

func (e unclassifiedError) Unwrap() error { return e.error }

// Append implements [Appender]. The items are also valid if the error is an
// [unclassifiedError].
func (s *classifiedStep) Append(ctx context.Context, q *Query, _ []Item) ([]Item, error) {
	label, err := s.classify(ctx, q)
	if err == nil {
		return s.retrieve(ctx, q, label)
	}
	if s.policy.onError != Skip || s.routes[s.def] == nil || ctx.Err() != nil {
		return nil, err
	}
	found, routeErr := s.retrieve(ctx, q, s.def)
	if routeErr = cmp.Or(routeErr, core.ValidateItems(found)); routeErr != nil {
		return nil, fmt.Errorf("%w; default route: %w", err, routeErr)
	}
	return found, unclassifiedError{err}
}

func (s *classifiedStep) classify(ctx context.Context, q *Query) (string, error) {
	if s.policy.timeout > 0 && !isolated(s.classifier) { // an abandoned classifier may go on using the query
		own := q.Clone()
		q = &own
	}
	label, err := within(ctx, s.policy.timeout, s.classifier, func(ctx context.Context) (string, error) { return s.classifier.Classify(ctx, q) })
	if err != nil {
		return "", fmt.Errorf("classify query: %w", err)
	}
	return label, nil
}

// retrieve calls the retriever of a label.
func (s *classifiedStep) retrieve(ctx context.Context, q *Query, label string) ([]Item, error) {
	r := s.routes[label]
	if r == nil {
		r = s.routes[s.def]
	}
	if r == nil {
		return nil, fmt.Errorf("label %q: %w (route it, or give a default)", label, ErrNoRetriever)
	}
	return within(ctx, s.policy.timeout, r, func(ctx context.Context) ([]Item, error) { return askFor(ctx, r, q, s.topK) })
}

// Run implements [Step].
func (s *classifiedStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	return runAppender(ctx, s, q, items)
}
