package strict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the type of a node.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// maxDepth bounds the nesting of a document: deeper than any sensible
// configuration, shallow enough for recursion.
const maxDepth = 64

// Pos is a position in a document. Line and Column count from 1. The zero value is no position.
type Pos struct{ Line, Column int32 }

// Node is one value of a document. It is small, because a document may have many values.
type Node struct {
	Kind Kind
	Pos  Pos
	// Text is the value of a scalar: "true", "42", "0.5" or the string itself.
	Text string
	// inside is what a list or a map has. It is nil for one that is empty.
	inside *inside
}

// inside is what a list or a map has.
type inside struct {
	items   []Node
	entries []Entry
	raw     []byte
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   string
	Pos   Pos
	Value Node
}

// NewMap returns a map of entries that are not, or not like this, in a document.
func NewMap(at Pos, entries ...Entry) *Node {
	return &Node{Kind: Map, Pos: at, inside: &inside{entries: entries}}
}

// Items are the values of a list. They may be changed, but not their number.
func (n *Node) Items() []Node {
	if n.inside == nil {
		return nil
	}
	return n.inside.items
}

// Entries are the keys and values of a map, in the order of the document, duplicates included.
// They may be changed, but not their number.
func (n *Node) Entries() []Entry {
	if n.inside == nil {
		return nil
	}
	return n.inside.entries
}

// Remove removes a value from below the node, and reports whether it was there. Pointers to what
// is beside it then point to something else.
func (n *Node) Remove(value *Node) bool {
	for i := range n.Items() {
		if item := &n.inside.items[i]; item == value {
			n.inside.items = slices.Delete(n.inside.items, i, i+1)
			return true
		} else if item.Remove(value) {
			return true
		}
	}
	for i := range n.Entries() {
		if v := &n.inside.entries[i].Value; v == value {
			n.inside.entries = slices.Delete(n.inside.entries, i, i+1)
			return true
		} else if v.Remove(value) {
			return true
		}
	}
	return false
}

// Find returns the value at a path such as steps[0].name and true. If the path does not exist, it
// returns the last value along the path and false.
func (n *Node) Find(path string) (*Node, bool) {
	if path == "" {
		return n, true
	}
	if rest, ok := strings.CutPrefix(path, "["); ok {
		number, rest, _ := strings.Cut(rest, "]")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(n.Items()) {
			return n, false
		}
		return n.Items()[i].Find(strings.TrimPrefix(rest, "."))
	}
	for i := range n.Entries() {
		e := &n.Entries()[i]
		rest, ok := strings.CutPrefix(path, e.Key)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return e.Value.Find(strings.TrimPrefix(rest, "."))
		}
	}
	return n, false
}

// Any returns the value as nil, bool, int64, float64, string, []any or
// map[string]any. [Decode] has refused integers beyond int64.
func (n *Node) Any() any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Int:
		i, _ := strconv.ParseInt(n.Text, 10, 64)
		return i
	case Float:
		return n.float()
	case String:
		return n.Text
	case List:
		list := make([]any, len(n.Items()))
		for i := range n.Items() {
			list[i] = n.Items()[i].Any()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Entries()))
		for i := range n.Entries() {
			e := &n.Entries()[i]
			m[e.Key] = e.Value.Any()
		}
		return m
	}
	return nil
}

// JSON returns the value as JSON: as it stands in a JSON document, byte for byte, or written with
// the keys in the order of the document. The error says which value JSON cannot state.
func (n *Node) JSON() ([]byte, error) {
	if n.inside != nil && n.inside.raw != nil {
		return n.inside.raw, nil
	}
	return n.appendJSON(nil)
}

func (n *Node) appendJSON(dst []byte) (_ []byte, err error) {
	switch n.Kind {
	case List:
		dst = append(dst, '[')
		for i := range n.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = n.Items()[i].appendJSON(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case Map:
		dst = append(dst, '{')
		for i := range n.Entries() {
			e := &n.Entries()[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = jsontext.AppendQuote(dst, e.Key); err != nil {
				return nil, err
			}
			if dst, err = e.Value.appendJSON(append(dst, ':')); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case String:
		return jsontext.AppendQuote(dst, n.Text)
	case Null:
		return append(dst, "null"...), nil
	}
	if !jsontext.Value(n.Text).IsValid() {
		return nil, fmt.Errorf("%.40q is not a value of JSON", n.Text)
	}
	return append(dst, n.Text...), nil
}

// longestNumber is how many bytes a number may be written with. Longer ones are out of range.
const longestNumber = 1000

// float returns the value of a number, NaN when it is not finite.
func (n *Node) float() float64 {
	if len(n.Text) > longestNumber {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// describe describes the node for error messages.
func (n *Node) describe() string {
	switch n.Kind {
	case Null:
		return "nothing"
	case List:
		return "a list"
	case Map:
		return "a map"
	case String:
		return fmt.Sprintf("the string %q", shorten(n.Text))
	}
	return shorten(n.Text)
}

// shorten cuts a value that is quoted in a message.
func shorten(s string) string { return cut(s, 60) }

// cut returns at most the first bytes of a text, whole characters, and says so.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// FromAny returns the node of a value that [Node.Any] returns; it has no
// position.
func FromAny(v any) *Node {
	n := &Node{}
	n.fromAny(v)
	return n
}

func (n *Node) fromAny(v any) {
	switch x := v.(type) {
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(x)
	case int64:
		n.Kind, n.Text = Int, strconv.FormatInt(x, 10)
	case float64:
		n.Kind, n.Text = Float, strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		n.Kind, n.Text = String, x
	case []any:
		n.Kind, n.inside = List, &inside{items: make([]Node, len(x))}
		for i, item := range x {
			n.inside.items[i].fromAny(item)
		}
	case map[string]any:
		n.Kind, n.inside = Map, &inside{entries: make([]Entry, len(x))}
		for i, key := range slices.Sorted(maps.Keys(x)) {
			e := &n.inside.entries[i]
			e.Key = key
			e.Value.fromAny(x[key])
		}
	}
}
