package layout

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// MaxDimension is the maximum number of dimensions of a vector.
const MaxDimension = 1 << 14

// vectorsHead is the length of the head of a section of vectors: the dimension and a zero.
const vectorsHead = 8

// Vectors are the vectors of all rows, one after the other.
type Vectors struct {
	// Dimension is the number of dimensions, 0 when no row has a vector.
	Dimension int
	values    []float32
}

// OpenVectors reads a section of vectors.
func (d *Directory) OpenVectors(id Section, sec []byte) (*Vectors, error) {
	if len(sec) < vectorsHead {
		return nil, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want at least " + strconv.Itoa(vectorsHead) + ")")
	}
	dimension := binary.LittleEndian.Uint32(sec)
	if dimension > MaxDimension {
		return nil, d.Fail("has section " + id.String() + " with vectors of " + utoa(dimension) + " dimensions (want at most " + strconv.Itoa(MaxDimension) + ")")
	}
	if want := vectorBytes(d.Rows, int(dimension)); int64(len(sec)) != want {
		return nil, d.Fail("has section " + id.String() + " of " + strconv.Itoa(len(sec)) + " bytes (want " + strconv.FormatInt(want, 10) + ")")
	}
	return &Vectors{int(dimension), inplace.F32s(sec[vectorsHead:])}, nil
}

// At returns the vector of a row, nil when it has none.
func (v *Vectors) At(row int) []float32 {
	n := v.Dimension
	values := v.values[row*n : (row+1)*n : (row+1)*n]
	if !slices.ContainsFunc(values, func(f float32) bool { return f != 0 }) {
		return nil
	}
	return values
}

// vectorBytes is the length of a section of vectors. It does not fit 32 bits for all valid numbers.
func vectorBytes(rows, dimension int) int64 { return vectorsHead + 4*int64(rows)*int64(dimension) }

// DimensionOf returns the number of dimensions of the vectors of n rows, 0 if none has one. An
// error is about the given row.
func DimensionOf(n int, at func(row int) []float32) (dimension, row int, err error) {
	for row := range n {
		switch got := len(at(row)); {
		case got == 0 || got == dimension:
		case got > MaxDimension:
			return 0, row, jsontext.ValueError("vector has " + strconv.Itoa(got) + " dimensions (want at most " + strconv.Itoa(MaxDimension) + ")")
		case dimension != 0:
			return 0, row, jsontext.ValueError("vector has " + strconv.Itoa(got) + " dimensions (want " + strconv.Itoa(dimension) + ", as those before it)")
		default:
			dimension = got
		}
	}
	return dimension, 0, nil
}

// VectorsSize returns the length of a section of vectors.
func VectorsSize(rows, dimension int) (int, error) {
	n := vectorBytes(rows, dimension)
	if n > jsontext.MaxBytes {
		return 0, TooLarge("has " + strconv.FormatInt(n, 10) + " bytes of vectors (at most " + strconv.Itoa(jsontext.MaxBytes) + ")")
	}
	return int(n), nil
}

// PutVectors writes a section of vectors of n rows. A row without a vector gets zeros. An error is
// about the given row.
func PutVectors(dst []byte, n, dimension int, at func(row int) []float32) (row int, err error) {
	binary.LittleEndian.PutUint64(dst, uint64(dimension))
	dst = dst[vectorsHead:]
	for row := range n {
		v, cell := at(row), dst[:4*dimension]
		dst = dst[len(cell):]
		switch {
		case len(v) == 0:
			clear(cell)
		case len(v) != dimension:
			return row, jsontext.ValueError("changed between Plan and Write")
		case jsontext.Infinite(v) >= 0:
			return row, jsontext.ErrFinite
		default:
			inplace.PutF32s(cell, v)
		}
	}
	return 0, nil
}
