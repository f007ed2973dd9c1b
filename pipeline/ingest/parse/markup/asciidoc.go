package markup

import (
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// AsciiDoc reads AsciiDoc.
func AsciiDoc(j *document.Job, text string) (document.Document, error) {
	var d document.Document
	a := cutter{Job: j, d: &d, text: text}
	for {
		line, start, ok := a.next()
		if !ok {
			break
		}
		a.asciiDoc(strings.TrimRight(line, " \t"), start)
	}
	a.flush(document.Text, 0)
	a.title()
	return d, nil
}

func (c *cutter) asciiDoc(line string, start int) {
	level := len(line) - len(strings.TrimLeft(line, "="))
	switch {
	case line == "":
		c.flush(document.Text, 0)
	case level > 0 && level < 7 && strings.HasPrefix(line[level:], " "):
		c.flush(document.Text, 0)
		c.heading(line[level:], level, c.n)
	case delimiter(line, '/'):
		c.flush(document.Text, 0)
		c.until(line, false)
	case delimiter(line, '-'), delimiter(line, '.'), strings.HasPrefix(line, "```"):
		c.flush(document.Text, 0)
		c.extend(line, start)
		if strings.HasPrefix(line, "```") {
			line = "```"
		}
		c.until(line, true)
		c.flush(document.Code, 0)
	case line == "|===" || line == ",===" || line == "!===":
		c.flush(document.Text, 0)
		c.extend(line, start)
		c.until(line, true)
		c.flush(document.Table, 2)
	case strings.HasPrefix(line, "//"), delimiter(line, '='), delimiter(line, '*'), delimiter(line, '_'), line == "--", line == "'''", line == "<<<":
		c.flush(document.Text, 0)
	case line[0] == '[' && line[len(line)-1] == ']' && c.first == 0: // attributes of the next block
	case line[0] == ':' && c.attribute(line):
	case command(line):
		c.flush(document.Text, 0)
	default:
		c.extend(line, start)
	}
}

// delimiter reports whether a line has four or more of a character and no other.
func delimiter(line string, c byte) bool {
	return len(line) > 3 && line[0] == c && strings.Trim(line, line[:1]) == ""
}

// attribute reads a line such as ":author: Ann".
func (c *cutter) attribute(line string) bool {
	name, value, ok := strings.Cut(line[1:], ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t") || value != "" && value[0] != ' ' {
		return false
	}
	switch name {
	case "author", "date", "revdate", "description", "keywords":
		c.d.Value(strings.TrimPrefix(name, "rev"), strings.TrimSpace(value))
	}
	return true
}

// command reports whether a line is a command to the processor that has no text.
func command(line string) bool {
	if !strings.HasSuffix(line, "]") {
		return false
	}
	return slices.ContainsFunc([]string{"include::", "ifdef::", "ifndef::", "ifeval::", "endif::", "toc::", "image::", "video::", "audio::"}, func(name string) bool { return strings.HasPrefix(line, name) })
}
