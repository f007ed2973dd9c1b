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
type Pos struct{ Line, Column int }

// Node is one value of a document.
type Node struct {
	Kind Kind
	Pos  Pos
	// Text is the value of a scalar: "true", "42", "0.5" or the string itself.
	Text string
	// Items are the values of a list.
	Items []*Node
	// Entries are the keys and values of a map, in the order of the document,
	// duplicates included.
	Entries []Entry
	// Raw is the JSON of a list or a map as it stands in the document. It is nil in YAML.
	Raw []byte
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   string
	Pos   Pos
	Value *Node
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
		if err != nil || i < 0 || i >= len(n.Items) {
			return n, false
		}
		return n.Items[i].Find(strings.TrimPrefix(rest, "."))
	}
	for _, e := range n.Entries {
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
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Any()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Any()
		}
		return m
	}
	return nil
}

// JSON returns the value as JSON: as it stands in a JSON document, byte for byte, or written with
// the keys in the order of the document. The error says which value JSON cannot state.
func (n *Node) JSON() ([]byte, error) {
	if n.Raw != nil {
		return n.Raw, nil
	}
	return n.appendJSON(nil)
}

func (n *Node) appendJSON(dst []byte) (_ []byte, err error) {
	switch n.Kind {
	case List:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = item.appendJSON(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case Map:
		dst = append(dst, '{')
		for i, e := range n.Entries {
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

// float returns the value of a number, NaN when it is not finite.
func (n *Node) float() float64 {
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
func shorten(s string) string {
	const longest = 60
	if len(s) <= longest {
		return s
	}
	cut := longest
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// FromAny returns the node of a value that [Node.Any] returns; it has no
// position.
func FromAny(v any) *Node {
	switch x := v.(type) {
	case bool:
		return &Node{Kind: Bool, Text: strconv.FormatBool(x)}
	case int64:
		return &Node{Kind: Int, Text: strconv.FormatInt(x, 10)}
	case float64:
		return &Node{Kind: Float, Text: strconv.FormatFloat(x, 'g', -1, 64)}
	case string:
		return &Node{Kind: String, Text: x}
	case []any:
		n := &Node{Kind: List}
		for _, item := range x {
			n.Items = append(n.Items, FromAny(item))
		}
		return n
	case map[string]any:
		n := &Node{Kind: Map}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			n.Entries = append(n.Entries, Entry{Key: key, Value: FromAny(x[key])})
		}
		return n
	}
	return &Node{}
}
