package pipeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// factor returns the factor of a tokenizer that estimates, and 0 for one that counts.
func (p *Pipeline) factor() (high float64) {
	if e, ok := p.tokenizer.(interface{ Factors() (low, high float64) }); ok {
		_, high = e.Factors()
	}
	return high
}

// countedSystem returns copies of the system items with their token counts, and the tokens of
// the tools. The first build
// counts them, and not New, because counting may need a context and a vocabulary. A later
// build counts them again when the factor of an estimate has changed, so that they agree
// with the items of steps, which each build counts. Turns of a conversation, and other
// items that bring a count, keep it.
func (p *Pipeline) countedSystem(ctx context.Context) (items []Item, tools int, err error) {
	factor := p.factor()
	if counted := p.counted.Load(); counted != nil && counted.factor == factor {
		return slices.Clone(counted.items), counted.tools, nil
	}
	texts := make([]string, len(p.system), len(p.system)+1)
	for i := range p.system {
		texts[i] = p.system[i].Content
	}
	if p.tools != nil {
		texts = append(texts, string(p.tools))
	}
	counts, err := core.CountTexts(ctx, p.tokenizer, texts)
	if err != nil {
		return nil, 0, err
	}
	items = slices.Clone(p.system)
	for i := range items {
		items[i].TokenCount = counts[i]
	}
	if p.tools != nil {
		tools = fill.CountTools(p.model, string(p.tools), counts[len(items)]).High
	}
	p.counted.Store(&countedItems{items, tools, factor})
	return slices.Clone(items), tools, nil
}

// countQuery counts the query that ends the output.
func (b *build) countQuery(ctx context.Context, t Tokenizer) error {
	if b.fixed.Query == "" {
		return nil
	}
	counts, err := core.CountTexts(ctx, t, []string{b.fixed.Query})
	if err == nil {
		b.fixed.QueryTokens = counts[0]
	}
	return err
}

// countTexts counts the texts of the items for which wanted is true.
func (b *build) countTexts(ctx context.Context, t Tokenizer, wanted func(*Item) bool) error {
	n := 0
	for i := range b.list.items {
		if wanted(&b.list.items[i]) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	texts, places := make([]string, 0, n), make([]int32, 0, n)
	writer, _ := b.writer.formatter.(interface{ Beside(it *Item) string })
	for i := range b.list.items {
		if it := &b.list.items[i]; wanted(it) {
			text := it.Content
			if more := message.MediaText(it.Parts()); more != "" {
				text += "\n" + more
			}
			if writer != nil && text != "" {
				if more := writer.Beside(it); more != "" {
					text = more + "\n" + text
				}
			}
			texts, places = append(texts, text), append(places, int32(i))
		}
	}
	counted, err := core.CountTexts(ctx, t, texts)
	for i, n := range counted {
		b.counts[places[i]] = n
	}
	return err
}

// countParts adds the tokens of images, documents and sounds to those of their items' texts.
func (b *build) countParts() {
	for i := range b.list.items {
		it := &b.list.items[i]
		if parts := it.Parts(); parts != nil && it.TokenCount == 0 {
			b.counts[i] = values.Add(b.counts[i], media.OfParts(b.p.model, parts).High)
		}
	}
}

// remember asks the memory provider for its items and checks them. A provider may return
// items together with an error.
func (b *build) remember(ctx context.Context) (items []Item, err error) {
	q := b.query.Clone()
	memory := b.p.memory // an abandoned call must not use the build
	ctx, lost := core.NoteLosses(ctx)
	items, err = within(ctx, b.boundPart(ctx, b.p.parts.memory), memory, func(ctx context.Context) ([]Item, error) { return memory.Items(ctx, &q) })
	b.diag.Lost = lost()
	items = withDefaults(items, SourceMemory)
	if bad := core.ValidateItems(items); bad != nil {
		return nil, cmp.Or(err, bad)
	}
	return items, err
}

// errListed is the failure of a compactor as the builds after it see it.
var errListed = errors.New("the summary of the conversation ends with turns as they were: its compactor failed or has not answered yet")

// endsWithTurns reports whether an item is a summary that no compactor could bring up to date.
func endsWithTurns(it Item) bool {
	return it.Metadata["summary"] == true && it.Metadata["listed"] == true
}

// memories returns copies of the items that a query enricher may read.
func (b *build) memories() []Item {
	var out []Item
	for i := range b.list.items {
		if s := b.list.items[i].Source; s == SourceMemory || s == SourceConversation {
			out = append(out, b.list.items[i].Clone())
		}
	}
	return out
}

// lap writes the time since the last measured moment to ms.
func (b *build) lap(ms *float64) {
	now := b.p.now()
	*ms, b.at = values.Milliseconds(now.Sub(b.at)), now
}

// mark returns the start time for the next step: the moment at which the last step ended, or
// the present time if callbacks ran in between. It avoids reading the clock, which costs as
// much as a small step.
func (b *build) mark() time.Time {
	if len(b.p.callbacks) > 0 || b.recorder != nil {
		b.at = b.p.now()
	}
	return b.at
}

func pointer(n int) *int { return &n }
