package markup

import (
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Man reads pages of the manual, in the macros man and mdoc. Macros and escapes are left out.
func Man(j *document.Job, text string) (document.Document, error) {
	var d document.Document
	m := man{cutter: cutter{Job: j, d: &d, text: text}}
	for {
		line, _, ok := m.next()
		if !ok {
			break
		}
		m.line(line)
	}
	m.end()
	m.title()
	return d, nil
}

// man is the reading of a page. Its block is made of what the lines say.
type man struct {
	cutter
	block  []byte
	level  int    // of the heading whose text is on the next line
	code   bool   // lines stay as they are
	table  bool   // inside of a table
	format bool   // the lines of a table say how it looks
	name   string // of what an mdoc page is about
}

// end ends the block.
func (m *man) end() {
	text := strings.TrimSpace(string(m.block))
	if text != "" && m.first > 0 {
		kind := document.Text
		if m.code {
			kind, text = document.Code, strings.Trim(string(m.block), "\n")
		}
		m.Add(m.d, document.Block{Kind: kind, Text: text, Lines: retrieve.Lines{From: m.first, To: max(m.first, m.n-1)}})
	}
	m.block, m.first = m.block[:0], 0
}

// say adds a line to the block.
func (m *man) say(text string) {
	if m.level > 0 {
		m.heading(strings.Join(strings.Fields(text), " "), m.level, m.n)
		m.level = 0
		return
	}
	if room, ok := meter.Room(m.Meter, m.block, len(text)+1); ok {
		if m.first == 0 {
			m.first = m.n
		}
		m.block = append(append(room, text...), '\n')
	}

}

func (m *man) line(line string) {
	request := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(line, "."), "'"), " \t")
	switch {
	case strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") && !m.table:
		if strings.HasPrefix(request, `\"`) || request == "" || request == "." {
			return
		}
		name, rest, _ := strings.Cut(strings.ReplaceAll(request, "\t", " "), " ")
		if name == "if" || name == "ie" || name == "el" {
			m.condition(rest)
			return
		}
		m.request(name, m.words(rest))
	case m.table:
		m.row(line)
	case blank(line) && !m.code:
		m.end()
	default:
		m.say(m.plain(line))
	}
}

// row takes a line of a table, after those that say how it looks.
func (m *man) row(line string) {
	switch {
	case m.format:
		m.format = !strings.HasSuffix(strings.TrimSpace(line), ".")
	case strings.Trim(line, "_= \t") == "", line == "T{":
	default:
		m.say(strings.ReplaceAll(m.plain(strings.TrimPrefix(line, "T}\t")), "\t", " | "))
	}
}

func (m *man) request(name string, args []string) {
	text := strings.Join(args, " ")
	switch name {
	case "TH", "Dt":
		if len(args) > 0 && m.d.Title == "" {
			m.d.Title = args[0]
			if len(args) > 1 && args[1] != "" {
				m.d.Title += "(" + args[1] + ")"
			}
		}
	case "SH", "Sh", "SS", "Ss":
		m.end()
		m.code, m.level = false, 1
		if strings.HasSuffix(strings.ToUpper(name), "SS") {
			m.level = 2
		}
		if text != "" {
			m.say(text)
		}
	case "PP", "P", "LP", "HP", "TP", "Pp", "sp", "RS", "RE", "Bl", "El":
		if !m.code {
			m.end()
		}
	case "IP", "It":
		if m.end(); text != "" && name == "IP" {
			m.say(args[0])
		} else if text != "" {
			m.say(m.mdoc("", args))
		}
	case "nf", "EX", "Bd":
		m.end()
		m.code = true
	case "fi", "EE", "Ed":
		m.end()
		m.code = false
	case "TS":
		m.end()
		m.table, m.format = true, true
	case "TE":
		m.end()
		m.table = false
	case "de", "de1", "am", "ig":
		m.skip(func(line string) bool { return strings.HasPrefix(line, "..") })
	case "B", "I", "SM", "SB", "UR", "MT", "UE", "ME", "Nd", "SY", "OP":
		m.sayMore(text)
	case "BR", "BI", "RB", "RI", "IB", "IR":
		m.sayMore(strings.Join(args, ""))
	default:
		if len(name) == 2 && name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && name[1] <= 'z' && name != "Dd" && name != "Os" {
			m.sayMore(m.mdoc(name, args))
		}
	}
}

// sayMore says a text unless it is empty.
func (m *man) sayMore(text string) {
	if text != "" {
		m.say(text)
	}
}

// condition skips what a condition stands before: pages of the manual use it for how they look.
func (m *man) condition(text string) {
	depth := strings.Count(text, "\\{") - strings.Count(text, "\\}")
	if depth > 0 {
		m.skip(func(line string) bool {
			depth += strings.Count(line, "\\{") - strings.Count(line, "\\}")
			return depth <= 0
		})
	}
}

// skip leaves out lines up to the last of them, but no section.
func (m *man) skip(last func(line string) bool) {
	for !strings.HasPrefix(m.peek(), ".SH") && !strings.HasPrefix(m.peek(), ".Sh") {
		line, _, ok := m.next()
		if !ok || last(line) {
			return
		}
	}
}

// words splits the arguments of a macro, which quotes keep together.
func (m *man) words(rest string) (out []string) {
	for rest = strings.TrimLeft(rest, " "); rest != "" && len(out) < 1<<10 && !strings.HasPrefix(rest, `\"`); rest = strings.TrimLeft(rest, " ") {
		var word string
		if rest[0] == '"' {
			word, rest, _ = strings.Cut(rest[1:], `"`)
		} else {
			end := 0
			for end < len(rest) && rest[end] != ' ' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(rest))
			word, rest = rest[:end], rest[end:]
		}
		out = append(out, m.plain(word))
	}
	return out
}

// mdoc is the text of a macro of mdoc, whose arguments may be macros too.
func (m *man) mdoc(name string, args []string) string {
	if name != "" {
		args = append([]string{name}, args...)
	}
	var out strings.Builder
	brackets, dash := 0, false
	for i, a := range args {
		switch {
		case a == "Op" || a == "Oo":
			brackets++
			a = "["
		case a == "Fl":
			dash = true
			continue
		case a == "Nm" && name == a && i == 0:
			if len(args) > 1 && m.name == "" {
				m.name = args[1]
			}
			if len(args) > 1 {
				continue
			}
			a = m.name
		case len(a) == 2 && a[0] >= 'A' && a[0] <= 'Z' && a[1] >= 'a' && a[1] <= 'z' && a != "No":
			continue
		}
		if dash {
			a, dash = "-"+a, false
		}
		if s := out.String(); s != "" && !strings.HasSuffix(s, "[") && strings.Trim(a, ".,:;)") != "" {
			out.WriteByte(' ')
		}
		out.WriteString(a)
	}
	if dash {
		out.WriteByte('-')
	}
	return out.String() + strings.Repeat("]", brackets)
}
