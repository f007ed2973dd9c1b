package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Rewrite returns a file with each former key in the place that it has now, and what it could not keep: keys
// that are gone. The file is returned as it is if it has no former key. name appears in errors.
func Rewrite(name string, data []byte) (out []byte, notes []string, err error) {
	if _, err := strict.ParseYAML(name, data); err != nil { // bounds what follows
		return nil, nil, err
	}
	source, marked := markBlank(data)
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return data, nil, err
	}
	r := &rewriter{}
	root := doc.Content[0]
	r.scope(root, "")
	r.sized = valueOf(valueOf(root, "window"), "max_tokens") != nil
	if pipelines := valueOf(root, "pipelines"); pipelines != nil && pipelines.Kind == yaml.MappingNode {
		for i := 1; i < len(pipelines.Content); i += 2 {
			r.scope(pipelines.Content[i], "pipelines."+pipelines.Content[i-1].Value+".")
		}
	}
	if !r.changed {
		return data, r.notes, nil
	}
	for _, section := range r.made {
		inline(section)
	}
	stateNulls(root, false)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if compact(root) {
		enc.CompactSeqIndent()
	}
	if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
		return nil, nil, fmt.Errorf("%s: rewrite: %w", name, err)
	}
	out = b.Bytes()
	if marked {
		out = unmarkBlank(out)
	}
	if _, err := strict.ParseYAML(name, out); err != nil {
		return nil, nil, fmt.Errorf("%s: a key that moves has an anchor that stands before it now (write what *NAME stands for in its place, and try again): %w", name, err)
	}
	return out, r.notes, nil
}

// rewriter is the state of one [Rewrite].
type rewriter struct {
	prefix  string
	changed bool
	notes   []string
	// sized says that the top level of the file states the size of the window.
	sized bool
	// made are the sections that were not in the file.
	made []*yaml.Node
}

// scope makes all moves in the top level of a file, or in a pipeline.
func (r *rewriter) scope(root *yaml.Node, prefix string) {
	if root.Kind != yaml.MappingNode {
		return
	}
	r.prefix = prefix
	r.retrievers(root)
	if memory := valueOf(root, "memory"); memory != nil && memory.Tag == "!!null" && prefix != "" {
		null := *memory // in a pipeline it removes the plugin of the top level
		*memory = *newMap(root)
		memory.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "use"}, &null}
	}
	for _, m := range moves {
		r.move(root, root, m, strings.Split(m.from, "."), nil)
	}
}

// move makes one move below n, whose path begins with what keys does not have any more.
func (r *rewriter) move(root, n *yaml.Node, m move, keys, stars []string) {
	if keys[0] == "*" {
		for i, child := range n.Content {
			switch {
			case n.Kind == yaml.SequenceNode:
				r.move(root, child, m, keys[1:], append(slices.Clip(stars), "["+strconv.Itoa(i)+"]"))
			case n.Kind == yaml.MappingNode && i%2 == 1:
				r.move(root, child, m, keys[1:], append(slices.Clip(stars), "."+n.Content[i-1].Value))
			}
		}
		return
	}
	i := indexOf(n, keys[0])
	if i < 0 {
		return
	}
	if len(keys) > 1 {
		r.move(root, n.Content[i+1], m, keys[1:], stars)
		if below := n.Content[i+1]; m.to != "" && parent(m.from) != parent(m.to) && len(keys) == 2 && below.Kind == yaml.MappingNode && len(below.Content) == 0 && below.Style != yaml.FlowStyle|yaml.TaggedStyle {
			r.drop(n, i, false)
		}
		return
	}
	switch {
	case m.to == "":
		r.notes = append(r.notes, fmt.Sprintf("%s%s was removed, and is left out", r.prefix, place(m.from, stars)))
		r.drop(n, i, true)
	case parent(m.from) == parent(m.to):
		to := m.to[strings.LastIndexByte(m.to, '.')+1:]
		if indexOf(n, to) >= 0 {
			r.notes = append(r.notes, fmt.Sprintf("%s%s stays: %s is there, too (keep one)", r.prefix, place(m.from, stars), to))
			return
		}
		n.Content[i].Value, r.changed = to, true
	default:
		r.into(root, n, i, m)
	}
}

// into moves the key at i of n to another section of root.
func (r *rewriter) into(root, n *yaml.Node, i int, m move) {
	if strings.HasSuffix(m.from, "total_tokens") && (r.sized || valueOf(valueOf(root, "window"), "max_tokens") != nil) {
		r.notes = append(r.notes, fmt.Sprintf("%s%s was removed, and is left out: %s is the size of the window", r.prefix, m.from, m.to))
		r.drop(n, i, true)
		return
	}
	path := strings.Split(m.to, ".")
	key, value := n.Content[i], n.Content[i+1]
	at := root
	for _, section := range path[:len(path)-1] {
		j := indexOf(at, section)
		if j < 0 {
			made := newMap(at)
			r.made = append(r.made, made)
			name := &yaml.Node{Kind: yaml.ScalarNode, Value: section}
			if at == root && n == root {
				if i == 0 { // what stands above the first key is said of the file
					name.HeadComment, key.HeadComment = key.HeadComment, ""
				}
				at.Content = slices.Insert(at.Content, i, name, made)
				i += 2
			} else if j = indexOf(at, strings.Split(m.from, ".")[0]); at == root && j >= 0 {
				at.Content = slices.Insert(at.Content, j, name, made)
			} else {
				at.Content = append(at.Content, name, made)
			}
			at = made
			continue
		}
		at = at.Content[j+1]
		switch {
		case at.Kind == yaml.ScalarNode && at.Tag == "!!null":
			*at = *newMap(root)
		case at.Kind == yaml.ScalarNode: // the name of what is used
			text := *at
			*at = *newMap(root)
			at.Style = yaml.FlowStyle
			at.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "use"}, &text}
		}
	}
	last := path[len(path)-1]
	if at.Kind != yaml.MappingNode || indexOf(at, last) >= 0 {
		r.notes = append(r.notes, fmt.Sprintf("%s%s stays: %s is there, too (keep one)", r.prefix, m.from, m.to))
		return
	}
	n.Content = slices.Delete(n.Content, i, i+2)
	key.Value = last
	if at.Style == yaml.FlowStyle && (value.Style != yaml.FlowStyle && value.Kind != yaml.ScalarNode || comments(key, value)) {
		at.Style = 0
	}
	at.Content = append(at.Content, key, value)
	r.changed = true
}

// drop removes a key, and keeps what is said above it.
func (r *rewriter) drop(n *yaml.Node, i int, changed bool) {
	above := n.Content[i].HeadComment
	n.Content = slices.Delete(n.Content, i, i+2)
	if above != "" && i < len(n.Content) {
		n.Content[i].HeadComment = strings.TrimSpace(above + "\n" + n.Content[i].HeadComment)
	}
	r.changed = r.changed || changed
}

// retrievers gives the former key retriever of each step its present form: a step that only searches uses the
// retriever, and one with a plugin has it in its list.
func (r *rewriter) retrievers(root *yaml.Node) {
	steps := valueOf(root, "steps")
	if steps == nil || steps.Kind != yaml.SequenceNode {
		return
	}
	for _, step := range steps.Content {
		i := indexOf(step, "retriever")
		if i < 0 {
			continue
		}
		r.changed = true
		named := step.Content[i+1]
		for _, key := range []string{"plugin", "instance", "retriever"} {
			if j := indexOf(named, key); j >= 0 {
				named.Content[j].Value = "use"
			}
		}
		if indexOf(step, "plugin") >= 0 || indexOf(step, "instance") >= 0 || indexOf(step, "use") >= 0 {
			step.Content[i].Value = "retrievers"
			if named.Kind == yaml.MappingNode {
				named.Style = yaml.FlowStyle
			}
			step.Content[i+1] = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{named}}
			continue
		}
		if named.Kind != yaml.MappingNode {
			step.Content[i].Value = "use"
			continue
		}
		var own []*yaml.Node // its timeout counts before that of the step
		for j := 0; j+1 < len(named.Content); j += 2 {
			if k := indexOf(step, named.Content[j].Value); k >= 0 {
				step.Content[k+1] = named.Content[j+1]
			} else {
				own = append(own, named.Content[j], named.Content[j+1])
			}
		}
		step.Content = slices.Replace(step.Content, i, i+2, own...)
	}
}

func newMap(beside *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: beside.Style & yaml.FlowStyle}
}

// widest is the longest section that is written in one line.
const widest = 100

// inline writes a section in one line if it has only short values and no comments.
func inline(section *yaml.Node) {
	width := 0
	for i, n := range section.Content {
		if n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0 || n.Kind == yaml.AliasNode || comments(n) || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return
		}
		text, err := yaml.Marshal(n)
		if width += len(text) + 1; err != nil || width > widest || i%2 == 1 && strings.Contains(strings.TrimSpace(string(text)), "\n") {
			return
		}
	}
	if len(section.Content) > 0 {
		section.Style = yaml.FlowStyle
	}
}

// stateNulls writes out the empty values of lists and maps in one line, because the library makes them texts.
func stateNulls(n *yaml.Node, line bool) {
	if line && n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "" {
		n.Value = "null"
	}
	for _, below := range n.Content {
		stateNulls(below, line || n.Style&yaml.FlowStyle != 0)
	}
}

// comments reports whether nodes, or what they have, have comments.
func comments(nodes ...*yaml.Node) bool {
	for _, n := range nodes {
		around := strings.ReplaceAll(n.HeadComment+n.FootComment, blank, "")
		if strings.TrimSpace(around) != "" || n.LineComment != "" || comments(n.Content...) {
			return true
		}
	}
	return false
}

// indexOf returns the index of a key in the content of a map, -1 if it is not there.
func indexOf(n *yaml.Node, key string) int {
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return i
			}
		}
	}
	return -1
}

func valueOf(n *yaml.Node, key string) *yaml.Node {
	if i := indexOf(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}

// place returns a path with the keys (.name) and numbers ([0]) that its stars stand for.
func place(pattern string, stars []string) string {
	for _, star := range stars {
		pattern = strings.Replace(pattern, ".*", star, 1)
	}
	return pattern
}

// compact reports whether lists are written at the column of their key.
func compact(n *yaml.Node) bool {
	for i := 1; i < len(n.Content); i += 2 {
		if list := n.Content[i]; n.Kind == yaml.MappingNode && list.Kind == yaml.SequenceNode && list.Style&yaml.FlowStyle == 0 {
			return list.Column == n.Content[i-1].Column
		}
	}
	return slices.ContainsFunc(n.Content, compact)
}

// blank stands for a blank line while a file is rewritten: the library drops those.
const blank = "#~blank~"

// markBlank puts a mark in the place of each blank line, unless what the file means would change.
func markBlank(data []byte) (out []byte, marked bool) {
	lines := strings.Split(string(data), "\n")
	if strings.Contains(string(data), blank) {
		return data, false
	}
	inText := -1 // the indentation of the key of a text in lines
	for i, line := range lines[:len(lines)-1] {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed != "" && inText >= 0 && indent > inText:
		case trimmed != "":
			inText = -1
			if end := strings.TrimRight(trimmed, "+-0123456789"); strings.HasSuffix(end, "|") || strings.HasSuffix(end, ">") {
				inText = indent
			}
		case inText < 0:
			next := ""
			for _, after := range lines[i+1:] {
				if strings.TrimSpace(after) != "" {
					next = after
					break
				}
			}
			if next != "" {
				lines[i], marked = strings.Repeat(" ", len(next)-len(strings.TrimLeft(next, " ")))+blank, true
			}
		}
	}
	out = []byte(strings.Join(lines, "\n"))
	var before, after any
	if yaml.Unmarshal(data, &before) != nil || yaml.Unmarshal(out, &after) != nil || !reflect.DeepEqual(before, after) {
		return data, false
	}
	return out, marked
}

// unmarkBlank undoes markBlank.
func unmarkBlank(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	var out []string
	for _, line := range lines {
		switch rest, is := strings.CutPrefix(strings.TrimSpace(line), blank); {
		case !is:
			out = append(out, strings.ReplaceAll(line, " "+blank, ""))
		case len(out) > 0 && out[len(out)-1] == "" || rest != "":
		default:
			out = append(out, "")
		}
	}
	return []byte(strings.Join(out, "\n"))
}
