package strict

import (
	"context"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// Members checks a document against the type of like, whose fields have tags of encoding/json:
// unknown members, and values of another kind than the field's. What decodes itself is not
// checked, except for structs that say by DocumentType as what type they are to be checked. The
// error is a [Problems].
func Members(file string, n *Node, like any) error {
	d := &Decoder{file: file, ctx: context.Background()}
	d.members(n, reflect.TypeOf(like), "")
	return d.err()
}

// Documented is a type that decodes itself, and whose documents have the members of another type.
type Documented interface{ DocumentType() any }

var (
	documented  = reflect.TypeFor[Documented]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	texts       = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *Decoder) members(n *Node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch p := reflect.PointerTo(t); {
	case n.Kind == Null:
		return
	case t.Implements(documented):
		if n.Kind != Map { // it has a short form
			return
		}
		t = reflect.TypeOf(reflect.Zero(t).Interface().(Documented).DocumentType())
	case p.Implements(texts):
		d.kind(n, path, "a string", String)
		return
	case p.Implements(unmarshaler), t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Interface, t.Kind() == reflect.Interface:
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		d.structMembers(n, t, path)
	case reflect.Map:
		if d.kind(n, path, "an object", Map) {
			for i := range n.Entries() {
				e := &n.Entries()[i]
				d.members(&e.Value, t.Elem(), Join(path, e.Key))
			}
		}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // raw JSON
			return
		}
		if d.kind(n, path, "a list", List) {
			for i := range n.Items() {
				d.members(&n.Items()[i], t.Elem(), place(path, i))
			}
		}
	case reflect.String:
		d.kind(n, path, "a string", String)
	case reflect.Bool:
		d.kind(n, path, "true or false", Bool)
	case reflect.Float32, reflect.Float64:
		d.kind(n, path, "a number", Int, Float)
	default:
		d.kind(n, path, "a whole number", Int)
	}
}

// kind reports a value of another kind than those wanted.
func (d *Decoder) kind(n *Node, path, want string, kinds ...Kind) bool {
	for _, k := range kinds {
		if n.Kind == k {
			return true
		}
	}
	d.Fail(n, path, "want %s, got %s", want, n.describe())
	return false
}

func (d *Decoder) structMembers(n *Node, t reflect.Type, path string) {
	if !d.kind(n, path, "an object", Map) {
		return
	}
	fields := map[string]reflect.Type{}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Type
			names = append(names, name)
		}
	}
	for i := range n.Entries() {
		e := &n.Entries()[i]
		if f, known := fields[e.Key]; known {
			d.members(&e.Value, f, Join(path, e.Key))
			continue
		}
		d.failAt(e.Pos, Join(path, e.Key), "unknown member%s", d.Hint(e.Key, names))
	}
}
