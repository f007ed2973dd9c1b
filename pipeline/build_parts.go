package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// BuildInfo is what a step can learn about the build it is part of.
type BuildInfo struct {
	// MaxTokens is the room of the window, without the reserve of the budget.
	MaxTokens int
}

type buildInfoKey struct{}

// BuildInfoFrom returns the information about the build that a step's context
// belongs to. It is false outside a build.
func BuildInfoFrom(ctx context.Context) (BuildInfo, bool) {
	info, ok := ctx.Value(buildInfoKey{}).(BuildInfo)
	return info, ok
}

// countedItems are items that were counted while the factor of the tokenizer was this.
type countedItems struct {
	items  []Item
	factor float64
}

// factor is that of a tokenizer that estimates, 0 for one that counts.
func (p *Pipeline) factor() (high float64) {
	if e, ok := p.tokenizer.(estimate); ok {
		_, high = e.Factors()
	}
	return high
}

// countedSystem returns copies of the system items with their token counts. They are
// counted by the first build, because counting may need a context and a vocabulary, and
// anew when an estimate has learned, as the items of steps are in each build. Counts that
// the turns of a conversation, and others who keep theirs, have from before stay.
func (p *Pipeline) countedSystem(ctx context.Context) ([]Item, error) {
	factor := p.factor()
	if counted := p.counted.Load(); counted != nil && counted.factor == factor {
		return slices.Clone(counted.items), nil
	}
	texts := make([]string, len(p.system))
	for i := range p.system {
		texts[i] = p.system[i].Content
	}
	counts, err := CountTexts(ctx, p.tokenizer, texts)
	if err != nil {
		return nil, err
	}
	items := slices.Clone(p.system)
	for i := range items {
		items[i].TokenCount = counts[i]
	}
	p.counted.Store(&countedItems{items, factor})
	return slices.Clone(items), nil
}

// countMissing counts the texts of the n items without a count.
func (b *build) countMissing(ctx context.Context, n int) error {
	texts, places := make([]string, 0, n), make([]int32, 0, n)
	for i := range b.items {
		if it := &b.items[i]; it.TokenCount == 0 && it.Content != "" {
			texts, places = append(texts, it.Content), append(places, int32(i))
		}
	}
	counted, err := CountTexts(ctx, b.p.tokenizer, texts)
	for i, n := range counted {
		b.counts[places[i]] = n
	}
	return err
}

// CountTexts counts texts with a tokenizer. It returns an error if the tokenizer panics, or if
// its answer has another length or a negative count.
func CountTexts(ctx context.Context, t Tokenizer, texts []string) (counts []int, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	err = Guard(func() (err error) {
		counts, err = t.Count(ctx, texts...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tokenizer %q: count %d texts: %w", t.Name(), len(texts), err)
	}
	if len(counts) != len(texts) {
		return nil, fmt.Errorf("tokenizer %q: %d counts for %d texts: %w", t.Name(), len(counts), len(texts), ErrInvalid)
	}
	for i, n := range counts {
		if n < 0 {
			return nil, fmt.Errorf("tokenizer %q: text %d: count %d: %w", t.Name(), i, n, ErrInvalid)
		}
	}
	return counts, nil
}

// remember asks the memory provider for its items and checks them. Beside an error of the
// provider there may be items.
func (b *build) remember(ctx context.Context) (items []Item, err error) {
	q := b.query.Clone()
	err = Guard(func() (err error) {
		items, err = b.p.memory.Items(ctx, &q)
		return err
	})
	items = withDefaults(items, SourceMemory)
	if bad := validateItems(items); bad != nil {
		return nil, cmp.Or(err, bad)
	}
	return items, err
}

// memories returns copies of the items that a query enricher may read.
func (b *build) memories() []Item {
	var out []Item
	for i := range b.items {
		if s := b.items[i].Source; s == SourceMemory || s == SourceConversation {
			out = append(out, b.items[i].Clone())
		}
	}
	return out
}

// withDefaults gives items without a source or a priority the given source and the
// priority of their source. It copies when it must.
func withDefaults(items []Item, source Source) []Item {
	copied := false
	for i := range items {
		if items[i].Source != "" && items[i].Priority != 0 {
			continue
		}
		if !copied {
			items, copied = append([]Item(nil), items...), true
		}
		if items[i].Source == "" {
			items[i].Source = source
		}
		if items[i].Priority == 0 {
			items[i].Priority = items[i].Source.DefaultPriority()
		}
	}
	return items
}

// appendItems appends without ever writing behind the end of items, which may be
// the beginning of somebody's longer list.
func appendItems(items, more []Item) []Item {
	if len(items) == 0 {
		return more
	}
	return append(items[:len(items):len(items)], more...)
}

// firstFit makes the window and tries the items in order. It counts first, to make room
// for exactly the items that will be in it and the items that will not.
func (b *build) firstFit(order []int32) {
	fit, left := 0, b.p.maxTokens
	for _, i := range order {
		if n := b.counts[i]; n <= left {
			left -= n
			fit++
		}
	}
	w := &b.docs.window
	w.Items, w.MaxTokens = make([]Item, fit), b.p.maxTokens
	b.window = w
	b.overflow = slices.Grow(b.overflow, len(order)-fit)
	fit, left = 0, w.MaxTokens
	for _, i := range order {
		n := b.counts[i]
		if n > left {
			b.reject(i, OverflowWindow, left)
			continue
		}
		left -= n
		it := &w.Items[fit]
		fit++
		*it = b.items[i]
		b.stamp(it, i)
		if b.story != nil {
			b.decided(i, "", 0)
		}
	}
	w.UsedTokens = w.MaxTokens - left
}

// admit puts item i into the window.
func (b *build) admit(i int32) {
	w := b.window
	w.Items = append(w.Items, b.items[i])
	b.stamp(&w.Items[len(w.Items)-1], i)
	w.UsedTokens += b.counts[i]
	b.decided(i, "", 0)
}

// reject notes that item i is not in the window. It is reported as it came: that a cap
// had cut it before has led to nothing.
func (b *build) reject(i int32, reason OverflowReason, available int) {
	if b.whole != nil {
		b.items[i], b.counts[i] = b.whole[i], b.uncut[i]
	}
	b.overflow = append(b.overflow, OverflowItem{Item: b.items[i], Reason: reason, Available: available})
	b.stamp(&b.overflow[len(b.overflow)-1].Item, i)
	b.decided(i, reason, available)
}

// stamp completes a copy of item i with its count and a time.
func (b *build) stamp(it *Item, i int32) {
	it.TokenCount = b.counts[i]
	if it.CreatedAt.IsZero() && it.CreatedAt.Location() == time.UTC { // elsewhere it was given
		it.CreatedAt = b.began
	}
}

// formatWindow calls the formatter, and notes the type it gives its output.
func (b *build) formatWindow(ctx context.Context, w *Window) (output any, err error) {
	err = Guard(func() (err error) {
		output, err = b.p.formatter.Format(ctx, w)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("formatter %q: format window of %d items: %w", b.p.formatter.FormatType(), len(w.Items), err)
	}
	b.formatType = ""
	if f, ok := output.(Formatted); ok {
		output, b.formatType = f.Output, f.Type
	}
	return output, nil
}

// lap writes the time since the last thing that was timed to ms.
func (b *build) lap(ms *float64) {
	now := b.p.now()
	*ms, b.at = values.Milliseconds(now.Sub(b.at)), now
}

// mark returns the time from which the next step is timed: when the last one ended,
// unless somebody was told about it in between. Reading the clock costs as much as a
// small step.
func (b *build) mark() time.Time {
	if len(b.p.callbacks) > 0 || b.story != nil {
		b.at = b.p.now()
	}
	return b.at
}

func pointer(n int) *int { return &n }
