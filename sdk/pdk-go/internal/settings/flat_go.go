//go:build !tinygo

package settings

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// If the host resets the memory of a guest after every call, the guest decodes its settings
// in every call. Most settings are small and flat, and the host writes them without white
// space. encoding/json spends most of its time on generality, so flat reads such documents
// itself. It leaves all other documents to encoding/json.

// field is a field of a settings struct that flat can set.
type field struct {
	name   string
	offset uintptr
	size   uintptr
	kind   reflect.Kind
}

// plans holds the fields of each struct type. It is nil for a type that flat does not
// support.
var plans sync.Map

// fieldsOf returns the fields that flat can set in the struct that s points to. It returns
// nil if flat does not support the type.
func fieldsOf(s any) []field {
	t := reflect.TypeOf(s).Elem()
	if p, ok := plans.Load(t); ok {
		return p.([]field)
	}
	p := plan(t)
	plans.Store(t, p)
	return p
}

func plan(t reflect.Type) (fields []field) {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	seen := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			return nil
		}
		tag := f.Tag.Get("json")
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		if !plainName(name) || strings.Contains(options, "string") || seen[strings.ToLower(name)] {
			return nil
		}
		seen[strings.ToLower(name)] = true
		if scalar(f.Type.Kind()) && !decodesItself(f.Type) {
			fields = append(fields, field{name, f.Offset, f.Type.Size(), f.Type.Kind()})
		}
	}
	return fields
}

// plainName reports whether encoding/json accepts a name in a tag.
func plainName(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}

func scalar(k reflect.Kind) bool {
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// decodesItself reports whether encoding/json would call a method of the type, or treats
// the type specially.
func decodesItself(t reflect.Type) bool {
	if t == reflect.TypeOf(json.Number("")) {
		return true
	}
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// flat decodes raw into the struct at s, which has these fields, with the same result as
// json.Unmarshal. It returns false if it cannot; some fields of s may then be set.
func flat(raw []byte, s unsafe.Pointer, fields []field) bool {
	if fields == nil || len(raw) < 2 || raw[0] != '{' {
		return false
	}
	rest := raw[1:]
	if len(rest) == 1 && rest[0] == '}' {
		return true
	}
	for {
		key, after, ok := text(rest)
		if !ok || len(after) < 2 || after[0] != ':' {
			return false
		}
		f := find(fields, key)
		if f == nil {
			return false
		}
		if rest, ok = f.set(unsafe.Add(s, f.offset), after[1:]); !ok || len(rest) == 0 {
			return false
		}
		if rest[0] == '}' {
			return len(rest) == 1
		}
		if rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
}

func find(fields []field, key []byte) *field {
	for i := range fields {
		if fields[i].name == string(key) {
			return &fields[i]
		}
	}
	return nil
}

// set decodes the value at the beginning of b into the field, which is at p, and returns the
// bytes after it.
func (f *field) set(p unsafe.Pointer, b []byte) (rest []byte, ok bool) {
	switch f.kind {
	case reflect.String:
		s, rest, ok := text(b)
		if ok = ok && utf8.Valid(s); ok {
			*(*string)(p) = string(s)
		}
		return rest, ok
	case reflect.Bool:
		n := 4
		if b[0] == 'f' {
			n = 5
		}
		if len(b) < n || string(b[:n]) != "true" && string(b[:n]) != "false" {
			return nil, false
		}
		*(*bool)(p) = n == 4
		return b[n:], true
	}
	n := number(b)
	return b[len(n.text):], len(n.text) > 0 && f.setNumber(p, n)
}

func (f *field) setNumber(p unsafe.Pointer, n literal) bool {
	bits := int(8 * f.size)
	switch f.kind {
	case reflect.Float32:
		v, err := strconv.ParseFloat(string(n.text), bits)
		*(*float32)(p) = float32(v)
		return err == nil
	case reflect.Float64:
		v, err := n.float()
		*(*float64)(p) = v
		return err == nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v, err := n.integer(bits)
		setInteger(p, f.size, uint64(v))
		return err == nil
	}
	v, err := strconv.ParseUint(string(n.text), 10, bits)
	setInteger(p, f.size, v)
	return err == nil
}

// setInteger sets the signed or unsigned integer of the given number of bytes at p.
func setInteger(p unsafe.Pointer, size uintptr, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

// text returns the string at the beginning of b, if it has no escapes, and the bytes after
// it. It does not check for UTF-8.
func text(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[1:i], b[i+1:], true
		case c == '\\' || c < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}
