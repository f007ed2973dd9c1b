package hf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize is the largest size of a file in bytes. The largest known has 35 MB.
const MaxSize = 64 << 20

// Load reads a file of at most [MaxSize]. It refuses anything else, because to read a pipe could take forever.
func Load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", path, errors.New("not a file"))
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("%s: %d bytes (at most %d)", path, info.Size(), MaxSize)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// document is a file whose parts are not read yet, except its added tokens.
type document struct {
	added        []addedToken
	normalizer   jsontext.Value
	preTokenizer jsontext.Value
	model        *vocabulary
}

// readDocument reads the members of a file. The values share the memory of data.
func readDocument(data []byte) (*document, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%d bytes: %w (at most %d)", len(data), errTooMany, MaxSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the file is empty")
	}
	d := new(document)
	dec := newDecoder(data)
	err := members(dec, func(name string) (err error) {
		switch name {
		case "added_tokens":
			return elements(dec, maxAdded, func() error {
				value, err := dec.ReadValue()
				if err != nil {
					return err
				}
				var t addedToken
				if err := decode(value, &t); err != nil {
					return err
				}
				if len(t.Content) > maxAddedLen {
					return fmt.Errorf("token of %d bytes: %w (at most %d)", len(t.Content), errTooMany, maxAddedLen)
				}
				d.added = append(d.added, t)
				return nil
			})
		case "normalizer":
			return keep(dec, &d.normalizer)
		case "pre_tokenizer":
			return keep(dec, &d.preTokenizer)
		case "model":
			d.model, err = readModel(dec)
			return err
		}
		return dec.SkipValue()
	})
	switch {
	case err != nil:
		return nil, err
	case d.model == nil:
		return nil, errors.New("model: missing (is this a tokenizer.json?)")
	}
	return d, nil
}
