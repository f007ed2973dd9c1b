package abi

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// RowError names the row, and for metadata the key, that cannot be written.
type RowError struct {
	// Row is the row number, from 0.
	Row int
	// Column is the column whose value is wrong.
	Column Column
	Err    error
}

// Error returns the message on one line.
func (e *RowError) Error() string {
	return "row " + strconv.Itoa(e.Row) + ": " + e.Column.String() + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the value.
func (e *RowError) Unwrap() error { return e.Err }

// stringsPlan holds the measurements of Plan for a strings column.
type stringsPlan struct {
	off    []uint32
	repair bool
}

// BatchWriter writes batches in two steps: Plan says how many bytes are needed,
// Write fills them. The zero value is ready. A writer keeps its scratch space, so its
// next batch allocates nothing. It is not safe for concurrent use.
type BatchWriter struct {
	layout  layout.Plan
	rows    Rows
	n       int
	size    int
	strs    [3]stringsPlan
	meta    layout.MetaTable
	env     Envelope
	query   Query
	fields  []byte
	metaLen int
	// dimension is that of the vectors.
	dimension int
}

// Plan computes the length of the batch for the given columns of rows, which may be nil. Text
// that is not UTF-8 is measured in its repaired form. The error is a *[RowError] if a batch
// cannot hold a value of a row, and wraps [ErrTooLarge] if the batch would be too large. Any
// other error names metadata of the query that a batch cannot hold. Rows and env must not change
// until Write returns.
func (w *BatchWriter) Plan(rows Rows, cols ColumnSet, env *Envelope) (size int, err error) {
	w.release()
	if rows != nil {
		w.n = rows.Len()
		if w.n > MaxRows {
			return 0, layout.TooLarge("has " + strconv.Itoa(w.n) + " rows (at most " + strconv.Itoa(MaxRows) + ")")
		}
		w.rows = rows
		if err := w.planColumns(cols); err != nil {
			w.release()
			return 0, err
		}
	}
	if env != nil {
		if err := w.planFields(env); err != nil {
			w.release()
			return 0, err
		}
	}
	if w.size, err = w.layout.Finish(); err != nil {
		w.release()
	}
	return w.size, err
}

// release forgets the rows of the last batch, so that scratch space does not
// keep them alive.
func (w *BatchWriter) release() {
	w.layout.Reset()
	w.meta.Reset()
	w.rows, w.n, w.size, w.env, w.query = nil, 0, 0, Envelope{}, Query{}
	w.fields, w.metaLen, w.dimension = w.fields[:0], 0, 0
}

func (w *BatchWriter) planColumns(cols ColumnSet) error {
	for _, c := range Columns {
		if !cols.Has(c) {
			continue
		}
		n, err := 0, error(nil)
		switch c {
		case ColumnID:
			n, err = w.planStrings(c, 0)
		case ColumnText:
			n, err = w.planStrings(c, 1)
		case ColumnSource:
			n, err = w.planStrings(c, 2)
		case ColumnMetadata:
			n, err = w.planMetadata()
		case ColumnScore, ColumnCreatedAt:
			n = 8 * w.n
		case ColumnPriority, ColumnTokenCount:
			n = 4 * w.n
		case ColumnEmbedding:
			if w.dimension, err = dimensionOf(w.rows); err == nil {
				n, err = layout.VectorsSize(w.n, w.dimension)
			}
		}
		if err != nil {
			return err
		}
		w.layout.Add(layout.Section(c), n)
	}
	return nil
}

// dimensionOf returns the number of dimensions of the rows' vectors, 0 if no row has one.
func dimensionOf(rows Rows) (int, error) {
	dimension, row, err := layout.DimensionOf(rows.Len(), rows.Embedding)
	if err != nil {
		return 0, &RowError{row, ColumnEmbedding, err}
	}
	return dimension, nil
}

func (w *BatchWriter) planStrings(c Column, slot int) (int, error) {
	p := &w.strs[slot]
	p.off, p.repair = append(slices.Grow(p.off[:0], w.n+1), 0), false
	rows := w.rows
	end := 0
	for i := range w.n {
		s := stringAt(rows, c, i)
		if !utf8.ValidString(s) {
			s, p.repair = jsontext.Repair(s), true
		}
		if end += len(s); end > MaxBytes {
			return 0, layout.TooLarge("has more than " + strconv.Itoa(MaxBytes) + " bytes of text")
		}
		p.off = append(p.off, uint32(end))
	}
	return 4*(w.n+1) + end, nil
}

// stringAt returns a cell of a strings column.
func stringAt(rows Rows, c Column, i int) string {
	switch c {
	case ColumnID:
		return rows.ID(i)
	case ColumnText:
		return rows.Text(i)
	}
	return rows.Source(i)
}

func (w *BatchWriter) planMetadata() (int, error) {
	for i := range w.n {
		if err := w.meta.Add(w.rows.Metadata(i)); err != nil {
			return 0, &RowError{i, ColumnMetadata, err}
		}
	}
	if !w.meta.Valid() && !w.meta.Strict {
		w.meta.Reset()
		w.meta.Strict = true
		return w.planMetadata()
	}
	w.meta.Strict = false
	return w.meta.Size(), nil
}

// Write writes the planned batch to dst, whose length must be the planned size, and releases the
// rows. It checks the values of fixed size: the error is a *[RowError] for a score that is not
// finite, for a number below 0 or above 32 bits, and for a time that does not fit.
func (w *BatchWriter) Write(dst []byte) error {
	defer w.release()
	if w.size == 0 || len(dst) != w.size {
		return layout.TooLarge("was planned with " + strconv.Itoa(w.size) + " bytes and gets " + strconv.Itoa(len(dst)) + " (call Plan before each Write)")
	}
	w.layout.Put(dst, layout.BatchMagic, w.n)
	for _, s := range w.layout.Sections() {
		sec := dst[s.Off : s.Off+s.N]
		if s.ID >= 256 {
			w.putField(s.ID, sec)
			continue
		}
		if err := w.putColumn(Column(s.ID), sec); err != nil {
			return err
		}
	}
	return nil
}

func (w *BatchWriter) putColumn(c Column, dst []byte) error {
	switch c {
	case ColumnID:
		return w.putStrings(dst, c, 0)
	case ColumnScore:
		return w.putScores(dst)
	case ColumnText:
		return w.putStrings(dst, c, 1)
	case ColumnMetadata:
		w.meta.Put(dst)
	case ColumnSource:
		return w.putStrings(dst, c, 2)
	case ColumnPriority:
		return w.putNumbers(dst, c, Rows.Priority)
	case ColumnTokenCount:
		return w.putNumbers(dst, c, Rows.TokenCount)
	case ColumnCreatedAt:
		return w.putTimes(dst)
	case ColumnEmbedding:
		if row, err := layout.PutVectors(dst, w.n, w.dimension, w.rows.Embedding); err != nil {
			return &RowError{row, c, err}
		}
	}
	return nil
}

func (w *BatchWriter) putStrings(dst []byte, c Column, slot int) error {
	p, rows := &w.strs[slot], w.rows
	inplace.PutU32s(dst, p.off)
	dst = dst[4*len(p.off):]
	for i := range w.n {
		s := stringAt(rows, c, i)
		if p.repair {
			s = jsontext.Repair(s)
		}
		from, to := p.off[i], p.off[i+1]
		if len(s) != int(to-from) {
			return &RowError{i, c, jsontext.ValueError("changed between Plan and Write")}
		}
		inplace.CopyText(dst[from:to], s)
	}
	return nil
}

func (w *BatchWriter) putScores(dst []byte) error {
	if all, ok := w.rows.(ScoreCopier); ok && inplace.Castable(dst, 8) {
		scores := inplace.F64s(dst)
		all.CopyScores(scores)
		if i := jsontext.Infinite(scores); i >= 0 {
			return &RowError{i, ColumnScore, jsontext.ErrFinite}
		}
		return nil
	}
	rows := w.rows
	for i := range w.n {
		f := rows.Score(i)
		if f-f != 0 {
			return &RowError{i, ColumnScore, jsontext.ErrFinite}
		}
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(f))
	}
	return nil
}

func (w *BatchWriter) putNumbers(dst []byte, c Column, get func(Rows, int) int) error {
	for i := range w.n {
		n := get(w.rows, i)
		if err := jsontext.CheckNumber(n); err != nil {
			return &RowError{i, c, err}
		}
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(n))
	}
	return nil
}

func (w *BatchWriter) putTimes(dst []byte) error {
	for i := range w.n {
		ns, err := jsontext.Nanoseconds(w.rows.CreatedAt(i))
		if err != nil {
			return &RowError{i, ColumnCreatedAt, err}
		}
		binary.LittleEndian.PutUint64(dst[8*i:], uint64(ns))
	}
	return nil
}
