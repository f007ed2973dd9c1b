package fill

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

const (
	// mergedTokens is how many of its own tokens an item in a built-in format may save,
	// because they merge with the text next to it.
	mergedTokens = 6
	// startTokens is how many more it may save, because the output begins with a message that
	// is left out when the context or a turn of the user comes first.
	startTokens = 16
	// separatorTokens is the estimated number of tokens that an item in a built-in format
	// takes besides its own. The estimate only saves counts: it does not affect results.
	separatorTokens = 9
)

// exactly fills a window whose formatted output is within its tokens. The first pass counts
// only what changes. If the count of the whole output disagrees, a second pass counts the
// whole output for each try.
func (f *fill) exactly(ctx context.Context) error {
	b := f.b
	restore := b.snapshot()
	for _, whole := range [...]bool{false, true} {
		g, misfits, err := f.pass(ctx, whole)
		if err != nil {
			return err
		}
		f.finish(g.taken, misfits)
		if b.Formatted, err = core.FormatWindow(ctx, b.p.formatter, b.Window); err != nil {
			return err
		}
		total, counting, err := b.p.counter.Count(ctx, b.Output)
		if err != nil {
			return err
		}
		if total <= g.room {
			counting.Budget = g.room
			b.Counted, b.Counting = total, &counting
			return nil
		}
		restore()
		f.value = Diagnostic{}
	}
	return fmt.Errorf("formatter %q: the same window takes more tokens each time it is formatted: %w", b.p.formatter.FormatType(), ErrBudget)
}

// snapshot returns a function that undoes the changes of a pass.
func (b *Filling) snapshot() (restore func()) {
	items, counts, whole, overflow := b.Items, b.Counts, b.whole, len(b.Overflow)
	decided := 0
	if b.Watcher != nil {
		decided = b.Watcher.Decided()
	}
	if b.p.cuts() {
		items, counts = slices.Clone(items), slices.Clone(counts)
	}
	return func() {
		b.Items, b.Counts, b.whole, b.Overflow = items, counts, whole, b.Overflow[:overflow]
		if b.Watcher != nil {
			b.Watcher.Forget(decided)
		}
	}
}

// pass fills the window once.
func (f *fill) pass(ctx context.Context, whole bool) (*exactGauge, []misfit, error) {
	g, err := f.newExactGauge(ctx, whole)
	if err != nil {
		return nil, nil, err
	}
	var overhead func(*core.Item) int
	if g.builtin {
		overhead = func(*core.Item) int { return separatorTokens / 2 }
	}
	trial, err := f.plan(ctx, g.own, overhead, g.left())
	if err != nil {
		return nil, nil, err
	}
	misfits, err := f.admit(ctx, g, trial)
	if err != nil {
		return nil, nil, err
	}
	misfits, err = g.again(ctx, misfits)
	return g, misfits, err
}

// exactGauge formats the window and counts the output of the formatter.
type exactGauge struct {
	f       *fill
	meter   *outputMeter
	room    int
	used    int         // tokens of the formatted window
	taken   []bool      // by item
	own     []int       // by item: the counted tokens of its text, even if the item brings a count
	builtin bool        // the output has every item whole, and the tokenizer knows splits
	window  core.Window // the input of the formatter
	over    []nearMiss
	tail    contextTail
	places  []int32 // by item: its place in the order of priority

	admitted int // how often a try has succeeded
	spare    int // tokens that an item may save
}

// nearMiss is an item that was a few tokens too large when it was tried.
type nearMiss struct {
	index    int32
	admitted int // how often a try had succeeded before
}

// newExactGauge counts the empty window, which must fit, and each item on its own.
func (f *fill) newExactGauge(ctx context.Context, whole bool) (*exactGauge, error) {
	b := f.b
	g := &exactGauge{
		f: f, meter: b.p.counter.measure(whole), room: b.p.maxTokens, taken: make([]bool, len(b.Items)),
		spare: mergedTokens + startTokens, window: core.Window{Items: make([]core.Item, 0, len(f.order)), MaxTokens: b.p.maxTokens, Fixed: b.Fixed},
	}
	g.builtin = format.WritesWhole(b.p.formatter) && g.meter.texts.divide != nil
	texts := make([]string, len(b.Items))
	for i := range b.Items {
		// Formatters may drop white space at the ends of a text.
		texts[i] = strings.TrimSpace(b.Items[i].Content)
	}
	own, err := core.CountTexts(ctx, b.p.tokenizer, texts)
	if err != nil {
		return nil, err
	}
	g.own = own
	if len(texts) == 0 {
		g.own = []int{}
	}
	if _, g.used, err = g.format(ctx); err != nil {
		return nil, err
	}
	if g.used > g.room {
		return nil, fmt.Errorf("window without items: %d tokens, %d allowed: %w (%s)", g.used, g.room, ErrBudget, tooSmall)
	}
	return g, nil
}

func (g *exactGauge) left() int { return g.room - g.used }

// hopeless decides by the item's own tokens. Where they are not enough to decide, it counts
// the end of the output together with the item.
func (g *exactGauge) hopeless(ctx context.Context, i int32) (bool, error) {
	if !g.builtin || g.own[i]+separatorTokens <= g.left() || g.asks(i) {
		return false, nil
	}
	if g.own[i]-scale(g.spare, g.meter.high) > g.left() {
		return true, nil
	}
	too, err := g.tooLong(ctx, i)
	if too {
		g.over = append(g.over, nearMiss{i, g.admitted})
	}
	return too, err
}

// asks reports whether an item may take the place of the query in the output.
func (g *exactGauge) asks(i int32) bool {
	it, query := &g.f.b.Items[i], g.f.b.Fixed.Query
	return query != "" && it.Source == core.SourceConversation && strings.TrimSpace(it.Content) == strings.TrimSpace(query)
}

// likely decides by the items' own tokens if the format is known. Otherwise it returns the
// number of the items.
func (g *exactGauge) likely(trial []int32) int {
	if !g.builtin {
		return len(trial)
	}
	sum := 0
	for n, i := range trial {
		if sum = values.Add(sum, values.Add(g.own[i], separatorTokens)); sum > g.left() {
			return max(n, 1)
		}
	}
	return len(trial)
}

func (g *exactGauge) try(ctx context.Context, batch []int32) (bool, error) {
	for _, i := range batch {
		g.taken[i] = true
	}
	output, used, err := g.format(ctx)
	if err == nil && used <= g.room {
		g.used = used
		g.admitted++
		g.spare = mergedTokens
		if format.Started(output) {
			g.spare += startTokens
		}
		g.readTail(output)
		return true, nil
	}
	for _, i := range batch {
		g.taken[i] = false
	}
	if err == nil && len(batch) == 1 && used-g.room <= mergedTokens+startTokens {
		g.over = append(g.over, nearMiss{batch[0], g.admitted})
	}
	return false, err
}

// again retries the items that were a few tokens too large. An item admitted after them may
// have merged with its neighbors, so that the window now has more room.
func (g *exactGauge) again(ctx context.Context, misfits []misfit) ([]misfit, error) {
	for _, near := range g.over {
		if near.admitted == g.admitted {
			continue // nothing has changed
		}
		at := slices.IndexFunc(misfits, func(m misfit) bool { return m.index == near.index })
		if at < 0 {
			continue // the window has its beginning
		}
		ok, err := g.try(ctx, []int32{near.index})
		if err != nil {
			return nil, err
		}
		if ok {
			misfits = slices.Delete(misfits, at, at+1)
		}
	}
	return misfits, nil
}

// format formats the admitted items and counts the output.
func (g *exactGauge) format(ctx context.Context) (output any, used int, err error) {
	b, w := g.f.b, &g.window
	w.Items, w.UsedTokens = w.Items[:0], 0
	for _, i := range g.f.picked(g.taken) {
		w.Items = append(w.Items, b.Items[i])
		b.stamp(&w.Items[len(w.Items)-1], i)
		w.UsedTokens = values.Add(w.UsedTokens, b.Counts[i])
	}
	made, err := core.FormatWindow(ctx, b.p.formatter, w)
	if err != nil {
		return nil, 0, err
	}
	used, err = g.meter.total(ctx, made.Output)
	return made.Output, used, err
}

// tailBytes is how far from the end of a text readTail looks for the last split.
const tailBytes = 2 << 10

// contextTail is the end of the context in an output. When one more item follows it, only
// the tail, the item and the text after them must be counted again. This avoids formatting the whole window for
// each of many items that do not fit.
type contextTail struct {
	known     bool // the end of the context is the end of a text
	place     int32
	text      string // from the last split on
	separator string
	after     string // what follows the context in the same text, up to the first split
	tokens    int    // of text and after, counted when first needed
	counted   bool
	all       int // tokens of the texts of the whole output
}

// readTail finds the end of the context in an output that fits.
func (g *exactGauge) readTail(output any) {
	g.tail = contextTail{}
	if order := g.f.b.p.order; !g.builtin || order != "" && order != OrderPriority {
		return
	}
	text, separator, after := format.ContextEnd(g.f.b.p.formatter, output, &g.window)
	from := max(0, len(text)-tailBytes)
	split := from
	for next := from; next < len(text); next = g.meter.texts.divide(text, next) {
		split = next
	}
	if split == from && from > 0 || text == "" {
		return // no split near the end
	}
	if len(after) > leastPart {
		after = after[:g.meter.texts.divide(after, leastPart)]
	}
	g.tail = contextTail{known: true, text: text[split:], separator: separator, after: after, all: g.meter.text}
	for place, i := range g.f.order {
		if g.taken[i] && g.f.b.Items[i].Source.IsContext() {
			g.tail.place = int32(place)
		}
	}
}

// tooLong reports whether item i would certainly make the output too long. It counts only
// the end of the context, followed by the item.
func (g *exactGauge) tooLong(ctx context.Context, i int32) (bool, error) {
	t, it := &g.tail, &g.f.b.Items[i]
	if !t.known || g.own[i] == 0 || !it.Source.IsContext() || g.placeOf(i) < t.place {
		return false, nil
	}
	content := it.Content
	if t.separator == "\n" && t.after == "" {
		content = strings.TrimRightFunc(content, unicode.IsSpace)
	}
	texts := []string{t.text + t.separator + content + t.after, t.text + t.after}
	if t.counted {
		texts = texts[:1]
	}
	counts, err := core.CountTexts(ctx, g.meter.texts.tokenizer, texts)
	if err != nil {
		return false, err
	}
	if !t.counted {
		t.tokens, t.counted = counts[1], true
	}
	high := g.meter.high
	return scale(t.all+counts[0]-t.tokens, high)-scale(t.all, high) > g.left(), nil
}

// placeOf returns the place of an item in the order of priority.
func (g *exactGauge) placeOf(i int32) int32 {
	if g.places == nil {
		g.places = make([]int32, len(g.f.b.Items))
		for place, index := range g.f.order {
			g.places[index] = int32(place)
		}
	}
	return g.places[i]
}
