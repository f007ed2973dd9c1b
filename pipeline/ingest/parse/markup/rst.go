package markup

import (
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// RST reads reStructuredText.
func RST(j *document.Job, text string) (document.Document, error) {
	var d document.Document
	r := rst{cutter: cutter{Job: j, d: &d, text: text}, levels: map[string]int{}}
	for {
		line, start, ok := r.next()
		if !ok {
			break
		}
		r.line(line, start)
	}
	r.paragraph()
	r.title()
	return d, nil
}

type rst struct {
	cutter
	levels map[string]int // of headings, by their adornment, in the order in which they come
}

// adornment returns the character of a line that has no other, or 0.
func adornment(line string) byte {
	line = strings.TrimRight(line, " \t")
	if len(line) < 2 || !strings.ContainsRune("=-~^\"'#*+.:_<>`", rune(line[0])) || strings.Trim(line, line[:1]) != "" {
		return 0
	}
	return line[0]
}

func (r *rst) line(line string, start int) {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		r.paragraph()
	case r.first == 0 && r.overlined(line):
	case r.first == 0 && line[0] != ' ' && r.underlined(trimmed, r.peek()):
		first := r.n
		mark := r.peek()[:1]
		_, _, _ = r.next()
		r.heading(trimmed, r.level(mark), first)
	case r.first == 0 && (strings.HasPrefix(line, ".. ") || trimmed == ".."):
		r.directive(line, start)
	default:
		r.extend(line, start)
		if strings.HasSuffix(trimmed, "::") && blank(r.peek()) {
			r.paragraph()
			r.indented(true)
			r.flush(document.Code, 0)
		}
	}
}

func (r *rst) underlined(title, under string) bool {
	return adornment(under) != 0 && adornment(title) == 0 && utf8.RuneCountInString(strings.TrimRight(under, " \t")) >= utf8.RuneCountInString(title)
}

// overlined reads a heading with lines above and below it.
func (r *rst) overlined(line string) bool {
	mark := adornment(line)
	if mark == 0 {
		return false
	}
	title, rest, _ := strings.Cut(r.text[r.pos:], "\n")
	under, _, _ := strings.Cut(rest, "\n")
	if blank(title) || adornment(under) != mark || !r.underlined(strings.TrimSpace(title), line) {
		return false
	}
	first := r.n
	_, _, _ = r.next()
	_, _, _ = r.next()
	r.heading(title, r.level("over "+string(mark)), first)
	return true
}

func (r *rst) level(mark string) int {
	if r.levels[mark] == 0 {
		r.levels[mark] = len(r.levels) + 1
	}
	return r.levels[mark]
}

// directive reads what begins with two dots: code and what has a text stays, the rest does not.
func (r *rst) directive(line string, start int) {
	name, _, is := strings.Cut(strings.TrimSpace(line[2:]), "::")
	switch {
	case strings.HasPrefix(name, "["): // a footnote
		r.extend(line, start)
		return
	case !is || strings.HasPrefix(name, "_"), strings.HasPrefix(name, "|"): // a comment, a target
		r.indented(false)
		return
	}
	switch name {
	case "toctree", "index", "contents", "raw", "meta", "highlight", "include", "currentmodule", "module", "sectionauthor", "moduleauthor", "only", "default-role", "role":
		if name == "only" {
			return // its text stays
		}
		r.indented(false)
	case "code-block", "code", "sourcecode", "literalinclude", "parsed-literal", "doctest", "productionlist", "math":
		r.extend(line, start)
		r.indented(true)
		r.flush(document.Code, 0)
	default:
		r.extend(line, start)
	}
}

// paragraph ends the open block, which may be a table.
func (r *rst) paragraph() {
	kind, header := document.Text, 0
	if r.first > 0 {
		lines := strings.SplitN(r.text[r.from:r.end], "\n", 8)
		border := strings.TrimSpace(lines[0])
		switch {
		case len(lines) > 2 && strings.HasPrefix(border, "+-") && strings.Trim(border, "+-") == "":
			kind = document.Table
			for i, line := range lines {
				if strings.HasPrefix(strings.TrimSpace(line), "+=") {
					header = i + 1
					break
				}
			}
		case len(lines) > 2 && strings.HasPrefix(border, "=") && strings.Contains(border, " ") && strings.Trim(border, "= ") == "":
			kind, header = document.Table, 3
		}
	}
	r.flush(kind, header)
}
