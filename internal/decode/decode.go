// Package decode reads JSON documents strictly. Unknown members, duplicate members at any depth,
// names that differ in case and values of another type are errors. Integers are read exactly, up
// to 64 bits. Invalid UTF-8 is read as U+FFFD.
//
// The decoder is go-json-experiment, which refuses duplicate members and members in another case,
// as encoding/json does not; this package adds required members and the path in messages.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/nearest"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// ErrInvalid marks a value outside its bounds.
var ErrInvalid = errors.New("invalid value")

// Member is a member of a JSON object.
type Member struct {
	// Name is the exact name.
	Name string
	// To points to the variable that receives the value. nil: the value is not read.
	To any
	// Required members must be present and not null. If another member is absent or null, the
	// variable does not change.
	Required bool
}

// Required returns a member that an object must have.
func Required(name string, to any) Member { return Member{name, to, true} }

// Optional returns a member that an object may have.
func Optional(name string, to any) Member { return Member{name, to, false} }

// syntax are the options for reading a document.
var syntax = jsontext.AllowInvalidUTF8(true)

// Object reads a JSON object of the given members and no others.
func Object(data []byte, members ...Member) error { return Open(data, nil, members...) }

// Open reads a JSON object that may have further members. It calls other for each of them. If
// other is nil, further members are errors.
func Open(data []byte, other func(name string, value json.RawMessage) error, members ...Member) error {
	return open(data, other, members, syntax)
}

func open(data []byte, other func(name string, value json.RawMessage) error, members []Member, options ...jsontext.Options) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), options...)
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return syntaxError("", err)
		}
		return fmt.Errorf("%s: %w (want an object)", quoted(bytes.TrimSpace(data), 20), ErrInvalid)
	}
	var seen uint64 // a bit for each of the members
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError("", err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return syntaxError("", err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return syntaxError("", err)
		}
		i := find(members, key)
		switch {
		case i >= 0:
			seen |= 1 << i
			err = members[i].read(value)
		case other != nil:
			err = at(key, other(key, json.RawMessage(value)))
		default:
			err = at(key, unknown(key, names(members)))
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError("", err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data after the object: %w", ErrInvalid)
	}
	return missing(members, seen)
}

func find(members []Member, name string) int {
	for i := range members {
		if members[i].Name == name {
			return i
		}
	}
	return -1
}

func missing(members []Member, seen uint64) error {
	for i := range members {
		if members[i].Required && seen>>i&1 == 0 {
			return fmt.Errorf("%s: missing: %w", members[i].Name, ErrInvalid)
		}
	}
	return nil
}

func unknown(name string, known []string) error {
	return fmt.Errorf("unknown key: %w%s", ErrInvalid, nearest.Hint(name, known))
}

func names(members []Member) []string {
	known := make([]string, len(members))
	for i := range members {
		known[i] = members[i].Name
	}
	return known
}

// tagged returns the member names in the tags of a struct type.
func tagged(t reflect.Type) (known []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known = append(known, name)
		}
	}
	return known
}

// read reads the value of a member.
func (m *Member) read(value jsontext.Value) error {
	if m.To == nil || value.Kind() == 'n' && !m.Required {
		return nil
	}
	if to, ok := m.To.(*int); ok {
		return at(m.Name, readInt(value, to))
	}
	return Value(m.Name, value, m.To)
}

// at names the place of an error.
func at(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", plain.Path(strings.TrimPrefix(path, ".")), err)
}

// Value reads one JSON value into the variable that to points to. Members of structs have the
// names of their tags. A null in a list is an error. Errors begin with path, unless it is empty.
func Value(path string, data []byte, to any) error {
	return fromLibrary(path, data, to, jsonv2.Unmarshal(data, to, values))
}

// values are the options for reading values other than objects of [Object].
var values = jsonv2.JoinOptions(syntax, jsonv2.RejectUnknownMembers(true), jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(readInside)))

// readInside refuses null in lists and in maps of texts. A value of type any may be null, and its
// numbers are int64 or float64.
func readInside(dec *jsontext.Decoder, to any) error {
	free, anything := to.(*any)
	_, isText := to.(*string) // of a map
	inside, _ := dec.StackIndex(dec.StackDepth())
	switch kind := dec.PeekKind(); {
	case kind == 'n' && !anything && (inside != '{' || isText):
		return fmt.Errorf("null: %w (want %s)", ErrInvalid, describe(reflect.TypeOf(to).Elem()))
	case kind == '0' && anything:
		number, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*free, err = readNumber(string(number))
		return err
	}
	return errors.ErrUnsupported
}

// readInt reads an integer. It may be written as 5.0 or 5e0.
func readInt(value jsontext.Value, to *int) error {
	if n, err := strconv.Atoi(string(value)); err == nil {
		*to = n
		return nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if value.Kind() != '0' || err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%s: %w (want an integer)", quoted(value, 20), ErrInvalid)
	}
	*to = int(f)
	return nil
}

// readNumber reads a number of a free-form value. An integer beyond int64 is an error, because
// rounding would change it.
func readNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.40s: %w (want an integer within 64 bits; write it as a string)", s, ErrInvalid)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%.40s: %w (want a number within float64)", s, ErrInvalid)
	}
	return f, nil
}

// fromLibrary converts an error of the JSON library into one with the place, the value and the
// wanted type.
func fromLibrary(path string, value []byte, to any, err error) error {
	var semantic *jsonv2.SemanticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &semantic):
		return syntaxError(path, err)
	}
	where := path + below(semantic.JSONPointer)
	t := semantic.GoType
	if t == nil {
		t = reflect.TypeOf(to).Elem()
	}
	switch {
	case errors.Is(semantic.Err, jsonv2.ErrUnknownName):
		return at(where, unknown(semantic.JSONPointer.LastToken(), tagged(semantic.GoType)))
	case semantic.Err != nil && (errors.Is(semantic.Err, ErrInvalid) || readsItself(t)):
		return at(where, semantic.Err)
	}
	value = bytes.TrimLeft(value[min(semantic.ByteOffset, int64(len(value))):], " \t\r\n,:")
	if inside := jsontext.NewDecoder(bytes.NewBuffer(value), syntax); semantic.JSONPointer != "" {
		value, _ = inside.ReadValue() // the same value was read before without an error
	}
	want := describe(t)
	if isNumber := len(value) > 0 && jsontext.Value(value).Kind() == '0'; isNumber && t.Kind() == reflect.Float64 {
		want += " within float64"
	}
	return at(where, fmt.Errorf("%s: %w (want %s)", quoted(value, 40), ErrInvalid, want))
}

// quoted returns the first characters of a value as part of one line.
func quoted(value []byte, most int) string { return plain.Line(fmt.Sprintf("%.*s", most, value)) }

// below converts a JSON pointer to the end of a path.
func below(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			b.WriteString("[" + token + "]")
		} else if token == "" {
			b.WriteString(`.""`)
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// syntaxError names the place of an error of the syntax.
func syntaxError(path string, err error) error {
	var s *jsontext.SyntacticError
	if !errors.As(err, &s) {
		return err
	}
	where := path + below(s.JSONPointer)
	if errors.Is(s.Err, jsontext.ErrDuplicateName) {
		return at(where, fmt.Errorf("given twice: %w", ErrInvalid))
	}
	return at(where, fmt.Errorf("%w at byte %d", s.Err, s.ByteOffset))
}

// readsItself reports whether a type has its own decoder, which returns precise errors.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t != reflect.TypeFor[time.Time]() && (p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()))
}

// describe describes the wanted value of a type for an error.
func describe(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "a time in RFC 3339"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.String, reflect.Array: // a UUID
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer within 64 bits"
	case reflect.Uint32:
		return "an integer from 0 to 4294967295"
	case reflect.Uint64:
		return "an integer of 0 or more within 64 bits"
	case reflect.Float32:
		return "a number within float32"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list of " + list(t.Elem())
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "another value"
}

// list describes the elements of a list for an error.
func list(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "strings"
	case reflect.Struct, reflect.Map:
		return "objects"
	case reflect.Float32, reflect.Float64, reflect.Uint32, reflect.Uint64:
		return "numbers"
	}
	return "values"
}
