package steps

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// apply applies the changes of a guest to the items of a view and returns the new list. It
// does not change the old list.
func (o *operation) apply(v *rowView, a *host.Answer, topK int) []pipeline.Item {
	c := a.Changes
	if c == nil {
		return v.items
	}
	if o.op != abi.OpRerank && len(c.Edits) == 0 && len(c.Scores) == 0 && len(c.Items) == 0 && c.Order == nil {
		return v.keep(c.Keep)
	}
	e := editor{o: o, c: c, tokens: a.Tokens, v: v, topK: topK}
	e.copyRows()
	e.edit()
	e.rows = append(e.rows, o.newItems(a)...)
	e.arrange()
	return e.place()
}

// keep returns the items without the rows that the guest drops. nil keeps all.
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
	from, next := 0, 0 // the first item and the first index of keep that are not copied yet
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

// copyItems copies the items of the given ascending rows into dst, which has as many
// places. It copies neighboring rows as one block.
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

// editor is the state of one call of apply. rows are the items of the view, followed by the
// new ones. sequence are the remaining rows in their order.
type editor struct {
	o        *operation
	c        *abi.Changes
	tokens   []int
	v        *rowView
	topK     int
	rows     []pipeline.Item
	sequence []uint32
}

func (e *editor) copyRows() {
	n := e.v.Len()
	e.rows = make([]pipeline.Item, n, n+len(e.c.Items))
	for i := range e.rows {
		e.rows[i] = *e.v.item(i)
	}
}

// edit applies the edits and the scores.
func (e *editor) edit() {
	for i := range e.c.Edits {
		ed := &e.c.Edits[i]
		it := &e.rows[ed.Row]
		if ed.Content != nil && *ed.Content != it.Content {
			it.Content, it.TokenCount = *ed.Content, e.tokens[i]
		}
		if ed.Metadata != nil {
			it.Metadata = ed.Metadata
		}
		if ed.Priority != nil {
			it.Priority = *ed.Priority
		}
	}
	for _, s := range e.c.Scores {
		e.rows[s.Row].Score = s.Score
	}
}

// arrange determines the remaining rows, their order and their scores.
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

// deal distributes the scores of the sequence along it, the highest first. The window fills
// by score, so it would ignore an order without scores.
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

// place puts the sequence at the places of the visible rows. Rows beyond these places, and
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

// newItems makes items from the new items of a guest.
func (o *operation) newItems(a *host.Answer) []pipeline.Item {
	added := a.Changes.Items
	tokens := a.Tokens[len(a.Tokens)-len(added):]
	items := make([]pipeline.Item, len(added))
	for i := range added {
		it := &added[i]
		items[i] = pipeline.Item{
			ID: o.newID(it), Content: it.Content, Source: pipeline.Source(it.Source), Score: it.Score, Priority: it.Priority,
			TokenCount: tokens[i], Metadata: it.Metadata, CreatedAt: it.CreatedAt,
		}
	}
	return items
}

// newID makes the id of a new item. It begins with the name of the plugin, or with
// Options.IDs, followed by the guest's key, or by a digest of the content if there is no
// key.
func (o *operation) newID(a *abi.NewItem) string {
	key := a.Key
	if key == "" {
		sum := sha256.Sum256([]byte(a.Content))
		key = hex.EncodeToString(sum[:8])
	}
	return cmp.Or(o.ids, o.module.Plugin) + ":" + key
}
