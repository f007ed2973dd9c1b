package abi

import (
	"math"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// AppendItemsRequest appends the document [ItemsRequest] to dst, with the given
// columns of rows and no others. If rows is nil, the document has no items. Errors are
// those of [BatchWriter]: both lanes refuse and repair the same values.
func AppendItemsRequest(dst []byte, rows Rows, cols ColumnSet, env *Envelope) ([]byte, error) {
	if env == nil {
		env = &Envelope{}
	}
	query := env.Query
	if query == nil {
		query = &Query{}
	}
	dst, err := appendQuery(append(dst, `{"query":`...), query)
	if err != nil {
		return dst, err
	}
	if rows != nil {
		if dst, err = appendItems(dst, rows, cols); err != nil {
			return dst, err
		}
	}
	if env.TopK > 0 {
		dst = strconv.AppendUint(append(dst, `,"top_k":`...), uint64(clampU32(env.TopK)), 10)
	}
	if env.TokensLeft > 0 {
		dst = strconv.AppendUint(append(dst, `,"tokens_left":`...), uint64(clampU32(env.TokensLeft)), 10)
	}
	if len(env.Settings) > 0 {
		dst = append(append(dst, `,"settings":`...), env.Settings...)
	}
	return append(dst, '}'), nil
}

func appendQuery(dst []byte, q *Query) ([]byte, error) {
	var err error
	dst = jsontext.AppendString(append(dst, `{"query_str":`...), q.Text)
	if err := checkQueryVector(q.Embedding); err != nil {
		return dst, err
	}
	if len(q.Embedding) > 0 {
		dst = jsontext.AppendNumbers(append(dst, `,"embedding":`...), q.Embedding)
	}
	if q.Metadata != nil {
		if dst, err = jsontext.AppendObject(append(dst, `,"metadata":`...), q.Metadata, 0); err != nil {
			return dst, jsontext.AtKey("query metadata", err)
		}
	}
	if len(q.ChatHistory) > 0 {
		if dst, err = appendTurns(append(dst, `,"chat_history":`...), q.ChatHistory); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendItems(dst []byte, rows Rows, cols ColumnSet) ([]byte, error) {
	n := rows.Len()
	if n > MaxRows {
		return dst, layout.TooLarge("has " + strconv.Itoa(n) + " rows (at most " + strconv.Itoa(MaxRows) + ")")
	}
	if cols.Has(ColumnEmbedding) {
		if _, err := dimensionOf(rows); err != nil {
			return dst, err
		}
	}
	dst = append(dst, `,"columns":[`...)
	for i, name := range cols.Names() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(dst, name)
	}
	dst = append(dst, `],"items":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		for _, c := range Columns {
			if !cols.Has(c) {
				continue
			}
			var err error
			if dst, err = appendCell(dst, rows, i, c); err != nil {
				return dst, &RowError{i, c, err}
			}
		}
		if len(dst) == start {
			dst = append(dst, '{')
		} else {
			dst[start] = '{'
		}
		dst = append(dst, '}')
		if len(dst) > MaxBytes {
			return dst, layout.TooLarge("needs more than " + strconv.Itoa(MaxBytes) + " bytes as JSON")
		}
	}
	return append(dst, ']'), nil
}

// appendCell appends one member of an item, after a comma.
func appendCell(dst []byte, rows Rows, i int, c Column) ([]byte, error) {
	switch c {
	case ColumnID:
		return jsontext.AppendString(append(dst, `,"id":`...), rows.ID(i)), nil
	case ColumnScore:
		f := rows.Score(i)
		if f-f != 0 {
			return dst, jsontext.ErrFinite
		}
		return jsontext.AppendFloat(append(dst, `,"score":`...), f), nil
	case ColumnText:
		return jsontext.AppendString(append(dst, `,"content":`...), rows.Text(i)), nil
	case ColumnMetadata:
		return jsontext.AppendObject(append(dst, `,"metadata":`...), rows.Metadata(i), 0)
	case ColumnSource:
		return jsontext.AppendString(append(dst, `,"source":`...), rows.Source(i)), nil
	case ColumnPriority:
		n := rows.Priority(i)
		return strconv.AppendInt(append(dst, `,"priority":`...), int64(n), 10), jsontext.CheckNumber(n)
	case ColumnTokenCount:
		n := rows.TokenCount(i)
		return strconv.AppendInt(append(dst, `,"token_count":`...), int64(n), 10), jsontext.CheckNumber(n)
	case ColumnCreatedAt:
		return appendCreatedAt(dst, rows.CreatedAt(i))
	case ColumnEmbedding:
		v := rows.Embedding(i)
		switch {
		case len(v) == 0:
			return dst, nil
		case jsontext.Infinite(v) >= 0:
			return dst, jsontext.ErrFinite
		}
		return jsontext.AppendNumbers(append(dst, `,"embedding":`...), v), nil
	}
	return dst, nil
}

// BatchOf returns a request of the JSON lane in the form of the batch lane, so that one
// function serves both. It has the columns that req.Columns names; nil means every column
// in which an item has a value. The result does not alias req.
func BatchOf(req *ItemsRequest) (*Batch, error) {
	cols, err := ColumnsOf(req.Columns)
	if err != nil {
		return nil, err
	}
	if req.Columns == nil {
		cols = usedColumns(req.Items)
	}
	var rows Rows
	if req.Items != nil {
		rows = ItemRows(req.Items)
	}
	env := Envelope{Query: &req.Query, TopK: req.TopK, TokensLeft: req.TokensLeft, Settings: req.Settings}
	var w BatchWriter
	size, err := w.Plan(rows, cols, &env)
	if err != nil {
		return nil, err
	}
	buf := inplace.AlignedBytes(size)
	if err := w.Write(buf); err != nil {
		return nil, err
	}
	b, err := OpenBatch(buf)
	if err == nil {
		b.guessed = req.Columns == nil
	}
	return b, err
}

// usedColumns returns the columns in which an item has a value.
func usedColumns(items []Item) ColumnSet {
	var s ColumnSet
	for i := range items {
		it := &items[i]
		for _, c := range [...]struct {
			col Column
			has bool
		}{
			{ColumnID, it.ID != ""},
			{ColumnScore, math.Float64bits(it.Score) != 0},
			{ColumnText, it.Content != ""},
			{ColumnMetadata, len(it.Metadata) > 0},
			{ColumnSource, it.Source != ""},
			{ColumnPriority, it.Priority != 0},
			{ColumnTokenCount, it.TokenCount != 0},
			{ColumnCreatedAt, !it.CreatedAt.IsZero()},
			{ColumnEmbedding, len(it.Embedding) > 0},
		} {
			if c.has {
				s = s.With(c.col)
			}
		}
	}
	return s
}
