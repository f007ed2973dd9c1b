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
	b.warnOfSystem()
	if b.p.filler.Budget() == nil {
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
	for i := range b.p.filler.Budget().Allocations {
		pool -= used[b.p.filler.Budget().Allocations[i].Source.Index()]
	}
	d.SharedPoolUsage = pointer(pool)
}

// warnOfSystem adds a warning for each system item that is not in the window.
func (b *build) warnOfSystem() {
	for i := range b.filling.Overflow {
		o := &b.filling.Overflow[i]
		if o.Source != SourceSystem {
			continue
		}
		text := fmt.Sprintf("system prompt %q is not in the window: %s (%d tokens, %d available)", o.ID, o.Reason, o.TokenCount, o.Available)
		if o.TokenCount > b.filling.Window.MaxTokens {
			text = fmt.Sprintf("system prompt %q is not in the window: its %d tokens exceed the %d of the window (shorten it or raise max_tokens)", o.ID, o.TokenCount, b.filling.Window.MaxTokens)
		}
		b.diag.Warnings = append(b.diag.Warnings, text)
	}
}
