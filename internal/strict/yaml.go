package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxYAMLNodes is the maximum number of values after aliases are expanded. maxYAMLMarks is that of
// the characters that can begin one: the library makes its nodes of all before we can count them.
const maxYAMLNodes, maxYAMLMarks = 100_000, 250_000

// yamlLine finds the line number in the text of a YAML parser error, because the error has no
// field for it.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// ParseYAML reads one YAML document. file appears in errors. An empty document
// is an empty map; a second document is refused. Merge keys are not special:
// "<<" is an ordinary key.
func ParseYAML(file string, data []byte) (*Node, error) {
	if yamlMarks(data) > maxYAMLMarks {
		return nil, &tooMany{file, Limits{maxYAMLNodes, severalFiles}}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return &Node{Kind: Map, Pos: Pos{1, 1}}, nil
	} else if err != nil {
		return nil, yamlProblem(file, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		at := yamlPos(&second)
		return nil, Problems{{File: file, Pos: at, Message: "a second document follows (keep one document per file)"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlProblem(file, err)
	}
	c, n := &yamlConverter{file: file}, &Node{}
	c.node(n, &doc, 0)
	if err := c.problems.Err(); err != nil {
		return nil, err
	}
	if n.Kind == Null && doc.Content[0].Value == "" {
		n.Kind = Map // "---" alone
	}
	return n, nil
}

// yamlProblem places a syntax error of the YAML parser.
func yamlProblem(file string, err error) error {
	p := Problem{File: file, Message: "not valid YAML: " + err.Error()}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Message = "not valid YAML: " + m[2]
		if line, err := strconv.Atoi(m[1]); err == nil {
			p.Pos.Line = int32(line)
		}
	}
	return Problems{p}
}

// yamlMarks counts the characters that can begin a value. None begins more than two: a key and what
// it has. YAML has more ends of lines than others.
func yamlMarks(data []byte) (n int) {
	for _, mark := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029", ",", ": ", "[", "{", "- ", "? "} {
		n += bytes.Count(data, []byte(mark))
	}
	return n - bytes.Count(data, []byte("\r\n"))
}

func yamlPos(y *yaml.Node) Pos { return Pos{int32(y.Line), int32(y.Column)} }

type yamlConverter struct {
	file     string
	nodes    int
	problems Problems
}

func (c *yamlConverter) fail(y *yaml.Node, format string, args ...any) {
	c.problems.add(Problem{File: c.file, Pos: yamlPos(y), Message: fmt.Sprintf(format, args...)})
}

// node converts a value into n.
func (c *yamlConverter) node(n *Node, y *yaml.Node, depth int) {
	if c.nodes++; c.nodes > maxYAMLNodes {
		if c.nodes == maxYAMLNodes+1 {
			c.fail(y, "more than %d values once aliases are expanded", maxYAMLNodes)
		}
		return
	}
	if n.Pos = yamlPos(y); depth > maxDepth {
		c.fail(y, "nested deeper than %d levels", maxDepth)
		return
	}
	switch y.Kind {
	case yaml.DocumentNode:
		c.nodes--
		c.node(n, y.Content[0], depth)
	case yaml.AliasNode:
		c.nodes-- // the value counts
		c.node(n, y.Alias, depth+1)
	case yaml.SequenceNode:
		n.Kind = List
		if room := maxYAMLNodes - c.nodes; len(y.Content) > 0 {
			n.inside = &inside{items: make([]Node, min(len(y.Content), room+1))}
			for i := range n.inside.items {
				c.node(&n.inside.items[i], y.Content[i], depth+1)
			}
		}
	case yaml.MappingNode:
		n.Kind = Map
		c.mapping(n, y, depth)
	case yaml.ScalarNode:
		c.scalar(y, n)
	}
}

func (c *yamlConverter) mapping(n *Node, y *yaml.Node, depth int) {
	number := min(len(y.Content)/2, maxYAMLNodes-c.nodes+1)
	if number <= 0 {
		return
	}
	n.inside = &inside{entries: make([]Entry, 0, number)}
	for i := 0; i < 2*number; i += 2 {
		key := y.Content[i]
		if key.Kind != yaml.ScalarNode {
			c.fail(key, "a key is not a plain word")
			continue
		}
		n.inside.entries = append(n.inside.entries, Entry{Key: key.Value, Pos: yamlPos(key)})
		c.node(&n.inside.entries[len(n.inside.entries)-1].Value, y.Content[i+1], depth+1)
	}
}

// scalar fills n from a scalar. Numbers are brought into decimal form.
func (c *yamlConverter) scalar(y *yaml.Node, n *Node) {
	n.Kind, n.Text = String, y.Value
	switch y.ShortTag() {
	case "!!null":
		n.Kind, n.Text = Null, ""
	case "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
	case "!!int":
		var i int64
		if err := y.Decode(&i); err == nil {
			n.Kind, n.Text = Int, strconv.FormatInt(i, 10)
			return
		}
		c.fail(y, "the number %s is out of range", shorten(y.Value))
	case "!!float":
		var f float64
		if err := y.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			c.fail(y, "the number %s is not finite", shorten(y.Value))
			return
		}
		n.Kind, n.Text = Float, strconv.FormatFloat(f, 'g', -1, 64)
	case "!!binary":
		c.fail(y, "binary values are not supported (use a plain string)")
	}
}
