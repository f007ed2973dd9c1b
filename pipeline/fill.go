package pipeline

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// limits reports whether the budget caps any source.
func (b *Budget) limits() bool { return len(b.Allocations) > 0 || b.EnforceSharedPool }

// sourceCap is what a budget grants one source, or the sources of the shared pool
// together.
type sourceCap struct {
	strategy OverflowStrategy
	reason   OverflowReason
	limit    int // -1 is no limit
	total    int // tokens of all items of the source
	used     int // tokens of the admitted ones
}

// caps returns the cap of each source by its index. Sources without an allocation
// share one.
func (b *Budget) caps() [core.NumSources]*sourceCap {
	pool := &sourceCap{strategy: OverflowTruncate, reason: OverflowSharedPool, limit: -1}
	if b.EnforceSharedPool {
		pool.limit = b.SharedPool()
	}
	var caps [core.NumSources]*sourceCap
	for s := range caps {
		caps[s] = pool
	}
	for i := range b.Allocations {
		a := &b.Allocations[i]
		c := &sourceCap{strategy: OverflowTruncate, reason: OverflowSourceCap, limit: a.MaxTokens}
		if a.Overflow == OverflowDrop {
			c.strategy, c.reason = OverflowDrop, OverflowSourceDropped
		}
		caps[a.Source.Index()] = c
	}
	return caps
}

// admit reports whether an item of n tokens is within the cap, and the tokens that
// were left when it was tried.
func (c *sourceCap) admit(n int) (ok bool, available int) {
	switch {
	case c.limit < 0:
		return true, 0
	case c.strategy == OverflowDrop:
		return c.total <= c.limit, c.limit
	}
	available = c.limit - c.used
	if n > available {
		return false, available
	}
	c.used += n
	return true, available
}

// applyBudget takes the order of all items and returns that of those within the
// caps; the others overflow. Both come out grouped by source, sources in the order
// of their first item.
func (b *build) applyBudget(ctx context.Context, order []int32) ([]int32, error) {
	caps := b.p.budget.caps()
	var groups [core.NumSources][]int32 // by first appearance
	var rank [core.NumSources]int       // source -> its group + 1
	found := 0
	for _, i := range order {
		s := b.items[i].Source.Index()
		caps[s].total = values.Add(caps[s].total, b.counts[i])
		if rank[s] == 0 {
			found++
			rank[s] = found
		}
		groups[rank[s]-1] = append(groups[rank[s]-1], i)
	}
	within, err := b.withinCaps(ctx, order, &caps)
	if err != nil {
		return nil, err
	}
	accepted := make([]int32, 0, len(order))
	for _, group := range groups[:found] {
		for _, i := range group {
			if v := within[i]; v.ok {
				accepted = append(accepted, i)
			} else {
				b.rejectByBudget(i, caps[b.items[i].Source.Index()].reason, v.available)
			}
		}
	}
	return accepted, nil
}

type verdict struct {
	ok        bool
	available int
}

// withinCaps tries the items in order and returns a verdict for each by its index. The
// text of one that is not within its cap may be cut, but not one that is dropped.
func (b *build) withinCaps(ctx context.Context, order []int32, caps *[core.NumSources]*sourceCap) ([]verdict, error) {
	verdicts := make([]verdict, len(b.items))
	for _, i := range order {
		v, c := &verdicts[i], caps[b.items[i].Source.Index()]
		if v.ok, v.available = c.admit(b.counts[i]); v.ok || c.strategy == OverflowDrop {
			continue
		}
		cut, err := b.cutItem(ctx, i, v.available)
		if err != nil {
			return nil, err
		}
		if cut {
			v.ok, v.available = c.admit(b.counts[i])
		}
	}
	return verdicts, nil
}

func (b *build) rejectByBudget(i int32, reason OverflowReason, available int) {
	if b.diag.BudgetOverflowBySource == nil {
		b.diag.BudgetOverflowBySource = make(map[Source]int)
	}
	b.diag.BudgetOverflowBySource[b.items[i].Source]++
	b.reject(i, reason, available)
}

// describeWindow enters the filled window into the diagnostics.
func (b *build) describeWindow() {
	d, w := b.diag, b.window
	d.TotalItemsConsidered = len(b.items)
	d.ItemsIncluded = len(w.Items)
	d.ItemsOverflow = len(b.overflow)
	d.TokenUtilization = values.Round4(w.Utilization())
	if b.formatted {
		d.TokenUtilization = values.Round4(float64(b.counted) / float64(w.MaxTokens))
	}
	b.warnOfSystem()
	if b.p.budget == nil {
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
	for i := range b.p.budget.Allocations {
		pool -= used[b.p.budget.Allocations[i].Source.Index()]
	}
	d.SharedPoolUsage = pointer(pool)
}

// warnOfSystem warns of each system item that the window does not hold.
func (b *build) warnOfSystem() {
	for i := range b.overflow {
		o := &b.overflow[i]
		if o.Source != SourceSystem {
			continue
		}
		text := fmt.Sprintf("system prompt %q is not in the window: %s (%d tokens, %d available)", o.ID, o.Reason, o.TokenCount, o.Available)
		if o.TokenCount > b.window.MaxTokens {
			text = fmt.Sprintf("system prompt %q is not in the window: its %d tokens exceed the %d of the window (shorten it or raise max_tokens)", o.ID, o.TokenCount, b.window.MaxTokens)
		}
		b.diag.Warnings = append(b.diag.Warnings, text)
	}
}
