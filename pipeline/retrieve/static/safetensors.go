package static

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

const (
	// maxHeader is the largest size of the description of the tensors in bytes.
	maxHeader = 1 << 20
	// maxTensors is the largest number of tensors.
	maxTensors = 1 << 10
	// maxTable is the largest size of a tensor in memory in bytes.
	maxTable = 1 << 30
)

// tensor describes a tensor of a file.
type tensor struct {
	Type    string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"` // of its begin and end, after the header
}

// widths are the sizes of the numbers of the types that are read, in bytes.
var widths = map[string]uint64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4}

// tensors is a safetensors file.
type tensors struct {
	r    io.ReaderAt
	size int64
	data int64 // where the data begin
	all  map[string]tensor
}

// openTensors opens a file and reads its header. The caller closes the file.
func openTensors(path string) (*tensors, *os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // others may block
		return nil, nil, fmt.Errorf("%s: not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	t, err := readHeader(f, info.Size())
	if err != nil {
		_ = f.Close() // it was only read
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, f, nil
}

// readHeader reads the header of a file of a size, and checks it.
func readHeader(r io.ReaderAt, size int64) (*tensors, error) {
	var prefix [8]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, errors.New("no safetensors file: it is too short")
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("no safetensors file: its header has %d bytes (at most %d, and no more than the file)", n, maxHeader)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("read header: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(header, &members); err != nil {
		return nil, errors.New("no safetensors file: its header is not a JSON object")
	}
	if len(members) > maxTensors {
		return nil, fmt.Errorf("%d tensors (at most %d)", len(members), maxTensors)
	}
	t := &tensors{r: r, size: size, data: 8 + int64(n), all: map[string]tensor{}}
	for name, member := range members {
		if name == "__metadata__" {
			continue
		}
		var one tensor
		if err := json.Unmarshal(member, &one); err != nil {
			return nil, fmt.Errorf("tensor %.100q: want dtype, shape and data_offsets", name)
		}
		if err := t.check(&one); err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", name, err)
		}
		t.all[name] = one
	}
	return t, nil
}

// check returns an error unless a tensor lies within the file. If its type is known, its size must
// be that of its shape.
func (t *tensors) check(one *tensor) error {
	if len(one.Offsets) != 2 || one.Offsets[0] > one.Offsets[1] || one.Offsets[1] > uint64(t.size-t.data) {
		return fmt.Errorf("data_offsets %v are outside of the file (is the file whole?)", one.Offsets)
	}
	width, ok := widths[one.Type]
	if !ok {
		return nil // nobody reads it
	}
	have, want := one.Offsets[1]-one.Offsets[0], width
	for _, n := range one.Shape {
		if n > 0 && want > math.MaxInt64/n {
			return fmt.Errorf("shape %v is too large", one.Shape)
		}
		want *= n
	}
	if want != have {
		return fmt.Errorf("%d bytes of data, the shape %v needs %d", have, one.Shape, want)
	}
	return nil
}

// count returns the number of numbers in a tensor of a known type.
func (one *tensor) count() uint64 { return (one.Offsets[1] - one.Offsets[0]) / widths[one.Type] }

// read calls f for pieces of the data of a tensor, whole numbers each.
func (t *tensors) read(one *tensor, f func(piece []byte) error) error {
	from, to := t.data+int64(one.Offsets[0]), t.data+int64(one.Offsets[1])
	piece := make([]byte, min(to-from, 1<<20))
	for from < to {
		n := min(to-from, int64(len(piece)))
		if _, err := t.r.ReadAt(piece[:n], from); err != nil {
			return fmt.Errorf("read data: %w (did the file change?)", err)
		}
		if err := f(piece[:n]); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// numbers reads a tensor of a type that begins with F or BF. also gets the data as they are.
func (t *tensors) numbers(one *tensor, also io.Writer) ([]float32, error) {
	if !isFloat(one.Type) {
		return nil, fmt.Errorf("dtype %.20q: want F32, F16 or BF16", one.Type)
	}
	n := one.count()
	if n > maxTable/4 {
		return nil, fmt.Errorf("%d numbers (at most %d)", n, maxTable/4)
	}
	out := make([]float32, 0, n)
	err := t.read(one, func(piece []byte) error {
		_, _ = also.Write(piece) // a hash, which does not fail
		out = appendFloats(out, one.Type, piece)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, x := range out {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("number %d is not finite", i)
		}
	}
	return out, nil
}

func isFloat(kind string) bool { return strings.Contains(kind, "F") && widths[kind] > 0 }

func appendFloats(out []float32, kind string, b []byte) []float32 {
	le := binary.LittleEndian
	switch kind {
	case "F64":
		for ; len(b) >= 8; b = b[8:] {
			out = append(out, float32(math.Float64frombits(le.Uint64(b))))
		}
	case "F32":
		for ; len(b) >= 4; b = b[4:] {
			out = append(out, math.Float32frombits(le.Uint32(b)))
		}
	case "F16":
		for ; len(b) >= 2; b = b[2:] {
			out = append(out, half(le.Uint16(b)))
		}
	case "BF16":
		for ; len(b) >= 2; b = b[2:] {
			out = append(out, math.Float32frombits(uint32(le.Uint16(b))<<16))
		}
	}
	return out
}

// half returns the number of 16 bits in the form of IEEE 754.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // smaller than the others: fraction * 2^-24
		x := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(x) | sign)
	case 31: // infinite, or not a number
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// rows reads a tensor of whole numbers below limit.
func (t *tensors) rows(one *tensor, limit int, also io.Writer) ([]uint32, error) {
	width := widths[one.Type]
	if isFloat(one.Type) || width == 0 {
		return nil, fmt.Errorf("dtype %.20q: want I64 or I32", one.Type)
	}
	n := one.count()
	if n > maxTable/4 {
		return nil, fmt.Errorf("%d numbers (at most %d)", n, maxTable/4)
	}
	out := make([]uint32, 0, n)
	return out, t.read(one, func(piece []byte) error {
		_, _ = also.Write(piece) // a hash, which does not fail
		for ; len(piece) >= int(width); piece = piece[width:] {
			row := uint64(binary.LittleEndian.Uint32(piece))
			if width == 8 {
				row = binary.LittleEndian.Uint64(piece)
			}
			if row >= uint64(limit) {
				return fmt.Errorf("number %d is row %d, of %d rows", len(out), int64(row), limit)
			}
			out = append(out, uint32(row))
		}
		return nil
	})
}
