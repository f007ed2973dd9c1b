package corpus

import (
	"fmt"
	"strings"
)

// readText emits the sections of a text, cut into chunks. A section begins at a Markdown
// heading outside of fenced code. Its title consists of the headings above it.
func readText(name, text string, limit int, emit func(Document)) {
	t := textReader{name: name, limit: limit, emit: emit}
	start, fence := 0, ""
	for pos := 0; pos < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		line := strings.TrimSpace(text[pos:end])
		switch level, title := heading(line); {
		case fence != "":
			if strings.HasPrefix(line, fence) {
				fence = ""
			}
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = line[:3]
		case level > 0:
			t.section(text[start:pos], level)
			t.setTitle(level, title)
			start = end
		}
		pos = end
	}
	t.section(text[start:], 0)
}

// textReader is the state of reading one text.
type textReader struct {
	name   string
	limit  int
	emit   func(Document)
	titles []string // by level of heading, empty where a level is missing
	n      int      // chunks so far
}

func (t *textReader) setTitle(level int, title string) {
	for len(t.titles) < level {
		t.titles = append(t.titles, "")
	}
	t.titles = append(t.titles[:level-1], title)
}

// section emits the text below the current title. A title without text becomes a document
// only if no deeper heading follows it; next is the level of the heading that follows, 0 at
// the end.
func (t *textReader) section(body string, next int) {
	title := joinTitles(t.titles)
	pieces := chunks(body, t.limit)
	if pieces == nil && title != "" && next <= len(t.titles) {
		pieces = []string{""}
	}
	for _, piece := range pieces {
		t.n++
		d := Document{ID: t.name, Title: title, Text: piece, Path: t.name}
		if t.n > 1 {
			d.ID = fmt.Sprintf("%s#%d", t.name, t.n)
		}
		t.emit(d)
	}
}

// heading returns the level and the title of a Markdown heading, and level 0 for any other
// line.
func heading(line string) (int, string) {
	level := 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level == len(line) || line[level] != ' ' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[level:]), "#"))
}

func joinTitles(titles []string) string {
	var named []string
	for _, t := range titles {
		if t != "" {
			named = append(named, t)
		}
	}
	return strings.Join(named, " › ")
}
