package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// member is a member of an object, and members an object whose members have an order.
type (
	member struct {
		name  string
		value any
	}
	members []member
)

// MarshalJSON writes the members in their order.
func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, of := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(of.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(of.value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal writes JSON without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// maxDepth bounds the nesting of settings.
const maxDepth = 200

// parse reads settings in JSON, with comments and commas at the end allowed.
func parse(data []byte) (hujson.Value, error) {
	if err := shallow(data); err != nil {
		return hujson.Value{}, err
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return root, fmt.Errorf("not valid JSON: %w", err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return root, errors.New("not a JSON object")
	}
	return root, nil
}

// shallow refuses documents whose nesting could exhaust the stack of a parser. Brackets in texts count, too.
func shallow(data []byte) error {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// find returns the member of an object, nil if there is none. Of members of one name the last counts, as in clients.
func find(o *hujson.Object, name string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if lit, ok := o.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == name {
			return i
		}
	}
	return -1
}

// bom is what some editors of Windows write before a text. It stays where it was.
var bom = []byte("\xef\xbb\xbf")

// addJSON adds entries to settings. Empty settings become an object.
func addJSON(data []byte, entries []entry) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(data, bom); ok {
		out, err := addJSON(rest, entries)
		return append(bom[:len(bom):len(bom)], out...), err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = append([]byte("{}\n"), data...)
		data = append(bytes.TrimRight(data, " \t\r\n"), '\n')
	}
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	style := styleOf(root.Value.(*hujson.Object)) // parse checked the type
	for i := range entries {
		if err := style.put(root.Value.(*hujson.Object), &entries[i]); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

// style is how a file is indented.
type style struct{ unit, newline string }

func styleOf(o *hujson.Object) style {
	s := style{"  ", "\n"}
	if len(o.Members) == 0 {
		return s
	}
	before := string(o.Members[0].Name.BeforeExtra)
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		if space := before[i+1:]; space != "" && strings.Trim(space, " \t") == "" {
			s.unit = space
		}
		if i > 0 && before[i-1] == '\r' {
			s.newline = "\r\n"
		}
	}
	return s
}

func (s style) indent(depth int) string { return s.newline + strings.Repeat(s.unit, depth) }

// put adds one entry below an object, and the objects and the list on its path that are missing.
func (s style) put(o *hujson.Object, e *entry) error {
	for depth, name := range e.path {
		i := find(o, name)
		last := depth == len(e.path)-1
		switch {
		case last && e.list && i < 0:
			return s.append(&object{o}, depth+1, name, []any{e.value})
		case last && e.list:
			list, ok := o.Members[i].Value.Value.(*hujson.Array)
			if !ok {
				return fmt.Errorf("%s is no list", strings.Join(e.path, "."))
			}
			return s.append(&array{list}, depth+2, "", e.value)
		case last && i >= 0 && e.shared:
			return nil
		case last && i >= 0:
			return fmt.Errorf("%s is there already, and is not ours (rename or remove it)", strings.Join(e.path, "."))
		case i < 0:
			value := e.value
			if e.list {
				value = []any{value}
			}
			for j := len(e.path) - 1; j > depth; j-- {
				value = members{{e.path[j], value}}
			}
			return s.append(&object{o}, depth+1, name, value)
		}
		inner, ok := o.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%s is no object", strings.Join(e.path[:depth+1], "."))
		}
		o = inner
	}
	return nil
}

// append adds a value at the end of an object or a list, indented as its neighbours are.
func (s style) append(c container, depth int, name string, value any) error {
	n := c.len()
	lines := n == 0 || bytes.IndexByte(*c.before(n - 1), '\n') >= 0
	text, err := marshal(value)
	if err != nil {
		return err
	}
	before := s.indent(depth)
	if lines {
		var b bytes.Buffer
		if err := json.Indent(&b, text, strings.Repeat(s.unit, depth), s.unit); err != nil {
			return err
		}
		text = bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(s.newline))
	} else {
		before = string(blank(*c.before(n - 1)))
	}
	added, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	end := c.end()
	extra := *end
	if comment := bytes.TrimRight(extra, " \t\r\n"); len(comment) > 0 { // it belongs to what stands before
		before = string(comment) + s.indent(depth)
		extra = extra[len(comment):]
	}
	if n == 0 && !bytes.ContainsRune(extra, '\n') {
		extra = hujson.Extra(s.indent(depth - 1))
	}
	*end = extra
	var after hujson.Extra
	if n > 0 && *c.after(n - 1) != nil { // the last value has a comma
		after = hujson.Extra{}
	}
	c.add(hujson.Extra(before), name, added.Value, after, lines)
	return nil
}

// blank is the white space of what stands before a value.
func blank(extra hujson.Extra) hujson.Extra {
	if len(bytes.TrimSpace(extra)) > 0 {
		return hujson.Extra(" ")
	}
	return extra
}

// container is an object or a list.
type container interface {
	len() int
	before(i int) *hujson.Extra // what stands before a value or its name
	after(i int) *hujson.Extra  // what stands between a value and its comma; nil for a last one without
	end() *hujson.Extra         // what stands before the closing bracket
	add(before hujson.Extra, name string, v hujson.ValueTrimmed, after hujson.Extra, spaced bool)
	remove(i int)
}

type object struct{ *hujson.Object }

func (o *object) len() int                   { return len(o.Members) }
func (o *object) before(i int) *hujson.Extra { return &o.Members[i].Name.BeforeExtra }
func (o *object) after(i int) *hujson.Extra  { return &o.Members[i].Value.AfterExtra }
func (o *object) end() *hujson.Extra         { return &o.AfterExtra }
func (o *object) remove(i int)               { o.Members = append(o.Members[:i:i], o.Members[i+1:]...) }
func (o *object) add(before hujson.Extra, name string, v hujson.ValueTrimmed, after hujson.Extra, spaced bool) {
	m := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(name)}, Value: hujson.Value{Value: v, AfterExtra: after}}
	if spaced || len(o.Members) > 0 && len(o.Members[0].Value.BeforeExtra) > 0 {
		m.Value.BeforeExtra = hujson.Extra(" ")
	}
	o.Members = append(o.Members, m)
}

type array struct{ *hujson.Array }

func (a *array) len() int                   { return len(a.Elements) }
func (a *array) before(i int) *hujson.Extra { return &a.Elements[i].BeforeExtra }
func (a *array) after(i int) *hujson.Extra  { return &a.Elements[i].AfterExtra }
func (a *array) end() *hujson.Extra         { return &a.AfterExtra }
func (a *array) remove(i int)               { a.Elements = append(a.Elements[:i:i], a.Elements[i+1:]...) }
func (a *array) add(before hujson.Extra, _ string, v hujson.ValueTrimmed, after hujson.Extra, _ bool) {
	a.Elements = append(a.Elements, hujson.Value{BeforeExtra: before, Value: v, AfterExtra: after})
}

// stripJSON takes our entries out of settings, and objects and lists that are empty then.
func stripJSON(data []byte, entries []entry) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(data, bom); ok {
		out, err := stripJSON(rest, entries)
		return append(bom[:len(bom):len(bom)], out...), err
	}
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if !entries[i].shared {
			strip(&object{root.Value.(*hujson.Object)}, &entries[i], entries[i].path) // parse checked the type
		}
	}
	return root.Pack(), nil
}

// strip takes an entry out of an object and reports whether something went.
func strip(o *object, e *entry, path []string) (gone bool) {
	i := find(o.Object, path[0])
	if i < 0 {
		return false
	}
	value := &o.Members[i].Value
	if len(path) == 1 && !e.list {
		if !oursAsServer(value) {
			return false
		}
		drop(o, i)
		return true
	}
	empty := false
	switch inner := value.Value.(type) {
	case *hujson.Object:
		if len(path) > 1 {
			gone = strip(&object{inner}, e, path[1:])
			empty = len(inner.Members) == 0
		}
	case *hujson.Array:
		gone = len(path) == 1 && stripList(inner)
		empty = len(inner.Elements) == 0
	}
	if gone && empty {
		drop(o, i)
	}
	return gone
}

// stripList takes our hooks out of a list and out of groups in it that somebody made of ours and others. It reports
// whether something went.
func stripList(list *hujson.Array) (gone bool) {
	for j := len(list.Elements) - 1; j >= 0; j-- {
		if ours(&list.Elements[j]) {
			drop(&array{list}, j)
			gone = true
			continue
		}
		group, ok := list.Elements[j].Value.(*hujson.Object)
		if !ok {
			continue
		}
		if i := find(group, "hooks"); i >= 0 {
			if inner, ok := group.Members[i].Value.Value.(*hujson.Array); ok && stripList(inner) {
				gone = true
			}
		}
	}
	return gone
}

// ours reports whether an element of a list of hooks is ours: all texts of commands in it run our program.
func ours(v *hujson.Value) bool {
	found := false
	for of := range v.All() {
		o, ok := of.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for i := range o.Members {
			name, _ := o.Members[i].Name.Value.(hujson.Literal)
			text, isText := o.Members[i].Value.Value.(hujson.Literal)
			if key := name.String(); !isText || text.Kind() != '"' || key != "command" && key != "bash" {
				continue
			}
			if !isOurs(text.String()) {
				return false
			}
			found = true
		}
	}
	return found
}

// oursAsServer reports whether the entry of a server runs our program.
func oursAsServer(v *hujson.Value) bool {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	i := find(o, "command")
	if i < 0 {
		return false
	}
	command, ok := o.Members[i].Value.Value.(hujson.Literal)
	return ok && command.Kind() == '"' && isProgram(command.String())
}

// drop removes a value and keeps comments that stand before it.
func drop(c container, i int) {
	last := i == c.len()-1
	comment := hujson.Extra(bytes.TrimRight(*c.before(i), " \t\r\n"))
	after := *c.after(i)
	c.remove(i)
	switch {
	case !last:
		if len(comment) > 0 {
			*c.before(i) = append(comment, *c.before(i)...)
		}
		return
	case i > 0 && after == nil: // the value before is the last now, and has no comma
		comment = append(bytes.TrimRight(*c.after(i - 1), " \t\r\n"), comment...)
		*c.after(i - 1) = nil
	case i > 0:
		*c.after(i - 1) = append(hujson.Extra{}, *c.after(i - 1)...)
	}
	if *c.end() = append(comment, *c.end()...); c.len() == 0 && len(comment) == 0 && len(bytes.TrimSpace(*c.end())) == 0 {
		*c.end() = nil
	}
}
