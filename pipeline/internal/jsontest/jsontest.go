// Package jsontest compares what types write as JSON with what encoding/json writes by reflection,
// for tests.
package jsontest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// EachField calls both with values of T: with no field set, with each exported field alone, and
// with all. both returns a value that encoding/json writes by reflection, and what T writes. They
// must be the same.
func EachField[T any](t *testing.T, both func(*T) (reflected any, written []byte, err error)) {
	t.Helper()
	none, all := new(T), new(T)
	compare(t, "none", none, both)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		one := new(T)
		Set(reflect.ValueOf(one).Elem().FieldByIndex(f.Index))
		compare(t, f.Name, one, both)
		Set(reflect.ValueOf(all).Elem().FieldByIndex(f.Index))
	}
	compare(t, "all", all, both)
}

func compare[T any](t *testing.T, name string, value *T, both func(*T) (any, []byte, error)) {
	t.Helper()
	reflected, got, err := both(value)
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if failed := enc.Encode(reflected); failed != nil || err != nil {
		t.Fatalf("%T, %s: %v, %v", value, name, failed, err)
	}
	if !bytes.Equal(append(got, '\n'), want.Bytes()) {
		t.Errorf("%T, %s:\n%s\nwant\n%s", value, name, got, want.Bytes())
	}
}

// Set gives a value, and all that it holds, something that is not zero.
func Set(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(5)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.25)
	case reflect.String:
		v.SetString("a \"text\"\nü")
	case reflect.Interface:
		v.Set(reflect.ValueOf("a value"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Set(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`[1]`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		Set(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		Set(key)
		Set(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_000_000, 123_000).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				Set(v.Field(i))
			}
		}
	default:
		panic("jsontest: no value of the kind " + v.Kind().String())
	}
}
