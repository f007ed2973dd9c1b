package strict

import (
	"context"
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

// Decode fills the struct that into points to from n. The error is a [Problems] with the first
// mistakes and the number of others. A null document is a mistake.
func Decode(file string, n *Node, into any) error {
	return DecodeContext(context.Background(), file, n, into)
}

// DecodeContext is [Decode] until ctx ends; the error is then its own.
func DecodeContext(ctx context.Context, file string, n *Node, into any) error {
	d := &Decoder{file: file, ctx: ctx}
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
	ctx      context.Context
	file     string
	problems Problems
	// found is the number of mistakes, also of those that are not listed.
	found int
	// values is the number of values so far, and ended the error of ctx.
	values int
	ended  error
}

// File returns the name of the document, as errors show it.
func (d *Decoder) File() string { return d.file }

// Context ends the decoding. It is for an [Unmarshaler] with much to do.
func (d *Decoder) Context() context.Context { return d.ctx }

// err returns the mistakes, nil for none.
func (d *Decoder) err() error {
	if d.ended != nil {
		return d.ended
	}
	return d.problems.Err()
}

// goes counts a value, and reports whether the decoding goes on.
func (d *Decoder) goes() bool {
	if d.values++; d.values%lookEvery == 0 && d.ended == nil {
		d.ended = d.ctx.Err()
	}
	return d.ended == nil
}

// listed counts a problem that is not listed any more, for which no message needs to be made. It
// reports whether it is listed, and then does not count it.
func (d *Decoder) listed() bool {
	if !d.problems.full() {
		return true
	}
	d.found++
	d.problems.add(Problem{File: d.file})
	return false
}

// Fail reports a problem at the place of n.
func (d *Decoder) Fail(n *Node, path, format string, args ...any) {
	d.failAt(n.Pos, path, format, args...)
}

func (d *Decoder) failAt(at Pos, path, format string, args ...any) {
	if d.listed() {
		d.found++
		d.problems.add(Problem{File: d.file, Pos: at, Path: path, Message: Message(format, args...)})
	}
}

// Hint is [Hint] for a problem that is listed, and empty for others.
func (d *Decoder) Hint(name string, candidates []string) string {
	if d.problems.full() {
		return ""
	}
	return Hint(name, candidates)
}

// Value fills v from n. Null leaves v as it is.
func (d *Decoder) Value(n *Node, v reflect.Value, path string) {
	if n.Kind == Null || !d.goes() {
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
		if v.Type() == freeMap && n.Kind == Map {
			d.anything(n, v, path)
			return
		}
		d.mapping(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.Interface:
		d.anything(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

// Into fills the value that into points to from n, and reports whether it succeeded. An
// [Unmarshaler] uses it to decode itself as a different type.
func (d *Decoder) Into(n *Node, into any, path string) bool {
	before := d.found
	d.Value(n, reflect.ValueOf(into).Elem(), path)
	return d.found == before && d.ended == nil
}

// longestParsed is how many bytes a text may have that is parsed, such as a time.
const longestParsed = 1000

// text fills a value that parses a string.
func (d *Decoder) text(n *Node, u encoding.TextUnmarshaler, path string) {
	if n.Kind == List || n.Kind == Map || n.Kind == Bool {
		d.Fail(n, path, "want a string, got %s", n.describe())
		return
	}
	if len(n.Text) > longestParsed {
		d.Fail(n, path, "has %d bytes, %d at most", len(n.Text), longestParsed)
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
		if len(n.Text) > longestNumber {
			return 0, false
		}
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
	items := n.Items()
	if v.Type() == textList && allTexts(items) {
		texts := make([]string, len(items))
		for i := range items {
			texts[i] = items[i].Text
		}
		v.Set(reflect.ValueOf(texts))
		return
	}
	// After a mistake the list is of no use. So it does not grow, however many mistakes follow.
	list := reflect.MakeSlice(v.Type(), min(len(items), firstItems), min(len(items), firstItems))
	before := d.found
	for i := range items {
		if !d.goes() {
			return
		}
		if d.found > before {
			list.Index(0).SetZero()
			d.element(&items[i], list.Index(0), place(path, i))
			continue
		}
		if i == list.Len() {
			grown := reflect.MakeSlice(v.Type(), min(len(items), 8*i), min(len(items), 8*i))
			reflect.Copy(grown, list)
			list = grown
		}
		d.element(&items[i], list.Index(i), place(path, i))
	}
	v.Set(list)
}

// firstItems is how many elements of a list are allocated at first.
const firstItems = 64

func allTexts(items []Node) bool {
	for i := range items {
		if items[i].Kind != String {
			return false
		}
	}
	return true
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
	m := reflect.MakeMap(v.Type())
	before := d.found
	value := reflect.New(v.Type().Elem()).Elem()
	for i := range n.Entries() {
		if !d.goes() {
			return
		}
		e := &n.Entries()[i]
		value.SetZero()
		d.element(&e.Value, value, Join(path, e.Key))
		if d.found == before {
			m.SetMapIndex(reflect.ValueOf(e.Key), value)
		}
	}
	v.Set(m)
}

// The types that are filled without reflection, because most values are of them.
var (
	freeMap  = reflect.TypeFor[map[string]any]()
	textList = reflect.TypeFor[[]string]()
)

// anything fills v, which may have any value, or is a map of such values.
func (d *Decoder) anything(n *Node, v reflect.Value, path string) {
	before := d.found
	if d.free(n, path); d.found == before && d.ended == nil {
		v.Set(reflect.ValueOf(n.Any()))
	}
}

// free checks a free-form value: it must have no duplicate keys, and no numbers that Go types
// cannot hold exactly.
func (d *Decoder) free(n *Node, path string) {
	if !d.goes() {
		return
	}
	switch n.Kind {
	case Int:
		if _, ok := whole(n); !ok {
			d.Fail(n, path, "the whole number %s does not fit into 64 bits (write it as a string)", shorten(n.Text))
		}
	case Float:
		if math.IsNaN(n.float()) {
			d.Fail(n, path, "the number %s is out of range", shorten(n.Text))
		}
	case Map:
		d.duplicates(n, path)
		for i := range n.Entries() {
			if e := &n.Entries()[i]; !exact(&e.Value) {
				d.free(&e.Value, Join(path, e.Key))
			}
		}
	case List:
		for i := range n.Items() {
			if item := &n.Items()[i]; !exact(item) {
				d.free(item, place(path, i))
			}
		}
	}
}

// exact reports whether a value is one that a Go type holds, of those that cost nothing to look at: the
// path of others is made in case it is needed.
func exact(n *Node) bool {
	switch n.Kind {
	case Null, Bool, String:
		return true
	case Int:
		return len(n.Text) <= len("123456789012345678") // any of these fits into 64 bits
	case Float:
		return len(n.Text) <= longestNumber && !math.IsNaN(n.float())
	}
	return n.inside == nil
}

// fewKeys is up to how many keys it is cheaper to compare all than to make a map.
const fewKeys = 16

func (d *Decoder) duplicates(n *Node, path string) {
	entries := n.Entries()
	if len(entries) <= fewKeys {
		for i := range entries {
			for j := range i {
				if entries[i].Key == entries[j].Key {
					d.duplicate(&entries[i], entries[j].Pos, path)
					break
				}
			}
		}
		return
	}
	first := make(map[string]int32, len(entries))
	for i := range entries {
		if at, ok := first[entries[i].Key]; ok {
			d.duplicate(&entries[i], entries[at].Pos, path)
			continue
		}
		first[entries[i].Key] = int32(i)
	}
}

func (d *Decoder) duplicate(e *Entry, first Pos, path string) {
	if !d.listed() {
		return
	}
	d.failAt(e.Pos, Join(path, e.Key), "duplicate key (first in line %d)", first.Line)
}

// maxPath is the length from which a path does not grow. Otherwise a long key would be
// copied for each value below it. Messages show less of it.
const maxPath = 250

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
