package fill

import (
	"context"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// limits reports whether the budget caps any source.
func (b *Budget) limits() bool {
	return b.EnforceSharedPool || slices.ContainsFunc(b.Allocations, func(a Allocation) bool { return a.MaxTokens > 0 })
}

// sourceCap is the cap of one source, or of all sources of the shared pool together.
type sourceCap struct {
	strategy OverflowStrategy
	reason   core.OverflowReason
	limit    int // -1 is no limit
	total    int // tokens of all items of the source
	used     int // tokens of the admitted items
}

// caps returns the cap of each source by its index. All sources without an allocation
// have the same one.
func (b *Budget) caps() [core.NumSources]*sourceCap {
	pool := &sourceCap{strategy: OverflowTruncate, reason: core.OverflowSharedPool, limit: -1}
	if b.EnforceSharedPool {
		pool.limit = b.SharedPool()
	}
	var caps [core.NumSources]*sourceCap
	for s := range caps {
		caps[s] = pool
	}
	for i := range b.Allocations {
		a := &b.Allocations[i]
		c := &sourceCap{strategy: OverflowTruncate, reason: core.OverflowSourceCap, limit: a.MaxTokens}
		if a.MaxTokens == 0 {
			c.limit = -1
		} else if a.Overflow == OverflowDrop {
			c.strategy, c.reason = OverflowDrop, core.OverflowSourceDropped
		}
		caps[a.Source.Index()] = c
	}
	return caps
}

// admit reports whether an item of n tokens is within the cap, and how many tokens were
// free before.
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

// applyBudget takes all items in order and returns those within the caps; the others
// overflow. It groups both by source, in the order in which the sources first appear.
func (b *Filling) applyBudget(ctx context.Context, order []int32) ([]int32, error) {
	caps := b.p.budget.caps()
	var groups [core.NumSources][]int32 // by first appearance
	var rank [core.NumSources]int       // source -> its group + 1
	found := 0
	for _, i := range order {
		s := b.Items[i].Source.Index()
		caps[s].total = values.Add(caps[s].total, b.Counts[i])
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
				b.rejectByBudget(i, caps[b.Items[i].Source.Index()].reason, v.available)
			}
		}
	}
	return accepted, nil
}

type verdict struct {
	ok        bool
	available int
}

// withinCaps tries the items in order and returns a verdict for each by its index. It may
// cut the text of an item that exceeds the cap, unless the source has the strategy drop.
func (b *Filling) withinCaps(ctx context.Context, order []int32, caps *[core.NumSources]*sourceCap) ([]verdict, error) {
	verdicts := make([]verdict, len(b.Items))
	for _, i := range order {
		v, c := &verdicts[i], caps[b.Items[i].Source.Index()]
		if v.ok, v.available = c.admit(b.Counts[i]); v.ok || c.strategy == OverflowDrop {
			continue
		}
		_, cut, err := b.cutItem(ctx, i, v.available)
		if err != nil {
			return nil, err
		}
		if cut {
			v.ok, v.available = c.admit(b.Counts[i])
		}
	}
	return verdicts, nil
}

func (b *Filling) rejectByBudget(i int32, reason core.OverflowReason, available int) {
	if b.OverBudget == nil {
		b.OverBudget = make(map[core.Source]int)
	}
	b.OverBudget[b.Items[i].Source]++
	b.reject(i, reason, available)
}
