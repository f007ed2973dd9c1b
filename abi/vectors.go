package abi

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// vectorsHead is the length of the head of a section of vectors: the dimension and a zero.
const vectorsHead = 8

// vectors are the vectors of all rows, one after the other.
type vectors struct {
	dimension int
	values    []float32
}

// openVectors reads a section of vectors.
func openVectors(d *layout.Directory, id layout.Section, sec []byte) (*vectors, error) {
	if len(sec) < vectorsHead {
		return nil, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(vectorsHead) + ")")
	}
	dimension := binary.LittleEndian.Uint32(sec)
	if dimension > MaxDimension {
		return nil, d.Fail("has section " + id.String() + " with vectors of " + strconv.FormatUint(uint64(dimension), 10) + " dimensions (want at most " + strconv.Itoa(MaxDimension) + ")")
	}
	if want := vectorBytes(d.Rows, int(dimension)); int64(len(sec)) != want {
		return nil, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want " + strconv.FormatInt(want, 10) + ")")
	}
	return &vectors{int(dimension), inplace.F32s(sec[vectorsHead:])}, nil
}

// vectorBytes is the length of a section of vectors. It does not fit 32 bits for all valid numbers.
func vectorBytes(rows, dimension int) int64 { return vectorsHead + 4*int64(rows)*int64(dimension) }

// Dimension returns the number of dimensions of the items' vectors, 0 when no item has one.
func (b *Batch) Dimension() int {
	if b.vectors == nil {
		b.missed |= 1 << ColumnEmbedding
		return 0
	}
	return b.vectors.dimension
}

// Embedding returns the vector of row i, nil when it has none.
func (b *Batch) Embedding(i int) []float32 {
	n := b.Dimension()
	if n == 0 {
		return nil
	}
	v := b.vectors.values[i*n : (i+1)*n : (i+1)*n]
	if !slices.ContainsFunc(v, func(f float32) bool { return f != 0 }) {
		return nil
	}
	return v
}

// dimensionOf returns the number of dimensions of the rows' vectors, 0 if no row has one.
func dimensionOf(rows Rows) (dimension int, err error) {
	for i := range rows.Len() {
		n := len(rows.Embedding(i))
		switch {
		case n == 0 || n == dimension:
		case n > MaxDimension:
			return 0, &RowError{i, ColumnEmbedding, jsontext.ValueError("vector has " + strconv.Itoa(n) + " dimensions (want at most " + strconv.Itoa(MaxDimension) + ")")}
		case dimension != 0:
			return 0, &RowError{i, ColumnEmbedding, jsontext.ValueError("vector has " + strconv.Itoa(n) + " dimensions (want " + strconv.Itoa(dimension) + ", as those before it)")}
		default:
			dimension = n
		}
	}
	return dimension, nil
}

// planVectors returns the length of the section of vectors.
func (w *BatchWriter) planVectors() (size int, err error) {
	if w.dimension, err = dimensionOf(w.rows); err != nil {
		return 0, err
	}
	n := vectorBytes(w.n, w.dimension)
	if n > MaxBytes {
		return 0, layout.TooLarge("has " + strconv.FormatInt(n, 10) + " bytes of vectors (at most " + strconv.Itoa(MaxBytes) + ")")
	}
	return int(n), nil
}

// putVectors writes the section of vectors. A row without a vector gets zeros.
func (w *BatchWriter) putVectors(dst []byte) error {
	binary.LittleEndian.PutUint64(dst, uint64(w.dimension))
	dst = dst[vectorsHead:]
	for i := range w.n {
		v, cell := w.rows.Embedding(i), dst[:4*w.dimension]
		dst = dst[len(cell):]
		switch {
		case len(v) == 0:
			clear(cell)
			continue
		case len(v) != w.dimension:
			return &RowError{i, ColumnEmbedding, jsontext.ValueError("changed between Plan and Write")}
		}
		if err := checkVector(v); err != nil {
			return &RowError{i, ColumnEmbedding, err}
		}
		inplace.PutF32s(cell, v)
	}
	return nil
}

// checkVector refuses numbers that are not finite. A finite number minus itself is 0, any other
// one minus itself is NaN.
func checkVector(v []float32) error {
	for _, f := range v {
		if f-f != 0 {
			return jsontext.ErrFinite
		}
	}
	return nil
}
