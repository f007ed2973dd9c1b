package parse

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// markdown cuts a document at its headings, blank lines, fences and tables, and keeps the source
// of each block: a model reads Markdown well, and lines stay exact. A parser of the whole
// language would add only what is inside the blocks, and needs more than linear time for
// nested ones.
func (j *job) markdown(text string) (Document, error) {
	var d Document
	m := markdown{job: j, lines: lines{text: text}, d: &d}
	m.frontMatter()
	for {
		line, start, ok := m.next()
		if !ok || !j.m.Work(8+2*len(line)) {
			break
		}
		m.line(line, start)
	}
	m.flush()
	if d.Title == "" {
		for i := range d.Blocks {
			if d.Blocks[i].Kind == Heading {
				d.Title = d.Blocks[i].Text
				break
			}
		}
	}
	return d, nil
}

type markdown struct {
	job *job
	lines
	d     *Document
	from  int // the start of the open block
	first int // its first line, 0 if none is open
	end   int
	last  string // the last line of the open block
	fence string // what closes the open fence
	table bool
}

const maxFrontMatter = 64 << 10

// frontMatter reads the title and the flat values of a YAML block at the start.
func (m *markdown) frontMatter() {
	rest, ok := strings.CutPrefix(m.text, "---\n")
	if !ok {
		return
	}
	head, _, ok := strings.Cut(rest[:min(len(rest), maxFrontMatter)], "\n---\n")
	if !ok {
		return
	}
	var doc yaml.Node // and not a map: the decoder compares each key with each
	if !m.job.m.Work(100*len(head)) || yaml.Unmarshal([]byte(head), &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return
	}
	pairs := doc.Content[0].Content
	seen := map[string]bool{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Kind != yaml.ScalarNode || seen[pairs[i].Value] {
			return
		}
		seen[pairs[i].Value] = true
	}
	m.pos = len("---\n") + len(head) + len("\n---\n")
	m.n = strings.Count(m.text[:m.pos], "\n")
	for i := 0; i+1 < len(pairs); i += 2 {
		m.d.Value(pairs[i].Value, plain(pairs[i+1]))
	}
}

// plain returns a scalar, or the texts of a list. What is deeper is left out, so that aliases of lists
// of aliases cost nothing.
func plain(n *yaml.Node) (v any) {
	n = named(n)
	switch n.Kind {
	case yaml.ScalarNode:
		_ = n.Decode(&v) // nil for what is no value
	case yaml.SequenceNode:
		var list []any
		for _, e := range n.Content {
			if e = named(e); e.Kind == yaml.ScalarNode {
				list = append(list, plain(e))
			}
		}
		return list
	}
	return v
}

// named returns what an alias stands for.
func named(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (m *markdown) line(line string, start int) {
	trimmed := strings.TrimLeft(line, " ")
	indented := len(line)-len(trimmed) > 3
	if m.fence != "" {
		m.end, m.last = start+len(line), line
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]+" \t") == "" {
			m.flush()
		}
		return
	}
	switch {
	case blank(line):
		m.flush()
	case !indented && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")):
		m.flush()
		m.open(line, start)
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
	case !indented && atx(trimmed) > 0:
		m.flush()
		level := atx(trimmed)
		m.heading(atxTitle(trimmed[level:]), level, m.n)
	case m.first > 0 && !m.table && m.from+len(m.last) == m.end && setext(trimmed) > 0 && !indented:
		title, first := strings.TrimSpace(m.last), m.first
		m.first = 0
		m.heading(title, setext(trimmed), first)
	case m.first > 0 && !m.table && strings.Contains(m.last, "|") && delimiterRow(trimmed):
		m.startTable(line, start)
	default:
		if m.first == 0 {
			m.open(line, start)
		}
		m.end, m.last = start+len(line), line
	}
}

// startTable makes a table of the last line of the open block, and a block of what is before.
func (m *markdown) startTable(line string, start int) {
	head := m.end - len(m.last)
	if head > m.from {
		last := m.last
		m.end = head - 1
		m.flush()
		m.first, m.from, m.last = m.n-1, head, last
	}
	m.table, m.end, m.last = true, start+len(line), line
}

func (m *markdown) open(line string, start int) {
	m.from, m.first, m.end, m.last = start, m.n, start+len(line), line
}

func (m *markdown) heading(title string, level, first int) {
	if title != "" {
		m.job.add(m.d, Block{Kind: Heading, Level: level, Text: title, Lines: retrieve.Lines{From: first, To: m.n}})
	}
}

func (m *markdown) flush() {
	if m.first > 0 {
		text := m.text[m.from:m.end]
		b := Block{Text: text, Exact: true, Lines: retrieve.Lines{From: m.first, To: m.first + strings.Count(text, "\n")}}
		switch title := boldOnly(text); {
		case m.fence != "":
			b.Kind = Code
		case m.table:
			b.Kind, b.Header = Table, 2
		case title != "":
			b.Kind, b.Level, b.Text, b.Exact = Heading, document.BoldLevel, title, false
		}
		m.job.add(m.d, b)
	}
	m.first, m.fence, m.table, m.last = 0, "", false, ""
}

// boldOnly returns the text of a paragraph that is bold and reads like a heading, "" of others.
func boldOnly(text string) string {
	text = strings.TrimSpace(text)
	for _, sign := range []string{"**", "__"} {
		if inner, ok := strings.CutPrefix(text, sign); ok {
			if inner, ok = strings.CutSuffix(inner, sign); ok && !strings.Contains(inner, sign) && document.Titled(inner) {
				return strings.TrimSpace(inner)
			}
		}
	}
	return ""
}

func atx(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// atxTitle leaves out the signs that close a heading. They stand after a space: C# is a name.
func atxTitle(rest string) string {
	rest = strings.TrimRight(rest, " \t")
	if open := strings.TrimRight(rest, "#"); strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") || open == "" {
		rest = open
	}
	return strings.TrimSpace(rest)
}

func setext(line string) int {
	line = strings.TrimRight(line, " \t")
	switch {
	case line == "":
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

func delimiterRow(line string) bool {
	return strings.Contains(line, "-") && strings.Trim(line, "|-: \t") == "" && (strings.Contains(line, "|") || strings.Contains(line, ":"))
}
