package strict

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// An Unmarshaler decodes itself from a node. It is meant for values that may have several forms.
type Unmarshaler interface {
	UnmarshalNode(d *Decoder, n *Node, path string)
}

// maxProblems is how many mistakes of a document are listed.
const maxProblems = 100

// Decode fills the struct that into points to from n. The error is a [Problems] with the
// first 100 mistakes and the number of others. A null document is a mistake.
func Decode(file string, n *Node, into any) error {
	d := &Decoder{file: file}
	if n.Kind == Null {
		d.Fail(n, "", "want a map, got null")
		return d.err()
	}
	d.Value(n, reflect.ValueOf(into).Elem(), "")
	return d.err()
}

// DecodeAny fills the struct that into points to from a free-form value, such as the settings of
// a step. nil is an empty map. Errors show name instead of a file.
func DecodeAny(name string, value map[string]any, into any) error {
	return Decode(name, FromAny(value), into)
}

// Decoder is the state of one [Decode]; an [Unmarshaler] uses it to decode
// parts of its node and to report problems.
type Decoder struct {
	file     string
	problems Problems
	// others is the number of mistakes beyond maxProblems.
	others int
}

// File returns the name of the document, as errors show it.
func (d *Decoder) File() string { return d.file }

// err returns the mistakes, nil for none.
func (d *Decoder) err() error {
	err := d.problems.Err()
	if d.others > 0 {
		return append(d.problems, Problem{File: d.file, Message: fmt.Sprintf("%d more mistakes (mend these first)", d.others)})
	}
	return err
}

// found returns the number of mistakes so far.
func (d *Decoder) found() int { return len(d.problems) + d.others }

// Fail reports a problem at the place of n.
func (d *Decoder) Fail(n *Node, path, format string, args ...any) {
	d.failAt(n.Pos, path, format, args...)
}

func (d *Decoder) failAt(at Pos, path, format string, args ...any) {
	if len(d.problems) == maxProblems {
		d.others++
		return
	}
	d.problems = append(d.problems, Problem{File: d.file, Pos: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Value fills v from n. Null leaves v as it is.
func (d *Decoder) Value(n *Node, v reflect.Value, path string) {
	if n.Kind == Null {
		return
	}
	if v.CanAddr() {
		switch u := v.Addr().Interface().(type) {
		case Unmarshaler:
			u.UnmarshalNode(d, n, path)
			return
		case encoding.TextUnmarshaler:
			d.text(n, u, path)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.Value(n, v.Elem(), path)
	case reflect.Struct:
		d.object(n, v, path)
	case reflect.Map:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.Interface:
		d.free(n, path)
		v.Set(reflect.ValueOf(n.Any()))
	default:
		d.scalar(n, v, path)
	}
}

// Into fills the value that into points to from n, and reports whether it succeeded. An
// [Unmarshaler] uses it to decode itself as a different type.
func (d *Decoder) Into(n *Node, into any, path string) bool {
	before := d.found()
	d.Value(n, reflect.ValueOf(into).Elem(), path)
	return d.found() == before
}

// text fills a value that parses a string.
func (d *Decoder) text(n *Node, u encoding.TextUnmarshaler, path string) {
	if n.Kind == List || n.Kind == Map || n.Kind == Bool {
		d.Fail(n, path, "want a string, got %s", n.describe())
		return
	}
	err := u.UnmarshalText([]byte(n.Text))
	if _, ok := u.(*time.Time); ok && err != nil {
		err = fmt.Errorf("want a time such as %q, got %q", "2006-01-02T15:04:05Z", shorten(n.Text))
	}
	if err != nil {
		d.Fail(n, path, "%v", err)
	}
}

func (d *Decoder) scalar(n *Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		if n.Kind != String {
			d.Fail(n, path, "want a string, got %s%s", n.describe(), quoteHint(n))
			return
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if n.Kind != Bool {
			d.Fail(n, path, "want true or false, got %s", n.describe())
			return
		}
		v.SetBool(n.Text == "true")
	case reflect.Int, reflect.Int64:
		i, ok := whole(n)
		if !ok {
			d.Fail(n, path, "want a whole number, got %s", n.describe())
			return
		}
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		if n.Kind != Int && n.Kind != Float {
			d.Fail(n, path, "want a number, got %s", n.describe())
			return
		}
		f := n.float()
		if math.IsNaN(f) || v.OverflowFloat(f) {
			d.Fail(n, path, "the number %s is out of range", shorten(n.Text))
			return
		}
		v.SetFloat(f)
	}
}

// quoteHint says how to write a scalar as a string.
func quoteHint(n *Node) string {
	if n.Kind == Int || n.Kind == Float || n.Kind == Bool {
		return fmt.Sprintf(" (write %q)", shorten(n.Text))
	}
	return ""
}

// whole returns the value of an integer. It may be written as 5.0.
func whole(n *Node) (int64, bool) {
	switch n.Kind {
	case Int:
		i, err := strconv.ParseInt(n.Text, 10, 64)
		return i, err == nil
	case Float:
		f := n.float()
		return int64(f), f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

func (d *Decoder) list(n *Node, v reflect.Value, path string) {
	if n.Kind != List {
		d.Fail(n, path, "want a list, got %s", n.describe())
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.element(item, list.Index(i), place(path, i))
	}
	v.Set(list)
}

// element fills an element of a list or map. A null element is an empty map if a map is wanted,
// and otherwise a mistake.
func (d *Decoder) element(n *Node, v reflect.Value, path string) {
	switch {
	case n.Kind != Null || v.Kind() == reflect.Interface:
		d.Value(n, v, path)
	case v.Kind() == reflect.Struct:
		d.Value(&Node{Kind: Map, Pos: n.Pos}, v, path)
	default:
		d.Fail(n, path, "want a value, got nothing")
	}
}

func (d *Decoder) mapping(n *Node, v reflect.Value, path string) {
	if n.Kind != Map {
		d.Fail(n, path, "want a map, got %s", n.describe())
		return
	}
	d.duplicates(n, path)
	m := reflect.MakeMapWithSize(v.Type(), len(n.Entries))
	for _, e := range n.Entries {
		value := reflect.New(v.Type().Elem()).Elem()
		at := Join(path, e.Key)
		d.element(e.Value, value, at)
		m.SetMapIndex(reflect.ValueOf(e.Key), value)
	}
	v.Set(m)
}

// free checks a free-form value: it must have no duplicate keys, and no numbers that Go types
// cannot hold exactly.
func (d *Decoder) free(n *Node, path string) {
	switch n.Kind {
	case Map:
		d.duplicates(n, path)
	case Int:
		if _, err := strconv.ParseInt(n.Text, 10, 64); err != nil {
			d.Fail(n, path, "the whole number %s does not fit into 64 bits (write it as a string)", shorten(n.Text))
		}
	case Float:
		if math.IsNaN(n.float()) {
			d.Fail(n, path, "the number %s is out of range", shorten(n.Text))
		}
	}
	for _, e := range n.Entries {
		d.free(e.Value, Join(path, e.Key))
	}
	for i, item := range n.Items {
		d.free(item, place(path, i))
	}
}

func (d *Decoder) duplicates(n *Node, path string) {
	first := make(map[string]Pos, len(n.Entries))
	for _, e := range n.Entries {
		if at, ok := first[e.Key]; ok {
			d.failAt(e.Pos, Join(path, e.Key), "duplicate key (first in line %d)", at.Line)
			continue
		}
		first[e.Key] = e.Pos
	}
}

// maxPath is the length from which a path does not grow. Otherwise a long key would be
// copied for each value below it. Messages show less of it.
const maxPath = 1000

// Join returns the path of a key inside path. It cuts the path where it is longer than
// any that a valid document has.
func Join(path, key string) string {
	switch {
	case path == "":
		return key[:min(len(key), maxPath)]
	case len(path) >= maxPath:
		return path
	}
	return path + "." + key[:min(len(key), maxPath)]
}

// place returns the path of a value of the list at path.
func place(path string, i int) string {
	if len(path) >= maxPath {
		return path
	}
	return path + "[" + strconv.Itoa(i) + "]"
}
