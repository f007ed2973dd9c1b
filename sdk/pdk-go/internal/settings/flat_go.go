//go:build !tinygo

package settings

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A guest whose memory is put back after every call decodes its settings in each
// of them, and they are small, flat and written by the host without blanks. What
// encoding/json needs most of the time for is being general, so documents of that
// kind are read here; at anything else flat gives up and encoding/json decides.

// field is a field of a settings struct that flat can set.
type field struct {
	name  string
	index int
	kind  reflect.Kind
}

// plans holds the fields of each struct type, nil for types that flat must leave
// alone.
var plans sync.Map

// planOf returns the fields of t that flat can set.
func planOf(t reflect.Type) []field {
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
		if strings.Contains(options, "string") || seen[strings.ToLower(name)] {
			return nil
		}
		seen[strings.ToLower(name)] = true
		if scalar(f.Type.Kind()) && !decodesItself(f.Type) {
			fields = append(fields, field{name, i, f.Type.Kind()})
		}
	}
	return fields
}

func scalar(k reflect.Kind) bool {
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// decodesItself reports whether encoding/json would call a method of the type.
func decodesItself(t reflect.Type) bool {
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// flat decodes raw into s, a pointer to a struct, as json.Unmarshal does, and
// reports whether it could. If not, s may be set in part.
func flat(raw []byte, s any) bool {
	v := reflect.ValueOf(s).Elem()
	fields := planOf(v.Type())
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
		if rest, ok = set(v.Field(f.index), f.kind, after[1:]); !ok || len(rest) == 0 {
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

// set decodes the value that b begins with into v and returns what follows.
func set(v reflect.Value, kind reflect.Kind, b []byte) (rest []byte, ok bool) {
	switch kind {
	case reflect.String:
		s, rest, ok := text(b)
		if ok {
			v.SetString(string(s))
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
		v.SetBool(n == 4)
		return b[n:], true
	}
	n := number(b)
	return b[n:], n > 0 && setNumber(v, kind, string(b[:n]))
}

func setNumber(v reflect.Value, kind reflect.Kind, s string) bool {
	switch kind {
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(s, v.Type().Bits())
		v.SetFloat(n)
		return err == nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	}
	n, err := strconv.ParseUint(s, 10, v.Type().Bits())
	v.SetUint(n)
	return err == nil
}

// text returns the string that b begins with, if it is plain, and what follows.
func text(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			s = b[1:i]
			return s, b[i+1:], utf8.Valid(s)
		case c == '\\' || c < ' ':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// number returns the length of the JSON number that b begins with, 0 if it does
// not.
func number(b []byte) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}
