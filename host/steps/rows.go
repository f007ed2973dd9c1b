package steps

import (
	"context"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// rowView presents the items of a scope as rows. at lists their indices; nil means all
// items.
type rowView struct {
	items []pipeline.Item
	at    []int32
	// spare is memory for the resulting list, or nil. room is memory for at.
	spare []pipeline.Item
	room  []int32
	// vectors are those of the rows, or nil.
	vectors [][]float32
}

// list returns an empty list with room for n items.
func (v *rowView) list(n int) []pipeline.Item {
	if n <= cap(v.spare) {
		return v.spare[:0]
	}
	return make([]pipeline.Item, 0, n)
}

// visible returns a view of the items of the given scope.
func visible(items []pipeline.Item, s scope) *rowView {
	v := &rowView{}
	v.show(items, s)
	return v
}

// show makes v the view of the items of the given scope.
func (v *rowView) show(items []pipeline.Item, s scope) {
	v.items = items
	for i := range items {
		if !s.has(items[i].Source) {
			v.hide(s, i)
			return
		}
	}
}

// hide sets at to the items of the scope. first is the first item that is not in the scope.
func (v *rowView) hide(s scope, first int) {
	v.at = slices.Grow(v.room[:0], len(v.items))
	for i := range first {
		v.at = append(v.at, int32(i))
	}
	for i := first + 1; i < len(v.items); i++ {
		if s.has(v.items[i].Source) {
			v.at = append(v.at, int32(i))
		}
	}
}

// index returns the index of the item of a row.
func (v *rowView) index(row int) int {
	if v.at != nil {
		return int(v.at[row])
	}
	return row
}

func (v *rowView) item(i int) *pipeline.Item { return &v.items[v.index(i)] }

func (v *rowView) Len() int {
	if v.at != nil {
		return len(v.at)
	}
	return len(v.items)
}

func (v *rowView) ID(i int) string { return v.item(i).ID }

func (v *rowView) Score(i int) float64 { return v.item(i).Score }

func (v *rowView) CopyScores(dst []float64) {
	if v.at != nil {
		for row, i := range v.at {
			dst[row] = v.items[i].Score
		}
		return
	}
	dst = dst[:len(v.items)]
	for i := range v.items {
		dst[i] = v.items[i].Score
	}
}

func (v *rowView) Text(i int) string { return v.item(i).Content }

func (v *rowView) Metadata(i int) map[string]any { return v.item(i).Metadata }

func (v *rowView) Source(i int) string { return string(v.item(i).Source) }

func (v *rowView) Priority(i int) int { return v.item(i).Priority }

func (v *rowView) TokenCount(i int) int { return v.item(i).TokenCount }

func (v *rowView) CreatedAt(i int) time.Time { return v.item(i).CreatedAt }

func (v *rowView) Embedding(i int) []float32 {
	if v.vectors == nil {
		return nil
	}
	return v.vectors[i]
}

// addVectors gets the vectors of the rows if the guest reads them.
func (v *rowView) addVectors(ctx context.Context, reads abi.ColumnSet) (err error) {
	if !reads.Has(abi.ColumnEmbedding) {
		return nil
	}
	rows := make([]*pipeline.Item, v.Len())
	for i := range rows {
		rows[i] = v.item(i)
	}
	v.vectors, err = pipeline.ItemVectors(ctx, rows)
	return err
}

// abiItems converts items for documents, with the given columns only.
func abiItems(ctx context.Context, items []pipeline.Item, reads abi.ColumnSet) ([]abi.Item, error) {
	v := rowView{items: items}
	if err := v.addVectors(ctx, reads); err != nil {
		return nil, err
	}
	out := make([]abi.Item, len(items))
	for i := range items {
		out[i] = abiItem(&items[i], reads)
		out[i].Embedding = v.Embedding(i)
	}
	return out, nil
}

func abiItem(it *pipeline.Item, reads abi.ColumnSet) (out abi.Item) {
	set := func(c abi.Column, f func()) {
		if reads.Has(c) {
			f()
		}
	}
	set(abi.ColumnID, func() { out.ID = it.ID })
	set(abi.ColumnText, func() { out.Content = it.Content })
	set(abi.ColumnSource, func() { out.Source = string(it.Source) })
	set(abi.ColumnScore, func() { out.Score = it.Score })
	set(abi.ColumnPriority, func() { out.Priority = it.Priority })
	set(abi.ColumnTokenCount, func() { out.TokenCount = it.TokenCount })
	set(abi.ColumnMetadata, func() { out.Metadata = it.Metadata })
	set(abi.ColumnCreatedAt, func() { out.CreatedAt = it.CreatedAt })
	return out
}

// abiQuery converts a query for a guest.
func (o *operation) abiQuery(ctx context.Context, q *pipeline.Query) (*abi.Query, error) {
	out, err := o.guestQuery(ctx, q)
	return &out, err
}

// guestQuery is abiQuery without an allocation for the query. It does not convert turns if
// the guest does not read them. The call leaves out the other parts that the guest does not
// read. It makes a missing vector only for a guest that names it: a manifest without part names
// stands for what the query has.
func (o *operation) guestQuery(ctx context.Context, q *pipeline.Query) (out abi.Query, err error) {
	out = abi.Query{Text: q.Text, Embedding: q.Embedding, Metadata: q.Metadata}
	parts := o.Parts()
	if parts.Has(abi.PartChatHistory) {
		out.ChatHistory = abiTurns(q.ChatHistory)
	}
	if !parts.Whole() && parts.Has(abi.PartQueryEmbedding) {
		out.Embedding, err = pipeline.QueryVector(ctx, q)
	}
	return out, err
}

func abiTurns(turns []pipeline.Turn) []abi.Turn {
	if len(turns) == 0 {
		return nil
	}
	out := make([]abi.Turn, len(turns))
	for i, t := range turns {
		out[i] = abi.Turn{Role: string(t.Role), Content: t.Content, TokenCount: t.TokenCount,
			CreatedAt: t.CreatedAt, Sequence: t.Sequence, Metadata: t.Metadata}
	}
	return out
}

// hostQuery converts a query of a guest. Members that the guest leaves out are taken from
// the query that it received.
func hostQuery(q *abi.Query, asked *pipeline.Query) pipeline.Query {
	out := pipeline.Query{Text: q.Text, Embedding: q.Embedding, Metadata: q.Metadata}
	if out.Embedding == nil && q.Text == asked.Text {
		out.Embedding = asked.Embedding
	}
	if out.Metadata == nil {
		out.Metadata = asked.Metadata
	}
	out.ChatHistory = asked.ChatHistory
	if q.ChatHistory != nil {
		out.ChatHistory = make([]pipeline.Turn, len(q.ChatHistory))
		for i, t := range q.ChatHistory {
			out.ChatHistory[i] = pipeline.Turn{Role: pipeline.Role(t.Role), Content: t.Content, TokenCount: t.TokenCount,
				CreatedAt: t.CreatedAt, Sequence: t.Sequence, Metadata: t.Metadata}
		}
		keepWhole(out.ChatHistory, asked.ChatHistory)
	}
	return out
}

// keepWhole gives turns that come back with the same role and text their whole messages,
// because a guest does not see these. The order distinguishes equal turns.
func keepWhole(turns, sent []pipeline.Turn) {
	for i, at := range handedBack(turnLooks(turns), turnLooks(sent)) {
		if at >= 0 {
			turns[i].Whole = sent[at].Whole
		}
	}
}

// turnLooks returns what identifies turns to a guest, in the form of messages.
func turnLooks(turns []pipeline.Turn) []abi.Message {
	out := make([]abi.Message, len(turns))
	for i := range turns {
		out[i] = abi.Message{Role: string(turns[i].Role), Content: turns[i].Content}
	}
	return out
}
