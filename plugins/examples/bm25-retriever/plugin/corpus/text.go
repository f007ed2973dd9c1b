package corpus

import (
	"fmt"
	"strings"
)

// readText emits the sections of a text, cut into chunks. A section begins at
// a Markdown heading outside of fenced code; its title is the line of headings
// above it.
func readText(name, text string, limit int, emit func(Document)) {
	n := 0
	section := func(titles []string, body string) {
		title := joinTitles(titles)
		for _, piece := range chunks(body, limit) {
			n++
			d := Document{ID: name, Title: title, Text: piece, Path: name}
			if n > 1 {
				d.ID = fmt.Sprintf("%s#%d", name, n)
			}
			emit(d)
		}
	}
	var titles []string // by level of heading, empty where a level is missing
	start, fence := 0, ""
	for pos := 0; pos < len(text); {
		end := pos + len(text[pos:])
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
			section(titles, text[start:pos])
			for len(titles) < level {
				titles = append(titles, "")
			}
			titles = append(titles[:level-1], title)
			start = end
		}
		pos = end
	}
	section(titles, text[start:])
}

// heading returns level and title of a Markdown heading, level 0 for any other
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
