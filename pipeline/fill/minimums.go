package fill

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// minimums returns the room that is kept for each source, by its index, and whether any is.
func (b *Budget) minimums() (least [core.NumSources]int, some bool) {
	if b == nil {
		return least, false
	}
	for i := range b.Allocations {
		if a := &b.Allocations[i]; a.MinTokens > 0 {
			least[a.Source.Index()], some = a.MinTokens, true
		}
	}
	return least, some
}

// kept is the room that is kept for each source while items are tried in order.
type kept struct {
	tokens  [core.NumSources]int // by source: what is kept of its minimum
	demand  [core.NumSources]int // by source: the tokens of its items that were not tried
	sum     int                  // of tokens
	free    int                  // tokens that no admitted item has
	pressed bool                 // the items together exceed the room
}

// newKept keeps as much of each minimum as the source has items for. If the room is too small
// for all minimums, the sources of the items that are tried first come first.
func newKept(least *[core.NumSources]int, items []core.Item, trial []int32, size func(int32) int, room int) *kept {
	k := &kept{free: room}
	var first []int // sources in the order of their first items
	total := 0
	for _, i := range trial {
		s, n := items[i].Source.Index(), size(i)
		if k.demand[s] == 0 && n > 0 {
			first = append(first, s)
		}
		k.demand[s] = values.Add(k.demand[s], n)
		total = values.Add(total, n)
	}
	if k.pressed = total > room; !k.pressed {
		return k
	}
	for _, s := range first {
		k.tokens[s] = max(0, min(least[s], k.demand[s], room-k.sum))
		k.sum += k.tokens[s]
	}
	return k
}

// available returns the free tokens that an item of a source may take.
func (k *kept) available(s int) int { return k.free - (k.sum - k.tokens[s]) }

// take admits n tokens of a source, and reports whether they are within its minimum.
func (k *kept) take(s, n int) (within bool) {
	within = n <= k.tokens[s]
	k.free -= n
	k.keep(s, max(0, k.tokens[s]-n))
	return within
}

// tried notes that the source has n tokens less to try, and frees what they alone needed.
func (k *kept) tried(s, n int) {
	k.demand[s] -= n
	k.keep(s, max(0, min(k.tokens[s], k.demand[s])))
}

func (k *kept) keep(s, n int) {
	k.sum += n - k.tokens[s]
	k.tokens[s] = n
}

// keepMinimums reorders the items of trial so that each source gets its minimum when they are
// tried one by one: first the items within the minimums, then the others that fit beside
// what is kept, at last the rest, for the room that nobody used. It returns trial itself if
// the budget has no minimums or all items fit. size returns the tokens of an item. An item
// that exceeds what it may take may be cut; resize then receives the tokens of its text. System
// items come before all others.
func (b *Filling) keepMinimums(ctx context.Context, trial []int32, size func(int32) int, resize func(i int32, tokens int), room int) ([]int32, error) {
	least, some := b.p.budget.minimums()
	if !some {
		return trial, nil
	}
	k := newKept(&least, b.Items, trial, size, room)
	if !k.pressed {
		return trial, nil
	}
	b.systemFirst(trial)
	k = newKept(&least, b.Items, trial, size, room)
	b.spared = make([]bool, len(b.Items))
	within, beside, rest := make([]int32, 0, len(trial)), make([]int32, 0, len(trial)), []int32(nil)
	for _, i := range trial {
		s, n := b.Items[i].Source.Index(), size(i)
		whole, available, system := n, k.available(s), b.Items[i].Source == core.SourceSystem
		if system {
			available = k.free // no other source keeps room from them
		}
		if n > available {
			tokens, cut, err := b.cutItem(ctx, i, available)
			if err != nil {
				return nil, err
			}
			if cut {
				resize(i, tokens)
				n = size(i)
			}
		}
		switch {
		case n > available:
			b.spared[i] = n <= k.free
			rest = append(rest, i)
		case k.take(s, n) || system:
			within = append(within, i)
		default:
			beside = append(beside, i)
		}
		k.tried(s, whole)
	}
	return append(append(within, beside...), rest...), nil
}
