package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// apply makes the changes of a guest to the items of a view and returns the new
// list; the old one stays as it is. The changes must have passed check. It is
// all or nothing.
func (o *operation) apply(ctx context.Context, v *rowView, c *abi.Changes, topK int) ([]pipeline.Item, error) {
	if c == nil {
		return v.items, nil
	}
	if o.op != abi.OpRerank && len(c.Edits) == 0 && len(c.Scores) == 0 && len(c.Items) == 0 && c.Order == nil {
		return v.keep(c.Keep), nil
	}
	e := editor{o: o, c: c, v: v, topK: topK}
	e.copyRows()
	if err := e.edit(); err != nil {
		return nil, o.refuse(err)
	}
	if err := e.add(); err != nil {
		return nil, o.refuse(err)
	}
	if err := e.count(ctx); err != nil {
		return nil, o.refuse(err)
	}
	e.arrange()
	return e.place(), nil
}

// keep returns the items with the rows that stay; nil keeps all.
func (v *rowView) keep(keep []uint32) []pipeline.Item {
	if keep == nil || len(keep) == v.Len() {
		return v.items
	}
	if v.at == nil {
		out := v.list(len(keep))[:len(keep)]
		copyItems(out, v.items, keep)
		return out
	}
	out := v.list(len(v.items) - len(v.at) + len(keep))
	from, next := 0, 0 // the first item and the first of keep that are not dealt with
	for row, i := range v.at {
		if next < len(keep) && int(keep[next]) == row {
			next++
			continue
		}
		if from < int(i) {
			out = append(out, v.items[from:i]...)
		}
		from = int(i) + 1
	}
	return append(out, v.items[from:]...)
}

// copyItems copies the items of the given rows, which ascend, into dst, which has as many
// places. Neighbors are copied together, a block at a time.
func copyItems(dst, items []pipeline.Item, rows []uint32) {
	const block = 8
	for i := 0; i < len(rows); {
		r := int(rows[i])
		if i+block > len(rows) || int(rows[i+block-1]) != r+block-1 {
			dst[i] = items[r]
			i++
			continue
		}
		copy(dst[i:i+block], items[r:r+block])
		i += block
	}
}

// editor is the state of one apply: rows are the items of the view and the new
// ones behind them, sequence the rows that are left in their order.
type editor struct {
	o        *operation
	c        *abi.Changes
	v        *rowView
	topK     int
	rows     []pipeline.Item
	sequence []uint32
	// recount are the rows whose text is new, with the tokens they had.
	recount []uint32
	before  []int
}

func (e *editor) copyRows() {
	n := e.v.Len()
	e.rows = make([]pipeline.Item, n, n+len(e.c.Items))
	for i := range e.rows {
		e.rows[i] = *e.v.item(i)
	}
}

// edit makes edits and scores.
func (e *editor) edit() error {
	for i := range e.c.Edits {
		ed := &e.c.Edits[i]
		it := &e.rows[ed.Row]
		if ed.Content != nil && *ed.Content != it.Content {
			e.recount, e.before = append(e.recount, ed.Row), append(e.before, it.TokenCount)
			it.Content, it.TokenCount = *ed.Content, 0
		}
		if ed.Metadata != nil {
			it.Metadata = ed.Metadata
		}
		if ed.Priority == nil {
			continue
		}
		if highest := max(e.o.grant.highest(it.Source), it.Priority); *ed.Priority > highest {
			return faultf(abi.ReasonDenied, "edits[%d]: row %d: priority %d is not granted (the step may state at most %d)",
				i, ed.Row, *ed.Priority, highest)
		}
		it.Priority = *ed.Priority
	}
	for _, s := range e.c.Scores {
		e.rows[s.Row].Score = s.Score
	}
	return nil
}

// add makes the new items.
func (e *editor) add() error {
	items, err := e.o.newItems(e.c.Items)
	if err != nil {
		return err
	}
	for i := range items {
		e.recount, e.before = append(e.recount, uint32(len(e.rows)+i)), append(e.before, 0)
	}
	e.rows = append(e.rows, items...)
	return nil
}

// count counts the tokens of new text and refuses too many.
func (e *editor) count(ctx context.Context) error {
	if len(e.recount) == 0 {
		return nil
	}
	items := make([]*pipeline.Item, len(e.recount))
	for i, r := range e.recount {
		items[i] = &e.rows[r]
	}
	return e.o.countItems(ctx, items, e.before)
}

// arrange works out which rows are left, in their order, and with which scores.
func (e *editor) arrange() {
	c, n := e.c, e.v.Len()
	switch {
	case c.Order != nil:
		e.sequence = c.Order
		if len(c.Scores) == 0 {
			e.deal()
		}
	case c.Keep != nil:
		e.sequence = c.Keep
	default:
		e.sequence = make([]uint32, n)
		for i := range e.sequence {
			e.sequence[i] = uint32(i)
		}
	}
	if e.o.op != abi.OpRerank {
		return
	}
	if c.Order == nil && len(c.Scores) > 0 {
		e.sequence = slices.Clone(e.sequence)
		slices.SortStableFunc(e.sequence, func(a, b uint32) int { return cmp.Compare(e.rows[b].Score, e.rows[a].Score) })
	}
	if len(e.sequence) > e.topK {
		e.sequence = e.sequence[:e.topK]
	}
}

// deal hands the scores of the sequence out along it, highest first: the window
// fills by score, so an order alone would otherwise be lost there.
func (e *editor) deal() {
	scores := make([]float64, len(e.sequence))
	for i, r := range e.sequence {
		scores[i] = e.rows[r].Score
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, r := range e.sequence {
		e.rows[r].Score = scores[i]
	}
}

// place puts the sequence where the visible rows were; what is left over, and
// new items that no order names, go to the end.
func (e *editor) place() []pipeline.Item {
	out := e.v.list(len(e.v.items) + len(e.c.Items))
	rest, row := e.sequence, 0
	for i := range e.v.items {
		if e.v.at != nil && (row == len(e.v.at) || int(e.v.at[row]) != i) {
			out = append(out, e.v.items[i])
			continue
		}
		row++
		if len(rest) > 0 {
			out, rest = append(out, e.rows[rest[0]]), rest[1:]
		}
	}
	for _, r := range rest {
		out = append(out, e.rows[r])
	}
	if e.c.Order == nil {
		out = append(out, e.rows[e.v.Len():]...)
	}
	return out
}

// newItems makes items of what a guest adds, within the grant. They are not
// counted yet.
func (o *operation) newItems(added []abi.NewItem) ([]pipeline.Item, error) {
	items := make([]pipeline.Item, len(added))
	for i := range added {
		a := &added[i]
		src := o.grant.source
		if a.Source != "" {
			src = pipeline.Source(a.Source)
		}
		highest := o.grant.highest(src)
		if a.Priority > highest {
			return nil, faultf(abi.ReasonDenied, "items[%d]: priority %d is not granted (the step may state at most %d)", i, a.Priority, highest)
		}
		items[i] = pipeline.Item{
			ID: o.newID(a), Content: a.Content, Source: src, Score: a.Score,
			Priority: pick(a.Priority, min(src.DefaultPriority(), highest)),
			Metadata: a.Metadata, CreatedAt: a.CreatedAt,
		}
	}
	return items, nil
}

// newID makes the id of a new item: the plugin and the guest's key, or the
// content's digest.
func (o *operation) newID(a *abi.NewItem) string {
	key := a.Key
	if key == "" {
		sum := sha256.Sum256([]byte(a.Content))
		key = hex.EncodeToString(sum[:8])
	}
	return o.plugin.name + ":" + key
}

// countItems counts the tokens of items with new text; before are the tokens
// they had. The time is on the plugin's account: who answers with much text is served later.
func (o *operation) countItems(ctx context.Context, items []*pipeline.Item, before []int) error {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = it.Content
	}
	began := clock()
	counts, err := o.plugin.host.countTokens(ctx, texts...)
	o.plugin.account.Charge(clock() - began)
	if err != nil {
		var late *fault
		switch {
		case errors.As(context.Cause(ctx), &late):
			return late
		case ctx.Err() != nil:
			return contextFault(ctx)
		}
		return &fault{code: abi.ReasonInvalidOutput, err: err}
	}
	added := 0
	for i, it := range items {
		it.TokenCount = counts[i]
		added += max(0, counts[i]-before[i])
	}
	if added > o.grant.tokens {
		return faultf(abi.ReasonOutputTooLarge, "adds %d tokens, allowed %d", added, o.grant.tokens)
	}
	return nil
}
