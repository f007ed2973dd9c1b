package fill

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Filling is one window and the items that compete for it. It belongs to one goroutine.
type Filling struct {
	// Items compete for the window. If the options allow cutting, Fill cuts texts in a
	// copy of this list.
	Items []core.Item
	// Counts are the tokens of the items. Fill changes the counts of texts that it cuts.
	Counts []int
	// Fixed has the query and the tools. The window has room for them before any item.
	Fixed core.Fixed
	// Began is the time that Fill gives to items without one.
	Began time.Time
	// Watcher receives each verdict. It may be nil.
	Watcher Watcher

	// Window holds the items that fit. Fill makes a new one.
	Window *core.Window
	// Overflow lists the other items: first those that the budget excluded. It is not nil.
	Overflow []core.OverflowItem
	// OverBudget is the number of items of each source that the budget excluded. It is nil
	// if there are none.
	OverBudget map[core.Source]int
	// Diagnostic says how good the selection is. It is nil when the defaults decided.
	Diagnostic *Diagnostic
	// Formatted is the formatted window. Counted is its number of tokens, and Counting says how
	// they were counted. Fill sets all of them with FitExact only; Counting is then not nil.
	core.Formatted
	Counted  int
	Counting *Counting

	p      *Filler
	whole  []core.Item // items before some were cut, nil when none was
	uncut  []int       // counts before that
	spared []bool      // by item: its room was kept for other sources; nil if none was kept
}

// Watcher receives the verdict on each item.
type Watcher interface {
	// Decide receives the verdict on an item, by its index. reason says why the item is
	// not in the window, and available is the number of tokens that were free; an empty
	// reason means that it is in the window. tokens and bytes are the size of its text.
	Decide(i int32, reason core.OverflowReason, available, tokens, bytes int)
	// Decided returns the number of verdicts so far.
	Decided() int
	// Forget drops all verdicts after the first n.
	Forget(n int)
}

// describe says what of a window's fixed parts takes tokens.
func describe(f core.Fixed) string {
	query, tools := fmt.Sprintf("query of %d tokens", f.QueryTokens), fmt.Sprintf("tools of %d tokens", f.ToolTokens)
	switch {
	case f.ToolTokens == 0:
		return query
	case f.QueryTokens == 0:
		return tools
	}
	return query + " and " + tools
}

// Fill fills the window w.Window. After an item that does not fit, it goes on with the next
// one. order must hold the indices of the items, 0 to n-1; Fill sorts them in place.
func (f *Filler) Fill(ctx context.Context, w *Filling, order []int32) (err error) {
	w.p = f
	if f.fit != FitExact && w.room() < 0 {
		return fmt.Errorf("%s: %d allowed: %w (%s)", describe(w.Fixed), f.maxTokens, ErrBudget, tooSmall)
	}
	core.SortByPriority(w.Items, order)
	w.Overflow = []core.OverflowItem{}
	if f.cuts() {
		w.uncut = slices.Clone(w.Counts)
	}
	if f.budget != nil && f.budget.limits() {
		if order, err = w.applyBudget(ctx, order); err != nil {
			return err
		}
		core.SortByPriority(w.Items, order)
	}
	if f.chosen {
		return w.fillBy(ctx, order)
	}
	return w.fillFirst(ctx, order)
}

// systemFirst moves system items to the front, so that no other item takes their room.
func (b *Filling) systemFirst(order []int32) {
	other := func(i int32) int {
		if b.Items[i].Source == core.SourceSystem {
			return 0
		}
		return 1
	}
	for at := 1; at < len(order); at++ {
		if other(order[at]) < other(order[at-1]) {
			slices.SortStableFunc(order, func(i, j int32) int { return other(i) - other(j) })
			return
		}
	}
}

// tooSmall is the remedy for a query and tools that the window cannot hold.
const tooSmall = "raise max_tokens, shorten the query, or send fewer tools"

// room returns the tokens for items, which is below 0 if the query and the tools do not fit.
func (b *Filling) room() int { return b.p.maxTokens - b.Fixed.Reserved() }

// decided passes a verdict to the watcher. An empty reason means a place in the window.
func (b *Filling) decided(i int32, reason core.OverflowReason, available int) {
	if b.Watcher != nil {
		b.Watcher.Decide(i, reason, available, b.Counts[i], len(b.Items[i].Content))
	}
}

// fillFirst fills the window as the defaults say.
func (b *Filling) fillFirst(ctx context.Context, order []int32) error {
	trial, err := b.keepMinimums(ctx, order, func(i int32) int { return b.Counts[i] }, nil, b.room())
	if err != nil {
		return err
	}
	if b.spared == nil {
		b.firstFit(order)
		return nil
	}
	f, g := &fill{b: b, order: order}, &itemGauge{b: b, room: b.room(), taken: make([]bool, len(b.Items))}
	misfits, err := f.admit(ctx, g, trial)
	if err != nil {
		return err
	}
	f.finish(g.taken, misfits)
	b.Diagnostic = nil
	return nil
}

// firstFit makes the window and tries the items in order. It first counts how many fit, to
// allocate both lists at their final length.
func (b *Filling) firstFit(order []int32) {
	fit, displaced := b.fitting(order)
	if displaced {
		b.systemFirst(order)
		fit, _ = b.fitting(order)
	}
	w := b.Window
	w.Items, w.MaxTokens, w.Fixed = make([]core.Item, fit), b.p.maxTokens, b.Fixed
	b.Overflow = slices.Grow(b.Overflow, len(order)-fit)
	left := b.room()
	fit = 0
	for _, i := range order {
		n := b.Counts[i]
		if n > left {
			b.reject(i, core.OverflowWindow, left)
			continue
		}
		left -= n
		it := &w.Items[fit]
		fit++
		*it = b.Items[i]
		b.stamp(it, i)
		if b.Watcher != nil {
			b.decided(i, "", 0)
		}
	}
	w.UsedTokens = b.room() - left
}

// fitting returns how many items fit if they are tried in order, and whether a system item does not.
func (b *Filling) fitting(order []int32) (fit int, displaced bool) {
	left := b.room()
	for _, i := range order {
		if n := b.Counts[i]; n <= left {
			left -= n
			fit++
		} else if b.Items[i].Source == core.SourceSystem {
			displaced = true
		}
	}
	return fit, displaced
}

// admit puts item i into the window.
func (b *Filling) admit(i int32) {
	w := b.Window
	w.Items = append(w.Items, b.Items[i])
	b.stamp(&w.Items[len(w.Items)-1], i)
	w.UsedTokens += b.Counts[i]
	b.decided(i, "", 0)
}

// reject notes that item i is not in the window. The overflow has the item as it was before
// any cut, because the cut did not help.
func (b *Filling) reject(i int32, reason core.OverflowReason, available int) {
	if b.whole != nil {
		b.Items[i], b.Counts[i] = b.whole[i], b.uncut[i]
	}
	b.Overflow = append(b.Overflow, core.OverflowItem{Item: b.Items[i], Reason: reason, Available: available})
	b.stamp(&b.Overflow[len(b.Overflow)-1].Item, i)
	b.decided(i, reason, available)
}

// stamp sets the count of item i in a copy of the item, and a time if it has none.
func (b *Filling) stamp(it *core.Item, i int32) {
	it.TokenCount = b.Counts[i]
	if it.CreatedAt.IsZero() && it.CreatedAt.Location() == time.UTC { // a zero time with a location was set on purpose
		it.CreatedAt = b.Began
	}
}
