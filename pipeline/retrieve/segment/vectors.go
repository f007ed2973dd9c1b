package segment

import (
	"encoding/binary"
	"math"
)

// Int8 numbers have 7 bits: from 1 to 127, where middle stands for 0. Four products of two
// such numbers have a sum below 1<<16.
const (
	middle = 64
	steps  = 63
)

// vectors are those of the chunks of a segment that have one.
type vectors struct {
	dim  int
	int8 bool
	// chunks are the chunks that have a vector, ascending.
	chunks []uint32
	f32    []float32 // dim for each
	// For int8:
	q8    []byte    // stride for each, filled up with middle
	scale []float32 // the value of one step
	sums  []int32   // the sum of the numbers of each, with what fills it up
}

// stride is the length of a vector of int8 in bytes, a multiple of 8.
func stride(dim int) int { return (dim + 7) &^ 7 }

func (v *vectors) len() int { return len(v.chunks) }

// appendUnit appends a vector, scaled to length 1. A vector of zeros stays as it is.
func appendUnit(dst, v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	at := len(dst)
	dst = append(dst, v...)
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		clear(dst[at:])
		return dst
	}
	by := 1 / math.Sqrt(sum)
	for i, x := range v {
		dst[at+i] = float32(float64(x) * by)
	}
	return dst
}

// add adds the vector of a chunk, of any length.
func (v *vectors) add(chunk uint32, x []float32) {
	v.chunks = append(v.chunks, chunk)
	at := len(v.f32)
	v.f32 = appendUnit(v.f32, x)
	if !v.int8 {
		return
	}
	var scale float32
	var sum int32
	v.q8, scale, sum = quantize(v.q8, v.f32[at:])
	v.f32, v.scale, v.sums = v.f32[:at], append(v.scale, scale), append(v.sums, sum)
}

// bytes is what append writes.
func (v *vectors) bytes() int {
	return 12 + 4*(len(v.chunks)+len(v.f32)+len(v.scale)) + len(v.q8)
}

// quantize appends a vector in 7 bits, and returns the value of a step and the sum.
func quantize(dst []byte, x []float32) (out []byte, scale float32, sum int32) {
	most := float32(0)
	for _, a := range x {
		most = max(most, max(a, -a))
	}
	scale = most / steps
	for i := range stride(len(x)) {
		q := byte(middle)
		if i < len(x) && scale > 0 {
			q = byte(middle + int(math.RoundToEven(float64(x[i]/scale))))
		}
		dst = append(dst, q)
		sum += int32(q)
	}
	return dst, scale, sum
}

// copyRow adds a vector of another segment of the same form.
func (v *vectors) copyRow(chunk uint32, from *vectors, row int) {
	v.chunks = append(v.chunks, chunk)
	if !v.int8 {
		v.f32 = append(v.f32, from.f32[row*v.dim:(row+1)*v.dim]...)
		return
	}
	n := stride(v.dim)
	v.q8 = append(v.q8, from.q8[row*n:(row+1)*n]...)
	v.scale, v.sums = append(v.scale, from.scale[row]), append(v.sums, from.sums[row])
}

// at returns a copy of a vector.
func (v *vectors) at(row int) []float32 {
	out := make([]float32, v.dim)
	if !v.int8 {
		copy(out, v.f32[row*v.dim:])
		return out
	}
	for i, q := range v.q8[row*stride(v.dim):][:v.dim] {
		out[i] = float32(int(q)-middle) * v.scale[row]
	}
	return out
}

// append writes the vectors.
func (v *vectors) append(dst []byte) []byte {
	form := uint32(0)
	if v.int8 {
		form = 1
	}
	dst = appendUint32s(dst, []uint32{uint32(v.dim), form, uint32(len(v.chunks))})
	dst = appendUint32s(dst, v.chunks)
	for _, x := range v.f32 {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	for _, x := range v.scale {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return append(dst, v.q8...)
}

// readVectors reads the vectors of a segment with so many chunks.
func readVectors(data []byte, chunks int) (vectors, error) {
	r := reader{data: data}
	dim, form, n := r.uint32(), r.uint32(), r.uint32()
	v := vectors{dim: int(dim), int8: form == 1}
	if r.bad || dim < 1 || dim > 1<<14 || form > 1 || uint64(n) > uint64(chunks) {
		return v, corrupt("size of the vectors")
	}
	v.chunks = r.uint32s(int(n))
	for i, c := range v.chunks {
		if uint64(c) >= uint64(chunks) || i > 0 && c <= v.chunks[i-1] {
			return v, corrupt("chunks of the vectors")
		}
	}
	if v.int8 {
		v.readInt8(&r, int(n))
	} else {
		v.f32 = floats(&r, int(n)*int(dim))
	}
	if r.bad || len(r.data) != 0 {
		return v, corrupt("vectors")
	}
	return v, nil
}

func (v *vectors) readInt8(r *reader, n int) {
	v.scale = floats(r, n)
	size := stride(v.dim)
	b := r.take(uint64(n) * uint64(size))
	if r.bad {
		return
	}
	v.q8, v.sums = b, make([]int32, n)
	for i := range v.sums {
		sum := int32(0)
		for _, q := range b[i*size : (i+1)*size] {
			sum += int32(q)
			r.bad = r.bad || q > 127
		}
		v.sums[i] = sum
	}
}

// floats copies n finite numbers.
func floats(r *reader, n int) []float32 {
	b := r.take(uint64(n) * 4)
	if b == nil {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		bits := binary.LittleEndian.Uint32(b[4*i:])
		r.bad = r.bad || bits&0x7f800000 == 0x7f800000 // not finite
		out[i] = math.Float32frombits(bits)
	}
	return out
}

// target is the vector of a query.
type target struct {
	f32 []float32
	// For int8: numbers in the reverse order within each half of 8 bytes, as words.
	even, odd []uint64
	scale     float32
	sum       int32
}

func newTarget(v []float32) *target {
	t := &target{f32: appendUnit(nil, v)}
	var q []byte
	q, t.scale, t.sum = quantize(nil, t.f32)
	for i := 0; i < len(q); i += 8 {
		b := q[i : i+8]
		t.even = append(t.even, lanes(b[6], b[4], b[2], b[0]))
		t.odd = append(t.odd, lanes(b[7], b[5], b[3], b[1]))
	}
	return t
}

func lanes(a, b, c, d byte) uint64 {
	return uint64(a) | uint64(b)<<16 | uint64(c)<<32 | uint64(d)<<48
}

// score writes the cosine of each vector into the place of its chunk.
func (v *vectors) score(t *target, scores []float64) {
	if v.int8 {
		v.scoreInt8(t, scores)
		return
	}
	for row, chunk := range v.chunks {
		scores[chunk] = float64(dot(v.f32[row*v.dim:(row+1)*v.dim], t.f32))
	}
}

// scoreInt8 multiplies numbers of 7 bits, four in one multiplication: the product of the
// polynomials a0+a1*x+a2*x²+a3*x³ and b3+b2*x+b1*x²+b0*x³ at x = 1<<16 has the sum of the
// products in its highest 16 bits, and what would be above these is lost.
func (v *vectors) scoreInt8(t *target, scores []float64) {
	const mask = 0x00ff00ff00ff00ff
	size := stride(v.dim)
	n := int64(size)
	even, odd := t.even, t.odd[:len(t.even)]
	for row, chunk := range v.chunks {
		b := v.q8[row*size : (row+1)*size]
		var s0, s1 uint64
		for i := range even {
			if len(b) < 8 {
				break
			}
			x := binary.LittleEndian.Uint64(b)
			s0 += (x & mask) * even[i] >> 48
			s1 += (x >> 8 & mask) * odd[i] >> 48
			b = b[8:]
		}
		// The sum of (a-middle)*(b-middle).
		sum := int64(s0+s1) - middle*(int64(v.sums[row])+int64(t.sum)) + middle*middle*n
		scores[chunk] = float64(sum) * float64(v.scale[row]) * float64(t.scale)
	}
}
