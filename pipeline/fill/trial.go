package fill

import (
	"context"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// gauge measures a window while it is filled.
type gauge interface {
	// try admits the items if the window with them is within its tokens.
	try(ctx context.Context, batch []int32) (bool, error)
	// left returns the number of free tokens.
	left() int
	// hopeless reports whether an item certainly does not fit.
	hopeless(ctx context.Context, i int32) (bool, error)
	// likely returns how many of the items will probably fit together. It is at least 1.
	likely(trial []int32) int
}

// fill is a window that is being filled by a strategy.
type fill struct {
	b     *Filling
	order []int32 // candidates by priority
	value Diagnostic
}

// fillBy fills the window with the items that the strategy, the way to measure and the
// options select. order has all items that are within the caps of the budget.
func (b *Filling) fillBy(ctx context.Context, order []int32) error {
	f := &fill{b: b, order: order}
	if b.p.fit == FitExact {
		return f.exactly(ctx)
	}
	g := &itemGauge{b: b, room: b.room(), taken: make([]bool, len(b.Items))}
	trial, err := f.plan(ctx, b.Counts, nil, g.room)
	if err != nil {
		return err
	}
	misfits, err := f.admit(ctx, g, trial)
	if err != nil {
		return err
	}
	f.finish(g.taken, misfits)
	return nil
}

// misfit is an item that did not fit when it was tried.
type misfit struct {
	index     int32
	available int
}

// plan asks the strategy for the order of trying, as indices of items. overhead, if not
// nil, returns the tokens that an item takes besides its own.
func (f *fill) plan(ctx context.Context, counts []int, overhead func(*core.Item) int, room int) ([]int32, error) {
	c := make([]Candidate, len(f.order))
	for place, i := range f.order {
		c[place] = Candidate{Tokens: counts[i], Value: ItemValue(&f.b.Items[i])}
	}
	f.value.Bound = fractionalOptimum(c, room)
	if overhead != nil {
		for place, i := range f.order {
			c[place].Tokens = values.Add(c[place].Tokens, overhead(&f.b.Items[i]))
		}
	}
	trial, note, err := tryOrder(ctx, f.b.p.strategy, c, room)
	f.value.Note = note
	if err != nil {
		return nil, err
	}
	for place, at := range trial {
		trial[place] = f.order[at]
	}
	size := func(i int32) int {
		if overhead == nil {
			return counts[i]
		}
		return values.Add(counts[i], overhead(&f.b.Items[i]))
	}
	resize := func(i int32, tokens int) {
		if f.b.p.fit == FitExact { // other counts are those of the items, which a cut changes
			counts[i] = tokens
		}
	}
	f.b.systemFirst(trial)
	return f.b.keepMinimums(ctx, trial, size, resize, room)
}

// reason says why an item that was tried is not in the window.
func (f *fill) reason(i int32) core.OverflowReason {
	if f.b.spared != nil && f.b.spared[i] {
		return core.OverflowMinimums
	}
	return core.OverflowWindow
}

// admit tries the items in order, as many at once as will probably fit. When they do not
// fit, it halves the number until it has found the item that does not fit.
func (f *fill) admit(ctx context.Context, g gauge, trial []int32) ([]misfit, error) {
	var misfits []misfit
	step := len(trial)
	for len(trial) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, ok := 1, false
		hopeless, err := g.hopeless(ctx, trial[0])
		if err == nil && !hopeless {
			n = g.likely(trial[:min(step, len(trial))])
			ok, err = g.try(ctx, trial[:n])
		}
		if err != nil {
			return nil, err
		}
		switch {
		case ok:
			trial, step = trial[n:], max(step, 2*n)
		case n > 1:
			step = n / 2
		default:
			available := g.left()
			ok, err := f.cut(ctx, g, trial[0])
			if err != nil {
				return nil, err
			}
			if !ok {
				misfits = append(misfits, misfit{trial[0], available})
			}
			trial, step = trial[1:], max(step, 1)
		}
	}
	return misfits, nil
}

// cut tries the beginning of an item that does not fit, shorter each time. If no beginning
// fits, it restores the item, including an earlier cut by the cap of its source.
func (f *fill) cut(ctx context.Context, g gauge, i int32) (bool, error) {
	b := f.b
	found, before := b.Items[i], b.Counts[i]
	for limit, try := g.left(), 0; limit > 0 && try < cutTries; try++ {
		_, ok, err := b.cutItem(ctx, i, limit)
		if err != nil || !ok {
			return false, err
		}
		if ok, err = g.try(ctx, []int32{i}); ok || err != nil {
			return ok, err
		}
		limit = min(limit, b.Counts[i]) - 1 - try*try
		b.Items[i], b.Counts[i] = found, before
	}
	return false, nil
}

// finish makes the window from the admitted items, in its order, and adds the misfits to the
// overflow.
func (f *fill) finish(taken []bool, misfits []misfit) {
	b := f.b
	picked := f.picked(taken)
	b.Window = &core.Window{Items: make([]core.Item, 0, len(picked)), MaxTokens: b.p.maxTokens, Fixed: b.Fixed}
	b.Overflow = slices.Grow(b.Overflow, len(misfits))
	for _, i := range picked {
		b.admit(i)
		value := ItemValue(&b.Items[i])
		if b.isCut(i) {
			before := b.uncut[i]
			f.value.Truncated = append(f.value.Truncated, TruncatedItem{b.Items[i].ID, before, b.Counts[i]})
			value *= min(1, float64(b.Counts[i])/float64(max(before, 1)))
		}
		f.value.Value += value
	}
	for _, m := range misfits {
		b.reject(m.index, f.reason(m.index), m.available)
	}
	f.value.Strategy, f.value.Fit = b.p.strategy.Name(), b.p.fit
	f.value.Bound = max(f.value.Bound, f.value.Value)
	if f.value.Bound > 0 {
		f.value.Gap = values.Round4(1 - f.value.Value/f.value.Bound)
	}
	b.Diagnostic = &f.value
}

// picked returns the admitted items in the order in which they are written.
func (f *fill) picked(taken []bool) []int32 {
	picked := make([]int32, 0, len(f.order))
	for _, i := range f.order {
		if taken[i] {
			picked = append(picked, i)
		}
	}
	f.b.p.order.Arrange(f.b.Items, picked)
	return picked
}

func (b *Filling) isCut(i int32) bool {
	return b.whole != nil && len(b.Items[i].Content) != len(b.whole[i].Content)
}

// itemGauge adds up the counts of items.
type itemGauge struct {
	b     *Filling
	room  int
	taken []bool
}

func (g *itemGauge) left() int { return g.room }

func (g *itemGauge) hopeless(_ context.Context, i int32) (bool, error) {
	return g.b.Counts[i] > g.room, nil
}

func (g *itemGauge) likely([]int32) int { return 1 }

func (g *itemGauge) try(_ context.Context, batch []int32) (bool, error) {
	i := batch[0]
	if g.b.Counts[i] > g.room {
		return false, nil
	}
	g.room -= g.b.Counts[i]
	g.taken[i] = true
	return true, nil
}
