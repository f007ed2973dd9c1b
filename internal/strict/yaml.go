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

// maxYAMLNodes is the maximum number of values after aliases are expanded.
const maxYAMLNodes = 100_000

// yamlLine finds the line number in the text of a YAML parser error, because the error has no
// field for it.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// ParseYAML reads one YAML document. file appears in errors. An empty document
// is an empty map; a second document is refused. Merge keys are not special:
// "<<" is an ordinary key.
func ParseYAML(file string, data []byte) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return &Node{Kind: Map, Pos: Pos{1, 1}}, nil
	} else if err != nil {
		return nil, yamlProblem(file, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		at := Pos{second.Line, second.Column}
		return nil, Problems{{File: file, Pos: at, Message: "a second document follows (keep one document per file)"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlProblem(file, err)
	}
	c := &yamlConverter{file: file}
	n := c.node(&doc, 0)
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
			p.Pos.Line = line
		}
	}
	return Problems{p}
}

type yamlConverter struct {
	file     string
	nodes    int
	problems Problems
}

func (c *yamlConverter) fail(y *yaml.Node, format string, args ...any) *Node {
	at := Pos{y.Line, y.Column}
	c.problems = append(c.problems, Problem{File: c.file, Pos: at, Message: fmt.Sprintf(format, args...)})
	return &Node{Pos: at}
}

func (c *yamlConverter) node(y *yaml.Node, depth int) *Node {
	if c.nodes++; c.nodes > maxYAMLNodes {
		if c.nodes == maxYAMLNodes+1 {
			return c.fail(y, "more than %d values once aliases are expanded", maxYAMLNodes)
		}
		return &Node{}
	}
	if depth > maxDepth {
		return c.fail(y, "nested deeper than %d levels", maxDepth)
	}
	n := &Node{Pos: Pos{y.Line, y.Column}}
	switch y.Kind {
	case yaml.DocumentNode:
		return c.node(y.Content[0], depth)
	case yaml.AliasNode:
		return c.node(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, c.node(item, depth+1))
		}
	case yaml.MappingNode:
		n.Kind = Map
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if key.Kind != yaml.ScalarNode {
				c.fail(key, "a key is not a plain word")
				continue
			}
			value := c.node(y.Content[i+1], depth+1)
			n.Entries = append(n.Entries, Entry{Key: key.Value, Pos: Pos{key.Line, key.Column}, Value: value})
		}
	case yaml.ScalarNode:
		c.scalar(y, n)
	}
	return n
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
