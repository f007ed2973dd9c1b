package strictjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MaxLevels is how many lists of one name may lie in each other.
const MaxLevels = 4

// Document reads a value into what to points to: a struct whose fields all have a name of
// encoding/json, or what such a struct may have.
func (r *Reader) Document(to any) {
	switch to := to.(type) {
	case *string:
		*to = r.Text()
	case *int:
		*to = r.Integer()
	case *int64:
		*to = int64(r.Integer())
	case *float32:
		*to = float32(r.Float())
	case *float64:
		*to = r.Float()
	case *bool:
		*to = r.Bool()
	case *time.Time:
		*to = r.Time()
	case *json.RawMessage:
		*to = r.Raw()
	default:
		r.reflected(reflect.ValueOf(to).Elem())
	}
}

func (r *Reader) reflected(to reflect.Value) {
	switch to.Kind() {
	case reflect.Map:
		to.Set(reflect.ValueOf(r.Metadata()).Convert(to.Type()))
	case reflect.Pointer:
		if r.Err == nil && r.Charge(int64(to.Type().Elem().Size())) {
			to.Set(reflect.New(to.Type().Elem()))
			r.Document(to.Interface())
		}
	case reflect.Slice:
		r.slice(to)
	default:
		r.fields(namesOf(to.Type()), to)
	}
}

func (r *Reader) fields(names []string, to reflect.Value) {
	r.Object(names, func(i int) {
		if at := to.Field(i); at.Kind() == reflect.String {
			at.SetString(r.Text())
		} else {
			r.Document(at.Addr().Interface())
		}
	})
}

// slice is [List] for a list of any type.
func (r *Reader) slice(to reflect.Value) {
	if !r.Is('[', "a list") {
		return
	}
	levels := 0
	for _, name := range r.in {
		if name == r.in[len(r.in)-1] {
			levels++
		}
	}
	if levels > MaxLevels {
		r.Fail(Error("has " + r.in[len(r.in)-1] + " in more than " + strconv.Itoa(MaxLevels) + " levels"))
		return
	}
	n := r.begin()
	if !r.Charge(int64(n) * int64(to.Type().Elem().Size())) {
		return
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	var names []string
	if elem := to.Type().Elem(); elem.Kind() == reflect.Struct && n > 0 {
		names = namesOf(elem)
	}
	for i := range n {
		if err := r.meter.look(i); err != nil {
			r.Fail(err)
		}
		if at := to.Index(i); names != nil {
			r.fields(names, at)
		} else {
			r.Document(at.Addr().Interface())
		}
		if r.Err != nil {
			return
		}
	}
	r.end()
}

// names are the names of the members of structs, by the type.
var names sync.Map

func namesOf(t reflect.Type) []string {
	if known, ok := names.Load(t); ok {
		return known.([]string)
	}
	list := make([]string, t.NumField())
	for i := range list {
		list[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	names.Store(t, list)
	return list
}
