package pipeline

import (
	"context"
	"slices"
)

// ContextSources are the sources that a filter or reranker usually works on: items that
// were found or made for this query. System prompts, memory and conversation are not among
// them.
var ContextSources = []Source{SourceRetrieval, SourceTool, SourceUser}

// Scope returns a step that shows s only the items of the given sources. The other items
// keep their places. The items that s returns fill the places of those that it received, in
// its order; items beyond that number go to the end of the list. Use Scope to protect system
// prompts and conversation from filters and rerankers, which otherwise receive the whole
// list.
func Scope(s Step, sources ...Source) Step {
	return &scopedStep{step: s, sources: slices.Clone(sources)}
}

type scopedStep struct {
	step    Step
	sources []Source
}

func (s *scopedStep) parts() []any     { return []any{s.step} }
func (s *scopedStep) showsItems() bool { return true }

// Run implements [Step].
func (s *scopedStep) Run(ctx context.Context, q *Query, items []Item) ([]Item, error) {
	visible := make([]Item, 0, len(items))
	for i := range items {
		if slices.Contains(s.sources, items[i].Source) {
			visible = append(visible, items[i])
		}
	}
	answer, err := s.step.Run(ctx, q, visible)
	if err != nil {
		return nil, err
	}
	out := make([]Item, 0, len(items)-len(visible)+len(answer))
	for i := range items {
		if !slices.Contains(s.sources, items[i].Source) {
			out = append(out, items[i])
		} else if len(answer) > 0 {
			out, answer = append(out, answer[0]), answer[1:]
		}
	}
	return append(out, answer...), nil
}
