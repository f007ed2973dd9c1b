package strict

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field describes a struct field that takes part in decoding.
type Field struct {
	Key      string
	Required bool
	Doc      string
	Default  string
	Enum     []string
	// Min and Max bound a number. Max also bounds the number of values of a list.
	Min, Max string
	// short says that the value of this key may stand for a map with the key alone.
	short bool
	index []int
}

// fieldsOf has what Fields has returned, by the type. Reading the tags takes longer than decoding.
var fieldsOf sync.Map // of []Field

// Fields returns the fields of a struct type that have a key, in order, and in the place of an embedded
// struct without a key those of that struct. Callers share the list, and do not change it.
func Fields(t reflect.Type) []Field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]Field)
	}
	known, _ := fieldsOf.LoadOrStore(t, readFields(t))
	return known.([]Field)
}

func readFields(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key, options, _ := strings.Cut(tag.Get("key"), ",")
		if key == "" {
			if of := t.Field(i); of.Anonymous && of.Type.Kind() == reflect.Struct {
				for _, f := range Fields(of.Type) {
					f.index = append([]int{i}, f.index...)
					fields = append(fields, f)
				}
			}
			continue
		}
		f := Field{
			Key: key, Required: strings.Contains(options, "required"), short: strings.Contains(options, "short"), Doc: tag.Get("doc"),
			Default: tag.Get("default"), Min: tag.Get("min"), Max: tag.Get("max"), index: []int{i},
		}
		if enum := tag.Get("enum"); enum != "" {
			f.Enum = strings.Split(enum, ",")
		}
		fields = append(fields, f)
	}
	return slices.Clip(fields)
}

// Of returns the field's value in a struct.
func (f Field) Of(v reflect.Value) reflect.Value { return v.FieldByIndex(f.index) }

// Type returns the field's type in a struct type.
func (f Field) Type(t reflect.Type) reflect.Type { return t.FieldByIndex(f.index).Type }

// Overlay sets each field of a struct to that of another one of its type, if that states it: if it is not the
// zero value. A section, which is a struct with keys of its own, is overlaid field by field.
func Overlay(to, from any) { overlay(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()) }

func overlay(to, from reflect.Value) {
	for _, f := range Fields(to.Type()) {
		switch at := f.Of(from); {
		case at.IsZero():
		case at.Kind() == reflect.Struct && len(Fields(at.Type())) > 0:
			overlay(f.Of(to), at)
		default:
			f.Of(to).Set(at)
		}
	}
}

// Defaults sets each field of a struct, and of its sections, to the default that its tag states.
func Defaults(of any) { defaults(reflect.ValueOf(of).Elem()) }

func defaults(v reflect.Value) {
	for _, f := range Fields(v.Type()) {
		switch at := f.Of(v); {
		case f.Default != "":
			if err := DecodeText(f.Default, at, f); err != nil {
				panic("the default of " + f.Key + ": " + err.Error()) // a test decodes all
			}
		case at.Kind() == reflect.Struct:
			defaults(at)
		}
	}
}

// maxNamed is how many keys of a map a message names: more would hide what is wrong.
const maxNamed = 4

func (d *Decoder) object(n *Node, v reflect.Value, path string) {
	fields := Fields(v.Type())
	short := shortOf(fields)
	if short != nil && n.Kind == short.kind(v.Type()) {
		*n = *NewMap(n.Pos, Entry{Key: short.Key, Pos: n.Pos, Value: *n}) // its place is then found under the path of the key
	}
	if n.Kind != Map {
		hint := ""
		if short != nil && short.kind(v.Type()) == Bool {
			d.Fail(n, path, "want true, false or a map")
			return
		}
		if n.Kind == List && path != "" && len(fields) <= maxNamed {
			hint = " (want " + strings.Join(keys(fields), ", ") + " below it)"
		}
		d.Fail(n, path, "want a map, got %s%s", n.describe(), hint)
		return
	}
	d.duplicates(n, path)
	var known [64]bool // no struct has as many fields
	given := known[:len(fields)]
	for i := range n.Entries() {
		e := &n.Entries()[i]
		i := indexOf(fields, e.Key)
		if i < 0 {
			if d.listed() {
				d.failAt(e.Pos, Join(path, e.Key), "unknown key%s", Hint(e.Key, keys(fields)))
			}
			continue
		}
		at := Join(path, e.Key)
		f := &fields[i]
		if given[i] {
			continue // reported as a duplicate
		}
		given[i] = e.Value.Kind != Null
		if n := len(e.Value.Items()); n > 0 && f.Max != "" {
			if most, _ := strconv.Atoi(f.Max); n > most {
				d.Fail(&e.Value, at, "has %d values (%d at most)", n, most)
				continue
			}
		}
		before := d.found
		d.Value(&e.Value, f.Of(v), at)
		if d.found == before && given[i] {
			d.bounds(&e.Value, f.Of(v), f, at)
		}
	}
	for i := range fields {
		if fields[i].Required && !given[i] && d.listed() {
			d.Fail(n, path, "missing key %q", fields[i].Key)
		}
	}
}

// shortOf returns the field whose value may be written in the place of the whole map. It is nil if there is
// none, or if the map needs other keys.
func shortOf(fields []Field) (short *Field) {
	for i := range fields {
		switch f := &fields[i]; {
		case f.short:
			short = f
		case f.Required:
			return nil
		}
	}
	return short
}

// kind is that of the value in the place of a map: a text, or true or false.
func (f *Field) kind(t reflect.Type) Kind {
	if of := f.Type(t); of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Bool {
		return Bool
	}
	return String
}

func indexOf(fields []Field, key string) int {
	return slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
}

func keys(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Key
	}
	return names
}

// maxRepeats is how many values of an enum may be there again: whoever looks for one in the list
// would look at all.
const maxRepeats = 100

// bounds checks a value against the enum, min and max of its field. The enum
// of a list holds for each of its values.
func (d *Decoder) bounds(n *Node, v reflect.Value, f *Field, path string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if len(f.Enum) > 0 && n.Kind == List {
		if most := maxRepeats + len(f.Enum); len(n.Items()) > most {
			d.Fail(n, path, "has %d values, and there are %d (state each once)", len(n.Items()), len(f.Enum))
			return
		}
		for i := range n.Items() {
			d.member(&n.Items()[i], f, path, i)
		}
	} else if len(f.Enum) > 0 && n.Kind == String {
		d.member(n, f, path, -1)
	}
	if f.Min == "" && f.Max == "" {
		return
	}
	var below, above bool
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		below, above = outside(v.Int(), f, func(s string) int64 { i, _ := strconv.ParseInt(s, 10, 64); return i })
	case reflect.Float64:
		below, above = outside(v.Float(), f, func(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x })
	}
	switch {
	case (below || above) && f.Min != "" && f.Max != "":
		d.Fail(n, path, "want %s to %s, got %s", f.Min, f.Max, shorten(n.Text))
	case below:
		d.Fail(n, path, "want %s or more, got %s", f.Min, shorten(n.Text))
	case above:
		d.Fail(n, path, "want %s or less, got %s", f.Max, shorten(n.Text))
	}
}

func outside[T cmp.Ordered](x T, f *Field, parse func(string) T) (below, above bool) {
	return f.Min != "" && x < parse(f.Min), f.Max != "" && x > parse(f.Max)
}

// member checks one value, that of the list at path if i is not -1.
func (d *Decoder) member(n *Node, f *Field, path string, i int) {
	if slices.Contains(f.Enum, n.Text) || !d.listed() {
		return
	}
	if i >= 0 {
		path = place(path, i)
	}
	d.Fail(n, path, "unknown value %q%s", shorten(n.Text), Hint(n.Text, f.Enum))
}
