package host_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// step runs an operation on items, as a step of a build does.
type step struct {
	plugin *host.Plugin
	o      *host.Operation
	op     abi.Operation
}

func newStep(p *host.Plugin, op abi.Operation, o host.OperationOptions) (*step, error) {
	called, err := p.Operation(op, o)
	return &step{p, called, op}, err
}

// Run returns the items after the changes of the guest.
func (s *step) Run(ctx context.Context, q *abi.Query, items []abi.Item) ([]abi.Item, error) {
	a, err := s.o.Changes(ctx, abi.ItemRows(items), &abi.Envelope{Query: q})
	if err != nil {
		return nil, err
	}
	defer a.Release()
	c := a.Changes
	if c == nil {
		return items, nil
	}
	rows := slices.Clone(items)
	for i := range c.Edits {
		e := &c.Edits[i]
		it := &rows[e.Row]
		if e.Content != nil {
			it.Content, it.TokenCount = *e.Content, a.Tokens[i]
		}
		if e.Metadata != nil {
			it.Metadata = e.Metadata
		}
		if e.Priority != nil {
			it.Priority = *e.Priority
		}
	}
	for _, score := range c.Scores {
		rows[score.Row].Score = score.Score
	}
	for i := range c.Items {
		it := &c.Items[i]
		rows = append(rows, abi.Item{ID: s.plugin.Name() + ":" + it.Key, Content: it.Content, Source: it.Source, Score: it.Score, Priority: it.Priority,
			TokenCount: a.Tokens[len(c.Edits)+i], Metadata: it.Metadata})
	}
	order := c.Order
	if order == nil {
		order = c.Keep
	}
	if order == nil {
		if s.op == abi.OpRerank {
			slices.SortStableFunc(rows, func(a, b abi.Item) int { return cmp.Compare(b.Score, a.Score) })
			rows = rows[:min(len(rows), a.TopK)]
		}
		return rows, nil
	}
	var out []abi.Item
	for _, row := range order {
		out = append(out, rows[row])
	}
	if c.Order == nil {
		out = append(out, rows[len(items):]...)
	}
	return out, nil
}

// twoRows are two items.
func twoRows() []abi.Item {
	return []abi.Item{
		{ID: "a", Content: "one", Source: "retrieval", Score: 0.2, Priority: 5},
		{ID: "b", Content: "two", Source: "retrieval", Score: 0.1, Priority: 5},
	}
}

// benchRows are n items as a retriever returns them: 500 bytes of text, a score, four metadata values.
func benchRows(n int) []abi.Item {
	rows := make([]abi.Item, n)
	text := strings.Repeat("the quick brown fox jumps over it ", 15)[:500]
	for i := range rows {
		rows[i] = abi.Item{
			ID: fmt.Sprintf("doc-%d", i), Content: text, Source: "retrieval", Score: float64(i%100) / 100,
			Priority: 5, TokenCount: 120, CreatedAt: time.Unix(1_700_000_000, 0),
			Metadata: abi.Metadata{"path": "docs/a.md", "title": "A title", "lang": "en", "section": "intro"},
		}
	}
	return rows
}

var lanes = []host.Lane{host.LaneJSON, host.LaneBatch}
