package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
)

// The settings of the built-in steps.
type (
	filterSettings struct {
		MinScore float64  `key:"min_score" min:"0" max:"1"`
		MaxScore *float64 `key:"max_score" min:"0" max:"1"`
		Sources  []string `key:"sources" enum:"retrieval,memory,user,tool,conversation"`
	}
	minScoreSettings struct {
		MinScore float64 `key:"min_score,required" min:"0" max:"1"`
	}
	sortSettings struct {
		By    string `key:"by" enum:"score,priority,created_at,token_count"`
		Order string `key:"order" enum:"desc,asc"`
	}
	noSettings struct{}
)

// builtin makes a built-in step. Like a plugin that filters or reranks, it sees only retrieved
// items unless the step states a scope.
func builtin(s *config.Step) (pipeline.Step, error) {
	change, err := builtinChange(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, s.Builtin(), err)
	}
	scope := pipeline.ContextSources
	if len(s.Scope) > 0 {
		scope = sources(s.Scope)
	}
	return pipeline.Scope(builtinStep{change}, scope...), nil
}

// builtinStep runs a change on a copy of the list.
type builtinStep struct {
	change func([]pipeline.Item) []pipeline.Item
}

// Run returns the changed copy.
func (b builtinStep) Run(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return b.change(slices.Clone(items)), nil
}

// Isolated declares that the step does not change its input.
func (builtinStep) Isolated() {}

// builtinChange returns the function that a built-in applies to the items of its scope. The
// function may change its argument.
func builtinChange(s *config.Step) (func([]pipeline.Item) []pipeline.Item, error) {
	topK := s.TopK
	if topK == 0 {
		topK = pipeline.DefaultTopK
	}
	first := func(items []pipeline.Item) []pipeline.Item { return items[:min(topK, len(items))] }
	switch s.Builtin() {
	case "filter":
		var set filterSettings
		return set.keep, decodeSettings(s, &set)
	case "min_score":
		var set minScoreSettings
		return func(items []pipeline.Item) []pipeline.Item {
			return (&filterSettings{MinScore: set.MinScore}).keep(items)
		}, decodeSettings(s, &set)
	case "rerank":
		return func(items []pipeline.Item) []pipeline.Item { return first((&sortSettings{}).sort(items)) }, decodeSettings(s, &noSettings{})
	case "sort":
		var set sortSettings
		return set.sort, decodeSettings(s, &set)
	case "top_k":
		return first, decodeSettings(s, &noSettings{})
	default: // dedupe_ids; decoding has refused all others
		return dedupeIDs, decodeSettings(s, &noSettings{})
	}
}

// decodeSettings fills the settings of a built-in step.
func decodeSettings(s *config.Step, into any) error {
	err := strict.DecodeAny("settings", s.Settings, into)
	var problems strict.Problems
	if errors.As(err, &problems) {
		return problems[0]
	}
	return err
}

func (s *filterSettings) keep(items []pipeline.Item) []pipeline.Item {
	return slices.DeleteFunc(items, func(it pipeline.Item) bool {
		return it.Score < s.MinScore || s.MaxScore != nil && it.Score > *s.MaxScore ||
			len(s.Sources) > 0 && !slices.Contains(s.Sources, string(it.Source))
	})
}

// sort orders the items, best or newest first unless the order is asc.
func (s *sortSettings) sort(items []pipeline.Item) []pipeline.Item {
	slices.SortStableFunc(items, func(a, b pipeline.Item) int {
		var c int
		switch s.By {
		case "priority":
			c = cmp.Compare(b.Priority, a.Priority)
		case "created_at":
			c = b.CreatedAt.Compare(a.CreatedAt)
		case "token_count":
			c = cmp.Compare(b.TokenCount, a.TokenCount)
		default:
			c = cmp.Compare(b.Score, a.Score)
		}
		if s.Order == "asc" {
			return -c
		}
		return c
	})
	return items
}

// dedupeIDs keeps the first item of every id.
func dedupeIDs(items []pipeline.Item) []pipeline.Item {
	seen := make(map[string]bool, len(items))
	return slices.DeleteFunc(items, func(it pipeline.Item) bool {
		again := seen[it.ID]
		seen[it.ID] = true
		return again
	})
}
