package fill

import (
	"context"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Filling is one window and what it is filled from. It belongs to one goroutine.
type Filling struct {
	// Items compete for the window. Fill cuts their texts where the options say so, in a
	// list of its own.
	Items []core.Item
	// Counts are the tokens of the items. Fill changes those of texts that it cuts.
	Counts []int
	// Began is the time that items without one are given.
	Began time.Time
	// Watcher is told each verdict. It may be nil.
	Watcher Watcher

	// Window is where the items go that fit. Fill makes it anew.
	Window *core.Window
	// Overflow lists the others: first those that the budget kept out. It is not nil.
	Overflow []core.OverflowItem
	// OverBudget counts those that the budget kept out. It is nil if there are none.
	OverBudget map[core.Source]int
	// Diagnostic says how good the choice is, nil where the defaults decided.
	Diagnostic *Diagnostic
	// Output is the formatted window, OutputType what the formatter said of it, Counted
	// its tokens and Counting how they were counted: with FitExact only, then Counting
	// is not nil.
	Output     any
	OutputType string
	Counted    int
	Counting   *Counting

	p     *Filler
	whole []core.Item // items before some were cut, nil when none was
	uncut []int       // counts before that
}

// Watcher is told what becomes of each item.
type Watcher interface {
	// Decide notes the verdict on an item, by its index: why it is not in the window
	// and how many tokens were left, or, with an empty reason, that it is. tokens and
	// bytes are those of its text.
	Decide(i int32, reason core.OverflowReason, available, tokens, bytes int)
	// Decided returns how many verdicts there are.
	Decided() int
	// Forget drops the verdicts behind the first n.
	Forget(n int)
}

// Fill fills the window w.Window. An item that does not fit does not end the filling. order
// is memory for the indices of the items, 0 to n-1, which are sorted in it.
func (f *Filler) Fill(ctx context.Context, w *Filling, order []int32) (err error) {
	w.p = f
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
	w.firstFit(order)
	return nil
}

// formatWindow calls the formatter, and notes the type it gives its output.
func (b *Filling) formatWindow(ctx context.Context, w *core.Window) (output any, err error) {
	output, b.OutputType, err = core.FormatWindow(ctx, b.p.formatter, w)
	return output, err
}

// decided tells the watcher of a verdict. An empty reason is a place in the window.
func (b *Filling) decided(i int32, reason core.OverflowReason, available int) {
	if b.Watcher != nil {
		b.Watcher.Decide(i, reason, available, b.Counts[i], len(b.Items[i].Content))
	}
}

// firstFit makes the window and tries the items in order. It counts first, to make room
// for exactly the items that will be in it and the items that will not.
func (b *Filling) firstFit(order []int32) {
	fit, left := 0, b.p.maxTokens
	for _, i := range order {
		if n := b.Counts[i]; n <= left {
			left -= n
			fit++
		}
	}
	w := b.Window
	w.Items, w.MaxTokens = make([]core.Item, fit), b.p.maxTokens
	b.Overflow = slices.Grow(b.Overflow, len(order)-fit)
	fit, left = 0, w.MaxTokens
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
	w.UsedTokens = w.MaxTokens - left
}

// admit puts item i into the window.
func (b *Filling) admit(i int32) {
	w := b.Window
	w.Items = append(w.Items, b.Items[i])
	b.stamp(&w.Items[len(w.Items)-1], i)
	w.UsedTokens += b.Counts[i]
	b.decided(i, "", 0)
}

// reject notes that item i is not in the window. It is reported as it came: that a cap
// had cut it before has led to nothing.
func (b *Filling) reject(i int32, reason core.OverflowReason, available int) {
	if b.whole != nil {
		b.Items[i], b.Counts[i] = b.whole[i], b.uncut[i]
	}
	b.Overflow = append(b.Overflow, core.OverflowItem{Item: b.Items[i], Reason: reason, Available: available})
	b.stamp(&b.Overflow[len(b.Overflow)-1].Item, i)
	b.decided(i, reason, available)
}

// stamp completes a copy of item i with its count and a time.
func (b *Filling) stamp(it *core.Item, i int32) {
	it.TokenCount = b.Counts[i]
	if it.CreatedAt.IsZero() && it.CreatedAt.Location() == time.UTC { // elsewhere it was given
		it.CreatedAt = b.Began
	}
}
