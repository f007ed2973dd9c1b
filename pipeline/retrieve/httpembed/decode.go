package httpembed

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// numberBytes is the largest size of a number in an answer, with the white space around it.
	numberBytes = 40
	// vectorBytes and answerBytes are for what an answer has besides numbers.
	vectorBytes, answerBytes = 1 << 10, 64 << 10
)

// maxAnswer returns the largest size in bytes of an answer with n vectors.
func maxAnswer(n, dimension int) int64 {
	dimension = cmp.Or(dimension, retrieve.MaxDimension)
	return int64(n)*(int64(dimension)*numberBytes+vectorBytes) + answerBytes
}

// decode reads an answer and puts each vector into its place. A dimension of 0 means any, the same
// for all. The error wraps [retrieve.ErrVectors].
func decode(r io.Reader, into [][]float32, dimension int) error {
	d := decoder{
		dec:  jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		into: into, dimension: dimension,
	}
	clear(into) // a try before may have left some
	err := d.members(d.member)
	have := 0
	for _, v := range into {
		if v != nil {
			have++
		}
	}
	switch {
	case errors.Is(err, retrieve.ErrVectors):
		return err
	case err != nil:
		return fmt.Errorf("%w: the answer is not that of an API for embeddings: %w (check base_url)", retrieve.ErrVectors, malformed(err))
	case have < len(into):
		return fmt.Errorf("%w: the answer has %d for %d texts (lower batch, or check the server)", retrieve.ErrVectors, have, len(into))
	}
	return nil
}

// malformed returns an error without any text of the answer.
func malformed(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("no valid JSON at byte %d", syntax.ByteOffset)
	}
	return err
}

type decoder struct {
	dec       *jsontext.Decoder
	into      [][]float32
	dimension int
	items     int
}

// members calls f for each member of the object that is the next value. f reads its value.
func (d *decoder) members(f func(name string) error) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	for d.dec.PeekKind() == '"' {
		t, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f(t.String()); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken() // the end, or what is wrong
	return err
}

func (d *decoder) open(kind jsontext.Kind, what string) error {
	switch k := d.dec.PeekKind(); k {
	case kind, 0:
		_, err := d.dec.ReadToken()
		return err
	}
	return fmt.Errorf("want %s", what)
}

func (d *decoder) member(name string) error {
	if name != "data" {
		return d.dec.SkipValue()
	}
	if err := d.open('[', "data to be a list"); err != nil {
		return err
	}
	for k := d.dec.PeekKind(); k != ']' && k != 0; k = d.dec.PeekKind() {
		if d.items == len(d.into) {
			return fmt.Errorf("%w: the answer has more than %d for %d texts (check the server)", retrieve.ErrVectors, d.items, d.items)
		}
		if err := d.item(); err != nil {
			return err
		}
		d.items++
	}
	_, err := d.dec.ReadToken()
	return err
}

// item reads a vector and its place. Without an index it has the place in the list.
func (d *decoder) item() error {
	var v []float32
	at := int64(d.items)
	err := d.members(func(name string) (err error) {
		switch name {
		case "index":
			t, err := d.dec.ReadToken()
			if err != nil {
				return err
			}
			if t.Kind() == '0' {
				at, err = t.Int()
			}
			return err
		case "embedding":
			v, err = d.vector()
			return err
		}
		return d.dec.SkipValue()
	})
	switch {
	case err != nil:
		return err
	case at < 0 || at >= int64(len(d.into)):
		return fmt.Errorf("%w: index %d for %d texts (check the server)", retrieve.ErrVectors, at, len(d.into))
	case d.into[at] != nil:
		return fmt.Errorf("%w: two of index %d (check the server)", retrieve.ErrVectors, at)
	case v == nil:
		return errors.New("want a member embedding in each element of data")
	}
	d.into[at] = v
	return nil
}

// vector reads a list of numbers, or the base64 of float32s in little-endian order.
func (d *decoder) vector() ([]float32, error) {
	var v []float32
	var err error
	if d.dec.PeekKind() == '"' {
		v, err = d.encoded()
	} else {
		v, err = d.numbers()
	}
	switch {
	case err != nil:
		return nil, err
	case len(v) == 0:
		return nil, fmt.Errorf("%w: one is empty (check the model)", retrieve.ErrVectors)
	case d.dimension == 0:
		d.dimension = len(v)
	case len(v) != d.dimension:
		return nil, d.wrongDimension(len(v))
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("%w: number %d of one is not finite (check the model and its server)", retrieve.ErrVectors, i+1)
		}
	}
	return v, nil
}

func (d *decoder) wrongDimension(have int) error {
	return fmt.Errorf("%w: one has %d dimensions, want %d (check model and dimensions)", retrieve.ErrVectors, have, d.dimension)
}

func (d *decoder) numbers() ([]float32, error) {
	if err := d.open('[', "embedding to be a list of numbers"); err != nil {
		return nil, err
	}
	v := make([]float32, 0, max(d.dimension, 256))
	for k := d.dec.PeekKind(); k != ']' && k != 0; k = d.dec.PeekKind() {
		t, err := d.dec.ReadToken()
		switch {
		case err != nil:
			return nil, err
		case t.Kind() != '0':
			return nil, fmt.Errorf("%w: number %d of one is not a number (check the model and its server)", retrieve.ErrVectors, len(v)+1)
		case len(v) == retrieve.MaxDimension || d.dimension > 0 && len(v) == d.dimension:
			return nil, d.tooLong(len(v))
		}
		x, err := t.Float()
		if err != nil {
			x = math.Inf(1) // beyond every float64
		}
		v = append(v, float32(x))
	}
	_, err := d.dec.ReadToken()
	return v, err
}

func (d *decoder) tooLong(most int) error {
	return fmt.Errorf("%w: one has more than %d dimensions (check model and dimensions)", retrieve.ErrVectors, most)
}

func (d *decoder) encoded() ([]float32, error) {
	t, err := d.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	text := t.String()
	if most := base64.StdEncoding.EncodedLen(4 * retrieve.MaxDimension); len(text) > most {
		return nil, d.tooLong(retrieve.MaxDimension)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data)%4 != 0 {
		return nil, fmt.Errorf("%w: one is no base64 of float32 numbers (check encoding)", retrieve.ErrVectors)
	}
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v, nil
}
