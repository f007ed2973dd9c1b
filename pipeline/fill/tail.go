package fill

import (
	"context"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// tailBytes is how far from the end of a text the last split is looked for.
const tailBytes = 2 << 10

// contextTail is the end of the context in an output: what has to be counted anew when
// one more item is written behind it. It saves formatting the whole window for each of
// many items that do not fit.
type contextTail struct {
	known     bool // the end of the context is the end of a text
	place     int32
	text      string // from the last split on
	separator string
	tokens    int // of text, counted when first needed
	counted   bool
	all       int // tokens of the texts of the whole output
}

// readTail finds the end of the context in the output that was just accepted.
func (g *exactGauge) readTail(output any) {
	g.tail = contextTail{}
	if order := g.f.b.p.order; !g.builtin || order != "" && order != OrderPriority {
		return
	}
	text, separator := format.ContextEnd(output, &g.window)
	from := max(0, len(text)-tailBytes)
	split := from
	for next := from; next < len(text); next = g.meter.texts.divide(text, next) {
		split = next
	}
	if split == from && from > 0 || text == "" {
		return // no split near the end
	}
	g.tail = contextTail{known: true, text: text[split:], separator: separator, all: g.meter.text}
	for place, i := range g.f.order {
		if g.taken[i] && g.f.b.Items[i].Source.IsContext() {
			g.tail.place = int32(place)
		}
	}
}

// tooLong reports whether item i would certainly make the output too long, by counting
// only the end of the context with the item behind it.
func (g *exactGauge) tooLong(ctx context.Context, i int32) (bool, error) {
	t, it := &g.tail, &g.f.b.Items[i]
	if !t.known || g.own[i] == 0 || !it.Source.IsContext() || g.placeOf(i) < t.place {
		return false, nil
	}
	content := it.Content
	if t.separator == "\n" {
		content = strings.TrimRightFunc(content, unicode.IsSpace)
	}
	texts := []string{t.text + t.separator + content, t.text}
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
