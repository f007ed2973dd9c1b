package abi

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// ChangesWriter writes change sets and reuses its storage for the next one. The zero value
// is ready. It is not safe for concurrent use.
type ChangesWriter struct{ w changesWriter }

// Append does what AppendChanges does, with the storage of w.
func (w *ChangesWriter) Append(dst []byte, c *Changes) ([]byte, error) {
	w.w.reset(c)
	dst, err := w.w.append(dst)
	w.w.c = nil
	return dst, err
}

// changesWriter plans and writes one change set.
type changesWriter struct {
	layout   layout.Plan
	c        *Changes
	text     []int
	meta     []int
	priority []int
	editMeta layout.MetaTable
	itemMeta layout.MetaTable
}

// AppendChanges appends c to dst in the layout of the batch lane. An error names the part
// that the layout cannot hold: metadata of an unsupported type, a time or a priority out
// of range, a score that is not finite; or it wraps [ErrTooLarge]. An edit without any
// change is left out. [Changes.Check] checks whether the rows exist and whether the step
// may make the changes.
func AppendChanges(dst []byte, c *Changes) ([]byte, error) {
	var w ChangesWriter
	return w.Append(dst, c)
}

// reset makes w ready for c.
func (w *changesWriter) reset(c *Changes) {
	w.c = c
	w.layout.Reset()
	w.text, w.meta, w.priority = w.text[:0], w.meta[:0], w.priority[:0]
	w.editMeta.Strict, w.itemMeta.Strict = true, true
}

func (w *changesWriter) append(dst []byte) ([]byte, error) {
	if err := w.plan(); err != nil {
		return dst, err
	}
	size, err := w.layout.Finish()
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = inplace.Grow(dst, size)
	return dst, w.put(dst[start:])
}

func (w *changesWriter) plan() error {
	if len(w.c.Items) > MaxRows {
		return layout.TooLarge("has " + strconv.Itoa(len(w.c.Items)) + " new items (at most " + strconv.Itoa(MaxRows) + ")")
	}
	if len(w.c.Items) > 0 {
		if err := w.planItems(); err != nil {
			return err
		}
	}
	if w.c.Keep != nil {
		w.layout.Add(layout.SectionKeep, 4*len(w.c.Keep))
	}
	if err := w.planEdits(); err != nil {
		return err
	}
	if n := len(w.c.Scores); n > 0 {
		w.layout.Add(layout.SectionScoreRows, 4*n)
		w.layout.Add(layout.SectionScoreValues, 8*n)
	}
	if w.c.Order != nil {
		w.layout.Add(layout.SectionOrder, 4*len(w.c.Order))
	}
	return nil
}

// planItems plans the columns of the new items; columns that no item fills are
// left out.
func (w *changesWriter) planItems() error {
	items := w.c.Items
	keys, texts, sources := 0, 0, 0
	var priority, created, meta bool
	w.itemMeta.Reset()
	for i := range items {
		it := &items[i]
		keys, texts, sources = keys+len(it.Key), texts+len(it.Content), sources+len(it.Source)
		priority = priority || it.Priority != 0
		created = created || !it.CreatedAt.IsZero()
		meta = meta || it.Metadata != nil
		if err := w.itemMeta.Add(it.Metadata); err != nil {
			return &ChangeError{Part: "items", Index: i, Row: -1, Msg: err.Error()}
		}
	}
	n := len(items)
	if keys > 0 {
		w.layout.Add(layout.Section(ColumnID), 4*(n+1)+keys)
	}
	w.layout.Add(layout.Section(ColumnScore), 8*n)
	w.layout.Add(layout.Section(ColumnText), 4*(n+1)+texts)
	if meta {
		w.layout.Add(layout.Section(ColumnMetadata), w.itemMeta.Size())
	}
	if sources > 0 {
		w.layout.Add(layout.Section(ColumnSource), 4*(n+1)+sources)
	}
	if priority {
		w.layout.Add(layout.Section(ColumnPriority), 4*n)
	}
	if created {
		w.layout.Add(layout.Section(ColumnCreatedAt), 8*n)
	}
	return nil
}

func (w *changesWriter) planEdits() error {
	texts := 0
	for i := range w.c.Edits {
		e := &w.c.Edits[i]
		if e.Content != nil {
			w.text, texts = append(w.text, i), texts+len(*e.Content)
		}
		if e.Priority != nil {
			w.priority = append(w.priority, i)
		}
		if e.Metadata == nil {
			continue
		}
		if len(w.meta) == 0 {
			w.editMeta.Reset()
		}
		w.meta = append(w.meta, i)
		if err := w.editMeta.Add(e.Metadata); err != nil {
			return &ChangeError{Part: "edits", Index: i, Row: int64(e.Row), Msg: err.Error()}
		}
	}
	if n := len(w.text); n > 0 {
		w.layout.Add(layout.SectionTextRows, 4*n)
		w.layout.Add(layout.SectionTextValues, 4*(n+1)+texts)
	}
	if n := len(w.meta); n > 0 {
		w.layout.Add(layout.SectionMetadataRows, 4*n)
		w.layout.Add(layout.SectionMetadataValues, w.editMeta.Size())
	}
	if n := len(w.priority); n > 0 {
		w.layout.Add(layout.SectionPriorityRows, 4*n)
		w.layout.Add(layout.SectionPriorityValues, 4*n)
	}
	return nil
}

func (w *changesWriter) put(dst []byte) error {
	w.layout.Put(dst, layout.ChangesMagic, len(w.c.Items))
	for _, s := range w.layout.Sections() {
		sec := dst[s.Off : s.Off+s.N]
		var err error
		if s.ID < 256 {
			err = w.putItems(Column(s.ID), sec)
		} else {
			err = w.putPart(s.ID, sec)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *changesWriter) putItems(c Column, dst []byte) error {
	items := w.c.Items
	switch c {
	case ColumnID:
		layout.PutStrings(dst, len(items), func(i int) string { return items[i].Key })
	case ColumnText:
		layout.PutStrings(dst, len(items), func(i int) string { return items[i].Content })
	case ColumnSource:
		layout.PutStrings(dst, len(items), func(i int) string { return items[i].Source })
	case ColumnMetadata:
		w.itemMeta.Put(dst)
	default:
		for i := range items {
			if err := putItemNumber(c, dst, i, &items[i]); err != nil {
				return &ChangeError{Part: "items", Index: i, Row: -1, Msg: c.String() + " " + err.Error()}
			}
		}
	}
	return nil
}

func putItemNumber(c Column, dst []byte, i int, it *NewItem) error {
	le := binary.LittleEndian
	switch c {
	case ColumnScore:
		le.PutUint64(dst[8*i:], math.Float64bits(it.Score))
		if it.Score-it.Score != 0 {
			return jsontext.ErrFinite
		}
	case ColumnPriority:
		le.PutUint32(dst[4*i:], uint32(it.Priority))
		return jsontext.CheckNumber(it.Priority)
	case ColumnCreatedAt:
		ns, err := jsontext.Nanoseconds(it.CreatedAt)
		le.PutUint64(dst[8*i:], uint64(ns))
		return err
	}
	return nil
}

func (w *changesWriter) putPart(id layout.Section, dst []byte) error {
	le, c := binary.LittleEndian, w.c
	switch id {
	case layout.SectionKeep:
		inplace.PutU32s(dst, c.Keep)
	case layout.SectionOrder:
		inplace.PutU32s(dst, c.Order)
	case layout.SectionTextRows:
		w.putRows(dst, w.text)
	case layout.SectionTextValues:
		layout.PutStrings(dst, len(w.text), func(i int) string { return *c.Edits[w.text[i]].Content })
	case layout.SectionMetadataRows:
		w.putRows(dst, w.meta)
	case layout.SectionMetadataValues:
		w.editMeta.Put(dst)
	case layout.SectionPriorityRows:
		w.putRows(dst, w.priority)
	case layout.SectionPriorityValues:
		for i, e := range w.priority {
			p := *c.Edits[e].Priority
			if err := jsontext.CheckNumber(p); err != nil {
				return &ChangeError{Part: "edits", Index: e, Row: int64(c.Edits[e].Row), Msg: "priority " + err.Error()}
			}
			le.PutUint32(dst[4*i:], uint32(p))
		}
	case layout.SectionScoreRows:
		for i, s := range c.Scores {
			le.PutUint32(dst[4*i:], s.Row)
		}
	case layout.SectionScoreValues:
		for i, s := range c.Scores {
			if s.Score-s.Score != 0 {
				return &ChangeError{Part: "scores", Index: i, Row: int64(s.Row), Msg: "score " + string(jsontext.ErrFinite)}
			}
			le.PutUint64(dst[8*i:], math.Float64bits(s.Score))
		}
	}
	return nil
}

func (w *changesWriter) putRows(dst []byte, edits []int) {
	for i, e := range edits {
		binary.LittleEndian.PutUint32(dst[4*i:], w.c.Edits[e].Row)
	}
}
