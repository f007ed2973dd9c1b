package abi

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// changesReader holds the sections of a change set until all are read.
type changesReader struct {
	d         directory
	c         *Changes
	keys      stringsView
	texts     stringsView
	sources   stringsView
	meta      metaView
	scores    []float64
	priority  []uint32
	created   []uint64
	textRows  []uint32
	metaRows  []uint32
	prioRows  []uint32
	scoreRows []uint32
	edits     []Edit
	// keep and order are memory for the lists of that name.
	keep, order []uint32
}

// DecodeChanges reads a change set of the batch lane. Nothing in the result
// aliases b. It checks the layout, and that texts are UTF-8; whether the rows exist
// and the step may do all this is for [Changes.Check]. The error is a *[ChangeError].
func DecodeChanges(b []byte) (*Changes, error) {
	c := new(Changes)
	if err := c.Decode(b); err != nil {
		return nil, err
	}
	return c, nil
}

// Decode is [DecodeChanges] into c, whatever was in it; Keep and Order take the place of
// those before. After an error there are no changes in c.
func (c *Changes) Decode(b []byte) error {
	r := changesReader{c: c, keep: c.Keep[:0], order: c.Order[:0]}
	*c = Changes{}
	err := r.read(b)
	if err != nil {
		*c = Changes{}
		return malformed(err)
	}
	return nil
}

// read reads all sections.
func (r *changesReader) read(b []byte) (err error) {
	if r.d, err = openDirectory(b, ChangesMagic); err != nil {
		return err
	}
	for {
		id, sec, err := r.d.next()
		switch {
		case err != nil:
			return err
		case id == 0:
			return r.finish()
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

// malformed turns an error about the layout into the one type of this package
// for change sets.
func malformed(err error) error {
	var e *ChangeError
	if errors.As(err, &e) {
		return e
	}
	msg := err.Error()
	var f formatError
	if errors.As(err, &f) {
		msg = f.msg
	}
	return &ChangeError{Index: -1, Row: -1, Msg: msg, Err: err}
}

// column reads a column of the new items.
func (r *changesReader) column(id Section, sec []byte) (err error) {
	n := r.d.rows
	switch Column(id) {
	case ColumnID:
		r.keys, err = r.d.openStrings(id, sec, n)
	case ColumnScore:
		r.scores, err = f64s(sec), r.d.size(id, sec, 8*n)
	case ColumnText:
		r.texts, err = r.d.openStrings(id, sec, n)
	case ColumnMetadata:
		r.meta, err = r.d.openMeta(id, sec, n)
	case ColumnSource:
		r.sources, err = r.d.openStrings(id, sec, n)
	case ColumnPriority:
		r.priority, err = u32s(sec), r.d.size(id, sec, 4*n)
	case ColumnCreatedAt:
		r.created, err = u64s(sec), r.d.size(id, sec, 8*n)
	}
	return err
}

// part reads a part of the change set. The rows of a pair come first, since
// sections are in the order of their ids.
func (r *changesReader) part(id Section, sec []byte) (err error) {
	switch id {
	case SectionKeep:
		r.c.Keep, err = r.rowList(id, sec, r.keep)
	case SectionTextRows:
		r.textRows, err = r.rowList(id, sec, nil)
	case SectionTextValues:
		err = r.textEdits(id, sec)
	case SectionMetadataRows:
		r.metaRows, err = r.rowList(id, sec, nil)
	case SectionMetadataValues:
		err = r.metadataEdits(id, sec)
	case SectionPriorityRows:
		r.prioRows, err = r.rowList(id, sec, nil)
	case SectionPriorityValues:
		err = r.priorityEdits(id, sec)
	case SectionScoreRows:
		r.scoreRows, err = r.rowList(id, sec, nil)
	case SectionScoreValues:
		err = r.rowScores(id, sec)
	case SectionOrder:
		r.c.Order, err = r.rowList(id, sec, r.order)
	}
	return err
}

// rowList copies a list of rows, into room if there is enough; an empty one is not nil.
func (r *changesReader) rowList(id Section, sec []byte, room []uint32) ([]uint32, error) {
	if err := r.d.size(id, sec, len(sec)&^3); err != nil {
		return nil, err
	}
	if room == nil || cap(room) < len(sec)/4 {
		room = make([]uint32, 0, len(sec)/4)
	}
	return append(room, u32s(sec)...), nil
}

func (r *changesReader) textEdits(id Section, sec []byte) error {
	v, err := r.d.openStrings(id, sec, len(r.textRows))
	if err != nil {
		return err
	}
	for i, row := range r.textRows {
		s, ok := cloneText(v.at(i))
		if !ok {
			return &ChangeError{Part: "edits", Index: i, Row: int64(row), Msg: "content " + notUTF8, Err: ErrMalformed}
		}
		r.edits = append(r.edits, Edit{Row: row, Content: &s})
	}
	r.textRows = nil
	return nil
}

func (r *changesReader) metadataEdits(id Section, sec []byte) error {
	v, err := r.d.openMeta(id, sec, len(r.metaRows))
	if err != nil {
		return err
	}
	for i, row := range r.metaRows {
		m, err := v.decode(i)
		if err != nil {
			return &ChangeError{Part: "edits", Index: i, Row: int64(row), Msg: "metadata " + err.Error(), Err: ErrMalformed}
		}
		r.edits = append(r.edits, Edit{Row: row, Metadata: m})
	}
	r.metaRows = nil
	return nil
}

func (r *changesReader) priorityEdits(id Section, sec []byte) error {
	if err := r.d.size(id, sec, 4*len(r.prioRows)); err != nil {
		return err
	}
	values := u32s(sec)
	for i, row := range r.prioRows {
		p := intOf(values[i])
		r.edits = append(r.edits, Edit{Row: row, Priority: &p})
	}
	r.prioRows = nil
	return nil
}

func (r *changesReader) rowScores(id Section, sec []byte) error {
	if err := r.d.size(id, sec, 8*len(r.scoreRows)); err != nil {
		return err
	}
	values := f64s(sec)
	for i, row := range r.scoreRows {
		r.c.Scores = append(r.c.Scores, RowScore{row, values[i]})
	}
	r.scoreRows = nil
	return nil
}

// intOf keeps a u32 within 31 bits, so that it is never negative where int has
// 32; Check refuses either.
func intOf(v uint32) int { return int(min(v, math.MaxInt32)) }

// finish merges the edits and builds the new items.
func (r *changesReader) finish() error {
	for _, p := range []struct {
		id   Section
		rows []uint32
	}{
		{SectionTextRows, r.textRows}, {SectionMetadataRows, r.metaRows},
		{SectionPriorityRows, r.prioRows}, {SectionScoreRows, r.scoreRows},
	} {
		if len(p.rows) > 0 {
			return r.d.fail("has section " + p.id.String() + " without its values")
		}
	}
	r.c.Edits = mergeEdits(r.edits)
	if r.d.rows > 0 {
		return r.items()
	}
	return nil
}

// mergeEdits sorts edits by row and joins those of one row that do not name the
// same part; Check refuses a row that is left twice.
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

// items builds the new items; the text is the only column they need.
func (r *changesReader) items() error {
	if r.texts.off == nil {
		return r.d.fail("has " + strconv.Itoa(r.d.rows) + " new items without section text")
	}
	r.c.Items = make([]NewItem, r.d.rows)
	for i := range r.c.Items {
		it := &r.c.Items[i]
		var ok bool
		if it.Content, ok = cloneText(r.texts.at(i)); !ok {
			return &ChangeError{Part: "items", Index: i, Row: -1, Msg: "content " + notUTF8, Err: ErrMalformed}
		}
		it.Key = strings.Clone(r.keys.at(i))
		it.Source = strings.Clone(r.sources.at(i))
		if r.scores != nil {
			it.Score = r.scores[i]
		}
		if r.priority != nil {
			it.Priority = intOf(r.priority[i])
		}
		if r.created != nil {
			it.CreatedAt = timeOf(int64(r.created[i]))
		}
		if from, to := r.meta.span(i); from == to {
			continue
		}
		var err error
		if it.Metadata, err = r.meta.decode(i); err != nil {
			return &ChangeError{Part: "items", Index: i, Row: -1, Msg: "metadata " + err.Error(), Err: ErrMalformed}
		}
	}
	return nil
}

// decode returns the metadata of row i, which does not alias the section.
func (v *metaView) decode(i int) (Metadata, error) {
	from, to := v.span(i)
	m := make(Metadata, to-from)
	for e := from; e < to; e++ {
		val, err := v.value(e).decode()
		if err != nil {
			return nil, keyError{v.key(e), err}
		}
		m[strings.Clone(v.key(e))] = val
	}
	if len(m) != int(to-from) {
		return nil, valueError("names a key twice")
	}
	return m, nil
}
