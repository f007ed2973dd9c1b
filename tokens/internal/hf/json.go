package hf

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxTokens = 1 << 20
	maxMerges = 1 << 21
	maxAdded  = 1 << 16
	// maxAddedLen is the largest length in bytes of an added token, and of the texts that
	// normalizers insert and patterns find literally. A search takes this many steps at each
	// place of the text at most.
	maxAddedLen = 256
	// maxParts bounds the normalizers and the pre-tokenizers of a file, and how deep they nest.
	maxParts, maxDepth = 32, 8
)

// errTooMany means that a bound of the package is exceeded.
var errTooMany = errors.New("more than this program reads")

func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// keep copies the next value, because the decoder reuses its memory.
func keep(dec *jsontext.Decoder, to *jsontext.Value) error {
	value, err := dec.ReadValue()
	*to = value.Clone()
	return err
}

func isNull(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// members reads an object and calls read for each member, which must consume its value. The
// error names the member.
func members(dec *jsontext.Decoder, read func(name string) error) error {
	t, err := dec.ReadToken()
	if err != nil {
		return plainError(err)
	}
	if t.Kind() != '{' {
		return fmt.Errorf("want an object, not %s", kindName(t.Kind()))
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return plainError(err)
		}
		member := name.String()
		if err := read(member); err != nil {
			return fmt.Errorf("%.40q: %w", member, plainError(err))
		}
	}
	_, err = dec.ReadToken()
	return err
}

// elements reads an array of at most most elements and calls read for each, which must consume it.
func elements(dec *jsontext.Decoder, most int, read func() error) error {
	t, err := dec.ReadToken()
	if err != nil {
		return plainError(err)
	}
	if t.Kind() != '[' {
		return fmt.Errorf("want a list, not %s", kindName(t.Kind()))
	}
	for n := 0; dec.PeekKind() != ']'; n++ {
		if n == most {
			return fmt.Errorf("more than %d entries: %w", most, errTooMany)
		}
		if err := read(); err != nil {
			return fmt.Errorf("entry %d: %w", n, plainError(err))
		}
	}
	_, err = dec.ReadToken()
	return err
}

// text reads a string.
func text(dec *jsontext.Decoder) (string, error) {
	t, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	if t.Kind() != '"' {
		return "", fmt.Errorf("want a string, not %s", kindName(t.Kind()))
	}
	return t.String(), nil
}

// decode reads a small value into a struct, and ignores other members.
func decode(value jsontext.Value, to any) error {
	err := json.Unmarshal(value, to, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return plainError(err)
}

// plainError removes from an error what the library says about itself.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok && wrong.GoType != nil {
		return fmt.Errorf("want %s, not %s", wanted(wrong.GoType.Kind()), found(wrong))
	}
	message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: ")
	if message == err.Error() {
		return err
	}
	return errors.New(message)
}

// wanted describes the values of a kind of Go types.
func wanted(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number within range"
	case reflect.Uint64:
		return "a whole number from 0 on within range"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// found describes the value that an error is about.
func found(e *json.SemanticError) string {
	if len(e.JSONValue) > 0 && e.JSONKind == '0' {
		return fmt.Sprintf("%.40s", e.JSONValue)
	}
	return kindName(e.JSONKind)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	case '0':
		return "a number"
	}
	return "true or false"
}

// errUnsupported means that the package does not know a part of a file.
var errUnsupported = errors.New("this program does not count with it")
