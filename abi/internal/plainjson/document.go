package plainjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// Unmarshal does what json.Unmarshal does with a document that v points to, many times as fast if it
// is plain. Errors are those of encoding/json.
func Unmarshal(b []byte, v any) error {
	to := reflect.ValueOf(v).Elem()
	if to.Kind() == reflect.Struct && Read(b, func(r *Reader) bool { return r.document(to) }) {
		return nil
	}
	to.Set(reflect.Zero(to.Type()))
	return json.Unmarshal(b, v)
}

// document reads a value into to, whose value is the zero value.
func (r *Reader) document(to reflect.Value) bool {
	pointer := to.Addr().Interface()
	switch pointer.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return r.Other(pointer)
	}
	switch to.Kind() {
	case reflect.String:
		text, ok := r.Text()
		to.SetString(text)
		return ok
	case reflect.Int:
		n, ok := r.Integer()
		to.SetInt(int64(n))
		return ok
	case reflect.Slice:
		if to.Type().Elem().Kind() == reflect.Uint8 { // in base64
			return r.Other(pointer)
		}
		to.Set(reflect.MakeSlice(to.Type(), 0, 0))
		return r.List(func() bool {
			to.Set(reflect.Append(to, reflect.Zero(to.Type().Elem())))
			return r.document(to.Index(to.Len() - 1))
		})
	case reflect.Struct:
		names := r.namesOf(to.Type())
		if names == nil {
			return r.Other(pointer)
		}
		return r.Object(func(name string) (bit int, ok bool) {
			for i, known := range names {
				if known == name {
					return 1 << i, r.document(to.Field(i))
				}
			}
			return 0, false
		})
	}
	return r.Other(pointer)
}

// namesOf are the names of the fields of a struct, nil if only encoding/json knows them.
func (r *Reader) namesOf(t reflect.Type) []string {
	names, known := r.names[t]
	if known {
		return names
	}
	if r.names == nil {
		r.names = map[reflect.Type][]string{}
	}
	r.names[t] = fieldNames(t)
	return r.names[t]
}

func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "" || name == "-" || strings.Contains(options, "string") || i == 31 {
			return nil
		}
		names[i] = name
	}
	return names
}
