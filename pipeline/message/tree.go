package message

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNodes bounds the values of one message, so that a small document cannot take much memory.
const maxNodes = 100_000

// maxDepth is how deep a tree looks into a message: enough for a text in a document in the
// result of a tool. What lies deeper is kept as JSON.
const maxDepth = 9

// opened reports whether the value of a member is read as a tree. The values of all others are
// kept as JSON: they are either simple, or not of interest.
func opened(name string) bool {
	switch name {
	case "content", "parts", "tool_calls", "source", "caller", "function", "custom", "image_url", "input_audio", "file", "output",
		"inlineData", "inline_data", "fileData", "file_data", "functionCall", "function_call", "functionResponse", "function_response":
		return true
	}
	return false
}

// none is the index of no node.
const none = -1

// node is a JSON value.
type node struct {
	name string // of the member, empty for an element of a list
	raw  string // the JSON
	at   int    // where raw begins in the document
	key  int    // where the name of the member begins; at for an element of a list
	// kid is the first value in an object or a list, next the one after this one. The members
	// of a value that was not opened are not known.
	kid, next int32
}

// end is where the JSON ends in the document.
func (n *node) end() int { return n.at + len(n.raw) }

// kind is the first byte of the JSON.
func (n *node) kind() byte { return n.raw[0] }

// tree has the values of one message. Values refer to each other by index, so that the memory
// is used again for the next message.
type tree struct{ nodes []node }

// read reads the next value and returns its index.
func (t *tree) read(dec *jsontext.Decoder, doc, name string, depth int) (int32, error) {
	if len(t.nodes) >= maxNodes {
		return none, fmt.Errorf("more than %d values: %w", maxNodes, ErrInvalid)
	}
	at := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{name: name, kid: none, next: none})
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' || depth >= maxDepth || name != "" && !opened(name) {
		raw, err := dec.ReadValue()
		if err != nil {
			return none, syntaxError(err)
		}
		end := int(dec.InputOffset())
		t.nodes[at].raw, t.nodes[at].at, t.nodes[at].key = doc[end-len(raw):end], end-len(raw), end-len(raw)
		return at, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return none, syntaxError(err)
	}
	begin := int(dec.InputOffset()) - 1
	for last := int32(none); dec.PeekKind() != kind+2; { // '}' and ']' are two after '{' and '['
		kid, err := t.kid(dec, doc, kind, depth+1)
		if err != nil {
			return none, err
		}
		if last == none {
			t.nodes[at].kid = kid
		} else {
			t.nodes[last].next = kid
		}
		last = kid
	}
	if _, err := dec.ReadToken(); err != nil {
		return none, syntaxError(err)
	}
	t.nodes[at].raw, t.nodes[at].at, t.nodes[at].key = doc[begin:dec.InputOffset()], begin, begin
	return at, nil
}

// kid reads a member of an object or an element of a list.
func (t *tree) kid(dec *jsontext.Decoder, doc string, parent jsontext.Kind, depth int) (int32, error) {
	if parent == '[' {
		return t.read(dec, doc, "", depth)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return none, syntaxError(err)
	}
	end := int(dec.InputOffset())
	key := unquote(doc[end-len(raw) : end])
	at, err := t.read(dec, doc, key, depth)
	if err != nil {
		return none, inside(key, err)
	}
	t.nodes[at].key = end - len(raw)
	return at, nil
}

// index returns the index of a member of an object, none if there is none of that name or if it
// is null.
func (t *tree) index(object int32, names ...string) int32 {
	for i := t.nodes[object].kid; i != none; i = t.nodes[i].next {
		if n := &t.nodes[i]; n.raw != "null" && slices.Contains(names, n.name) {
			return i
		}
	}
	return none
}

// some returns the text of the first member of these names that is a string, empty for none.
func (t *tree) some(object int32, names ...string) string {
	for _, name := range names {
		if n := t.member(object, name); n != nil && n.kind() == '"' {
			return unquote(n.raw)
		}
	}
	return ""
}

// member returns a member as index does, nil for none.
func (t *tree) member(object int32, name string) *node {
	if i := t.index(object, name); i != none {
		return &t.nodes[i]
	}
	return nil
}

// pathTo returns the steps to the innermost value that has a byte of the document, the last step
// first.
func (t *tree) pathTo(at int) (steps []string) {
	object := int32(0)
	for i, n := t.nodes[0].kid, 0; i != none; {
		kid := &t.nodes[i]
		if at < kid.key || at >= kid.end() {
			i, n = kid.next, n+1
			continue
		}
		step := kid.name
		if t.nodes[object].kind() == '[' {
			step = fmt.Sprintf("[%d]", n)
		}
		if steps = append(steps, step); at < kid.at {
			break
		}
		object, i, n = i, kid.kid, 0
	}
	slices.Reverse(steps)
	return steps
}

// kids returns the values in an object or a list.
func (t *tree) kids(of int32) []node {
	var kids []node
	if of == none {
		return nil
	}
	for i := t.nodes[of].kid; i != none; i = t.nodes[i].next {
		kids = append(kids, t.nodes[i])
	}
	return kids
}
