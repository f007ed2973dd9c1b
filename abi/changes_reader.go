package abi

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
)

// changesReader holds the sections of a change set in place until all have been checked.
// Memory for their content is allocated only then.
type changesReader struct {
	d      layout.Directory
	c      *Changes
	within Bounds
	meter  strictjson.Meter

	keys     layout.Strings
	texts    layout.Strings
	sources  layout.Strings
	meta     *metaColumn
	scores   []float64
	priority []uint32
	created  []uint64

	keep, order              []uint32
	hasKeep, hasOrder        bool
	textRows, metaRows       []uint32
	prioRows, scoreRows      []uint32
	textEdits                layout.Strings
	metaEdits                *metaColumn
	prioEdits                []uint32
	rowScores                []float64
	hasText, hasMeta         bool
	hasPriority, hasRowScore bool
}

// metaColumn is the metadata of a change set.
type metaColumn struct {
	layout.MetaView
	// names is a copy of the text of the keys. It is made when it is first needed.
	names string
}

// DecodeChanges reads a change set of the batch lane. Nothing in the result aliases b. It
// checks the layout, texts and metadata. [Changes.Check] checks whether the rows exist and
// whether the step may make the changes. The error is a *[ChangeError].
func DecodeChanges(b []byte) (*Changes, error) {
	c := new(Changes)
	if err := c.Decode(b); err != nil {
		return nil, err
	}
	return c, nil
}

// Decode does what [DecodeChanges] does. The result replaces what was in c, and reuses the
// memory of Keep and Order. After an error c is empty.
func (c *Changes) Decode(b []byte) error { return c.DecodeWithin(b, WidestBounds()) }

// DecodeWithin is Decode with narrower bounds. The error is a *[ChangeError], which may wrap
// [ErrNotGranted], or that of the Meter.
func (c *Changes) DecodeWithin(b []byte, within Bounds) error {
	keep, order := c.Keep[:0], c.Order[:0]
	*c = Changes{}
	r := changesReader{c: c, within: within, meter: within.meter(len(b), within.Rows)}
	err := r.read(b)
	if err == nil {
		err = r.build(keep, order)
	}
	if err != nil {
		*c = Changes{}
		return refused(err)
	}
	return nil
}

// read checks all sections.
func (r *changesReader) read(b []byte) (err error) {
	if r.d, err = layout.Open(b, layout.ChangesMagic); err != nil {
		return err
	}
	if err := r.within.admitItems(r.d.Rows); err != nil {
		return err
	}
	for {
		id, sec, err := r.d.Next()
		switch {
		case err != nil:
			return err
		case id == 0:
			return r.complete()
		case id < 256:
			err = r.column(id, sec)
		default:
			err = r.part(id, sec)
		}
		if err != nil {
			return err
		}
	}
}

// column reads a column of the new items.
func (r *changesReader) column(id layout.Section, sec []byte) (err error) {
	n := r.d.Rows
	switch Column(id) {
	case ColumnID:
		r.keys, err = r.d.OpenStrings(id, sec, n)
	case ColumnScore:
		r.scores, err = inplace.F64s(sec), r.d.CheckSize(id, sec, 8*n)
	case ColumnText:
		r.texts, err = r.d.OpenStrings(id, sec, n)
	case ColumnMetadata:
		r.meta, err = r.openMeta(id, sec, n)
	case ColumnSource:
		r.sources, err = r.d.OpenStrings(id, sec, n)
	case ColumnPriority:
		r.priority, err = inplace.U32s(sec), r.d.CheckSize(id, sec, 4*n)
	case ColumnCreatedAt:
		r.created, err = inplace.U64s(sec), r.d.CheckSize(id, sec, 8*n)
	}
	return err
}

// openMeta checks a metadata section. Its view is allocated only here, because it is
// large and few change sets need one.
func (r *changesReader) openMeta(id layout.Section, sec []byte, n int) (*metaColumn, error) {
	v, err := r.d.OpenMeta(id, sec, n)
	return &metaColumn{MetaView: v}, err
}

// part reads a part of the change set. The rows of a pair come first, since
// sections are in the order of their ids.
func (r *changesReader) part(id layout.Section, sec []byte) (err error) {
	w := &r.within
	switch id {
	case layout.SectionKeep:
		r.keep, err = r.rowList(id, sec, "keep", ChangeKeep, w.Rows)
		r.hasKeep = true
	case layout.SectionTextRows:
		r.textRows, err = r.rowList(id, sec, "edits", ChangeText, w.Rows)
	case layout.SectionTextValues:
		r.textEdits, err = r.d.OpenStrings(id, sec, len(r.textRows))
		r.hasText = true
	case layout.SectionMetadataRows:
		r.metaRows, err = r.rowList(id, sec, "edits", ChangeMetadata, w.Rows)
	case layout.SectionMetadataValues:
		r.metaEdits, err = r.openMeta(id, sec, len(r.metaRows))
		r.hasMeta = true
	case layout.SectionPriorityRows:
		r.prioRows, err = r.rowList(id, sec, "edits", ChangePriority, w.Rows)
	case layout.SectionPriorityValues:
		r.prioEdits, err = inplace.U32s(sec), r.d.CheckSize(id, sec, 4*len(r.prioRows))
		r.hasPriority = true
	case layout.SectionScoreRows:
		r.scoreRows, err = r.rowList(id, sec, "scores", ChangeScore, w.Rows)
	case layout.SectionScoreValues:
		r.rowScores, err = inplace.F64s(sec), r.d.CheckSize(id, sec, 8*len(r.scoreRows))
		r.hasRowScore = true
	case layout.SectionOrder:
		r.order, err = r.rowList(id, sec, "order", ChangeOrder, w.Rows+r.d.Rows)
		r.hasOrder = true
	}
	return err
}

// rowList checks a list of at most the given number of rows. An empty list is a change
// only in keep, where it drops every row.
func (r *changesReader) rowList(id layout.Section, sec []byte, part string, change Change, most int) ([]uint32, error) {
	if err := r.d.CheckSize(id, sec, len(sec)&^3); err != nil {
		return nil, err
	}
	if len(sec) > 0 || change == ChangeKeep || change == ChangeOrder {
		if err := r.within.admit(part, change, len(sec)/4, most); err != nil {
			return nil, err
		}
	}
	return inplace.U32s(sec), nil
}

// complete refuses rows without values, and new items without text.
func (r *changesReader) complete() error {
	without := layout.Section(0)
	switch {
	case len(r.textRows) > 0 && !r.hasText:
		without = layout.SectionTextRows
	case len(r.metaRows) > 0 && !r.hasMeta:
		without = layout.SectionMetadataRows
	case len(r.prioRows) > 0 && !r.hasPriority:
		without = layout.SectionPriorityRows
	case len(r.scoreRows) > 0 && !r.hasRowScore:
		without = layout.SectionScoreRows
	}
	if without != 0 {
		return r.d.Fail("has section " + without.String() + " without its values")
	}
	if r.d.Rows > 0 && r.texts.Absent() {
		return r.d.Fail("has " + strconv.Itoa(r.d.Rows) + " new items without section text")
	}
	return nil
}

// build makes the change set. It may reuse the memory of keep and order for the lists of
// these names.
func (r *changesReader) build(keep, order []uint32) (err error) {
	if r.hasKeep {
		if r.c.Keep, err = r.copyRows(r.keep, keep); err != nil {
			return err
		}
	}
	if r.hasOrder {
		if r.c.Order, err = r.copyRows(r.order, order); err != nil {
			return err
		}
	}
	if len(r.scoreRows) > 0 {
		if err := r.buildScores(); err != nil {
			return err
		}
	}
	if n := len(r.textRows) + len(r.metaRows) + len(r.prioRows); n > 0 {
		if err := r.buildEdits(n); err != nil {
			return err
		}
	}
	if r.d.Rows > 0 {
		return r.buildItems()
	}
	return nil
}

// copyRows copies a list of rows, into room if it is large enough. The result is never
// nil.
func (r *changesReader) copyRows(rows, room []uint32) ([]uint32, error) {
	if room == nil || cap(room) < len(rows) {
		if err := r.meter.Charge(4 * int64(len(rows))); err != nil {
			return nil, err
		}
		room = make([]uint32, 0, len(rows))
	}
	return append(room, rows...), nil
}

func (r *changesReader) buildScores() error {
	if err := r.meter.Charge(inplace.SizeOf[RowScore]() * int64(len(r.scoreRows))); err != nil {
		return err
	}
	r.c.Scores = make([]RowScore, len(r.scoreRows))
	for i, row := range r.scoreRows {
		r.c.Scores[i] = RowScore{row, r.rowScores[i]}
	}
	return nil
}

// buildEdits makes the n edits and joins those of one row.
func (r *changesReader) buildEdits(n int) error {
	one := inplace.SizeOf[Edit]()
	if err := r.meter.Charge(one*int64(n) + strictjson.ElementSize*int64(len(r.textRows)) + strictjson.NumberSize*int64(len(r.prioRows))); err != nil {
		return err
	}
	edits := make([]Edit, 0, n)
	for i, row := range r.textRows {
		s, err := r.text(r.textEdits.At(i), "edits", i, int64(row))
		if err != nil {
			return err
		}
		edits = append(edits, Edit{Row: row, Content: &s})
	}
	for i, row := range r.metaRows {
		m, err := r.metadata(r.metaEdits, i, "edits", int64(row))
		if err != nil {
			return err
		}
		edits = append(edits, Edit{Row: row, Metadata: m})
	}
	for i, row := range r.prioRows {
		p := intOf(r.prioEdits[i])
		edits = append(edits, Edit{Row: row, Priority: &p})
	}
	r.c.Edits = mergeEdits(edits)
	return nil
}

// text copies a text and requires it to be UTF-8.
func (r *changesReader) text(s, part string, i int, row int64) (string, error) {
	if err := r.meter.Charge(strictjson.TextBytes(len(s))); err != nil {
		return "", err
	}
	clone, ok := inplace.CloneText(s)
	if !ok {
		return "", &ChangeError{Part: part, Index: i, Row: row, Msg: "content " + notUTF8, Err: ErrMalformed}
	}
	return clone, nil
}

// intOf limits a u32 to 31 bits, so that it is never negative where int has 32 bits. Check
// refuses the limited value as it would the original.
func intOf(v uint32) int { return int(min(v, math.MaxInt32)) }

// mergeEdits sorts edits by row and joins the edits of a row unless they name the same part.
// Check refuses a row that has two edits after that.
func mergeEdits(edits []Edit) []Edit {
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Compare(a.Row, b.Row)
	})
	merged := edits[:0]
	for _, e := range edits {
		if n := len(merged); n > 0 && merged[n-1].Row == e.Row && merged[n-1].join(e) {
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

// join adds the parts of o to e, unless both name the same.
func (e *Edit) join(o Edit) bool {
	if e.Content != nil && o.Content != nil || e.Metadata != nil && o.Metadata != nil || e.Priority != nil && o.Priority != nil {
		return false
	}
	if o.Content != nil {
		e.Content = o.Content
	}
	if o.Metadata != nil {
		e.Metadata = o.Metadata
	}
	if o.Priority != nil {
		e.Priority = o.Priority
	}
	return true
}

// buildItems makes the new items. Only their text is required.
func (r *changesReader) buildItems() (err error) {
	if err := r.meter.Charge(inplace.SizeOf[NewItem]() * int64(r.d.Rows)); err != nil {
		return err
	}
	r.c.Items = make([]NewItem, r.d.Rows)
	for i := range r.c.Items {
		it := &r.c.Items[i]
		if it.Content, err = r.text(r.texts.At(i), "items", i, -1); err != nil {
			return err
		}
		key, source := r.keys.At(i), r.sources.At(i)
		if err := r.meter.Charge(strictjson.TextBytes(len(key)) + strictjson.TextBytes(len(source))); err != nil {
			return err
		}
		it.Key, it.Source = strings.Clone(key), strings.Clone(source)
		if r.scores != nil {
			it.Score = r.scores[i]
		}
		if r.priority != nil {
			it.Priority = intOf(r.priority[i])
		}
		if r.created != nil {
			it.CreatedAt = jsontext.Time(int64(r.created[i]))
		}
		if r.meta == nil {
			continue
		}
		if from, to := r.meta.Span(i); from == to {
			continue
		}
		if it.Metadata, err = r.metadata(r.meta, i, "items", -1); err != nil {
			return err
		}
	}
	return nil
}

// metadata returns the metadata of element i of a section. Elements share the text of
// their keys.
func (r *changesReader) metadata(v *metaColumn, i int, part string, row int64) (Metadata, error) {
	if v.names == "" && len(v.KeyText()) > 0 {
		if err := r.meter.Charge(strictjson.TextBytes(len(v.KeyText()))); err != nil {
			return nil, err
		}
		v.names = string(v.KeyText())
	}
	m, err := v.decode(i, &r.meter)
	var value jsontext.ValueError
	switch {
	case err == nil:
		return m, nil
	case errors.As(err, &value):
		return nil, &ChangeError{Part: part, Index: i, Row: row, Msg: "metadata " + err.Error(), Err: ErrMalformed}
	}
	return nil, err
}

// decode returns the metadata of row i, which does not alias the section.
func (v *metaColumn) decode(i int, budget *strictjson.Meter) (Metadata, error) {
	from, to := v.Span(i)
	if err := budget.Charge(strictjson.MapBytes(int(to - from))); err != nil {
		return nil, err
	}
	m := make(Metadata, to-from)
	for e := from; e < to; e++ {
		begin, end := v.KeyPlace(e)
		key := v.names[begin:end]
		if err := budget.Handle(len(key)); err != nil {
			return nil, err
		}
		if !utf8.ValidString(key) {
			return nil, jsontext.AtKey(key, jsontext.ValueError("key is not valid UTF-8"))
		}
		val, err := valueOf(&v.MetaView, e).decodeWithin(budget)
		if err != nil {
			return nil, jsontext.AtKey(key, err)
		}
		m[key] = val
	}
	if len(m) != int(to-from) {
		return nil, jsontext.ValueError("names a key twice")
	}
	return m, nil
}
