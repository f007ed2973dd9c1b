package pipeline

import (
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// describeWindow writes the numbers of the filled window into the diagnostics.
func (b *build) describeWindow() {
	d, w := b.diag, b.filling.Window
	d.TotalItemsConsidered = len(b.list.items)
	d.ItemsIncluded = len(w.Items)
	d.ItemsOverflow = len(b.filling.Overflow)
	d.TokenUtilization = values.Round4(w.Utilization())
	if b.filling.Counting != nil {
		d.TokenUtilization = values.Round4(float64(b.filling.Counted) / float64(w.MaxTokens))
	}
	if b.writer.filler.Budget() == nil {
		return
	}
	var used [core.NumSources]int
	var present [core.NumSources]bool
	for i := range w.Items {
		s := w.Items[i].Source.Index()
		used[s] += w.Items[i].TokenCount
		present[s] = true
	}
	d.TokenUsageBySource = make(map[Source]int)
	pool := w.UsedTokens
	for s, source := range Sources {
		if present[s] {
			d.TokenUsageBySource[source] = used[s]
		}
	}
	for i := range b.writer.filler.Budget().Allocations {
		pool -= used[b.writer.filler.Budget().Allocations[i].Source.Index()]
	}
	d.SharedPoolUsage = pointer(pool)
}

// keepsSystem returns an error if a system item is not in the window: an answer without its
// instructions is worse than none.
func (b *build) keepsSystem() error {
	var out *OverflowItem
	needed, used := 0, 0
	for i := range b.filling.Overflow {
		if o := &b.filling.Overflow[i]; o.Source == SourceSystem {
			if needed = values.Add(needed, o.TokenCount); out == nil {
				out = o
			}
		}
	}
	if out == nil {
		return nil
	}
	for i := range b.filling.Window.Items {
		if it := &b.filling.Window.Items[i]; it.Source == SourceSystem {
			used += it.TokenCount
		}
	}
	return fmt.Errorf("system items take %d tokens, and there is room for %d: %q is not in the window (%s): %w (shorten them, raise max_tokens, or give the source system more of the budget)",
		values.Add(needed, used), values.Add(used, out.Available), out.ID, out.Reason, ErrBudget)
}
