package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep a value of free form may be nested. The library reads 10,000 levels: the
// rest is for the documents that hold such a value.
const MaxDepth = 9_900

// loose is what a document is read by whose values of free form may repeat a name.
var loose = jsontext.AllowDuplicateNames(true)

// Free checks a JSON value of free form as strictly as it is read inside a document: it is one
// value, names no member twice, and is nested [MaxDepth] deep at most.
func Free(path string, data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), syntax)
	for values := 0; ; {
		if _, err := dec.ReadToken(); errors.Is(err, io.EOF) && values == 1 {
			return nil
		} else if err != nil {
			return syntaxError(path, err)
		}
		switch depth := dec.StackDepth(); {
		case depth > MaxDepth:
			return at(path, fmt.Errorf("nested deeper than %d levels: %w", MaxDepth, ErrInvalid))
		case depth == 0:
			values++
		}
		if values > 1 {
			return at(path, fmt.Errorf("data after the value: %w", ErrInvalid))
		}
	}
}

// OpenLoose is [Open] for an object whose other members are of free form: inside them a member
// may be given twice. Each of its own members is given once.
func OpenLoose(data []byte, other func(name string, value json.RawMessage) error) error {
	seen := map[string]bool{}
	return open(data, func(name string, value json.RawMessage) error {
		if seen[name] {
			return fmt.Errorf("given twice: %w", ErrInvalid)
		}
		seen[name] = true
		return other(name, value)
	}, nil, syntax, loose)
}

// MergeRepeats returns a document in which members that are given twice are there once, with
// the last value. It does so in and below the places of free form: names with dots between
// them, * for all elements of a list and all members of an object. Elsewhere it changes nothing.
// What is not JSON comes out as it is.
func MergeRepeats(data []byte, free ...string) []byte {
	m := merger{data: data, dec: jsontext.NewDecoder(bytes.NewBuffer(data), syntax, loose)}
	for _, place := range free {
		m.free = append(m.free, strings.Split(place, "."))
	}
	if err := m.value(nil, false); err != nil || len(m.cuts) == 0 {
		return data
	}
	slices.SortFunc(m.cuts, func(a, b span) int { return a.from - b.from })
	var out []byte
	end := 0
	for _, cut := range m.cuts {
		if cut.from > end {
			out = append(out, data[end:cut.from]...)
		}
		end = max(end, cut.to) // a cut may lie inside another
	}
	return append(out, data[end:]...)
}

// span is a part of a document, in bytes.
type span struct{ from, to int }

type merger struct {
	data []byte
	dec  *jsontext.Decoder
	free [][]string
	cuts []span
}

// value reads the next value. path is its place, and is not kept up below a free one.
func (m *merger) value(path []string, free bool) error {
	free = free || m.isFree(path)
	token, err := m.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		return m.object(path, free)
	case '[':
		for m.dec.PeekKind() != ']' {
			if err := m.value(append(path, "*"), free); err != nil {
				return err
			}
		}
		_, err = m.dec.ReadToken()
	}
	return err
}

func (m *merger) object(path []string, free bool) error {
	last := map[string]span{} // up to the member that follows
	var name string
	for first := true; m.dec.PeekKind() != '}'; first = false {
		from := int(m.dec.InputOffset())
		from += max(0, bytes.IndexByte(m.data[from:], '"'))
		if !first {
			last[name] = span{last[name].from, from}
		}
		token, err := m.dec.ReadToken()
		if err != nil {
			return err
		}
		name = token.String()
		if before, twice := last[name]; twice && free {
			m.cuts = append(m.cuts, before)
		}
		last[name] = span{from: from}
		if err := m.value(append(path, name), free); err != nil {
			return err
		}
	}
	_, err := m.dec.ReadToken()
	return err
}

func (m *merger) isFree(path []string) bool {
	return slices.ContainsFunc(m.free, func(place []string) bool {
		return slices.EqualFunc(place, path, func(want, name string) bool { return want == "*" || want == name })
	})
}
