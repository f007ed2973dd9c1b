//go:build !tinygo

package settings

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// Warm makes encoding/json analyze the type T and the types of its fields. That takes longer
// than decoding or encoding a value. Warm encodes and decodes a value in which every field
// is set.
func Warm[T any]() {
	s := new(T)
	fill(reflect.ValueOf(s).Elem(), map[reflect.Type]bool{})
	if doc, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(doc, new(T))
	}
}

// fill sets v to a value that is not empty. It leaves out types that encode themselves,
// interfaces, and structs of a type that it has filled before.
func fill(v reflect.Value, met map[reflect.Type]bool) {
	if !v.CanSet() || met[v.Type()] || encodesItself(v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString("1") // "1" is also a valid json.Number
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), met)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), met)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, met)
		fill(value, met)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		met[v.Type()] = true
		for i := range v.NumField() {
			fill(v.Field(i), met)
		}
	}
}

func encodesItself(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case json.Marshaler, json.Unmarshaler, encoding.TextMarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}
