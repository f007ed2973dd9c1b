package markup

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// LaTeX reads the text of a LaTeX file. Formulas stay as they are. Nothing is included and no macro of the
// file is carried out.
func LaTeX(j *document.Job, text string) (document.Document, error) {
	var d document.Document
	l := &latex{cutter: cutter{Job: j, d: &d, text: text}}
	if head, _, ok := strings.Cut(text, `\begin{document}`); ok {
		l.preamble(head)
		l.pos, l.n = len(head)+len(`\begin{document}`), strings.Count(head, "\n")
	}
	for {
		line, start, ok := l.next()
		if !ok || strings.HasPrefix(strings.TrimSpace(line), `\end{document}`) {
			break
		}
		l.line(line, start)
	}
	l.paragraph()
	l.title()
	return d, nil
}

type latex struct {
	cutter
	table bool
}

// preamble reads the title and the author.
func (l *latex) preamble(head string) {
	if !l.Meter.Work(4 * len(head)) {
		return
	}
	for _, name := range []string{"title", "author", "date"} {
		if _, rest, ok := strings.Cut(head, `\`+name+"{"); ok {
			arg, _ := braced(rest)
			l.d.Value(name, strings.Join(strings.Fields(plain(arg)), " "))
		}
	}
}

// braced returns what is before the brace that closes, and after it.
func braced(text string) (arg, rest string) {
	depth := 1
	for i := 0; i < min(len(text), 64<<10); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], text[i+1:]
			}
		}
	}
	return "", text
}

var sections = map[string]int{"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}

// verbatim are the environments whose text is no LaTeX.
var verbatim = []string{"verbatim", "Verbatim", "lstlisting", "minted", "alltt", "comment"}

func (l *latex) line(line string, start int) {
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		l.paragraph()
		return
	}
	if name, ok := environment(trimmed, `\begin{`); ok {
		for _, v := range verbatim {
			if strings.TrimSuffix(name, "*") == v {
				l.paragraph()
				l.verbatim(name)
				return
			}
		}
		switch strings.TrimSuffix(name, "*") {
		case "tabular", "tabularx", "longtable", "array":
			l.paragraph()
			l.table = true
		}
	}
	if name, ok := environment(trimmed, `\end{`); ok && l.table {
		switch strings.TrimSuffix(name, "*") {
		case "tabular", "tabularx", "longtable", "array":
			l.paragraph()
			return
		}
	}
	if trimmed[0] == '\\' && l.section(trimmed) {
		return
	}
	l.extend(line, start)
}

func environment(line, begin string) (string, bool) {
	rest, ok := strings.CutPrefix(line, begin)
	name, _, closed := strings.Cut(rest, "}")
	return name, ok && closed && len(name) < 32
}

func (l *latex) verbatim(name string) {
	for {
		line, start, ok := l.next()
		if !ok || strings.HasPrefix(strings.TrimSpace(line), `\end{`+name+"}") {
			break
		}
		l.extend(line, start)
	}
	if name == "comment" {
		l.first = 0
	}
	l.flush(document.Code, 0)
}

// nextHead finds a heading in a line, or a comment.
var nextHead = regexp.MustCompile(`\\(part|chapter|(sub){0,2}section|(sub)?paragraph)\*?[\[{]|\\.|%`)

// section reads a line that begins with a heading. What stands between it and the next one, or the end of the line, is
// a paragraph.
func (l *latex) section(line string) bool {
	rest, ok := l.head(line)
	if !ok {
		return false
	}
	for from := 0; ; {
		at := nextHead.FindStringSubmatchIndex(rest[from:])
		switch {
		case at != nil && rest[from+at[0]] == '%': // plain leaves it out
			at = nil
		case at != nil && at[2] < 0:
			from += at[1]
			continue
		}
		text := rest
		if at != nil {
			text = rest[:from+at[0]]
		}
		if text = strings.TrimSpace(plain(text)); text != "" {
			l.Add(l.d, document.Block{Text: text, Lines: retrieve.Lines{From: l.n, To: l.n}})
		}
		if at == nil {
			return true
		}
		if rest, ok = l.head(rest[from+at[0]:]); !ok { // it has no title that ends
			return true
		}
		from = 0
	}
}

// head reads a heading, and returns what follows it.
func (l *latex) head(line string) (after string, ok bool) {
	end := strings.IndexAny(line, "*[{")
	if end < 0 {
		return "", false
	}
	level := sections[line[1:end]]
	rest := strings.TrimPrefix(line[end:], "*")
	if strings.HasPrefix(rest, "[") {
		if i := strings.IndexByte(rest, ']'); i >= 0 {
			rest = rest[i+1:]
		}
	}
	if level == 0 || !strings.HasPrefix(rest, "{") {
		return "", false
	}
	l.paragraph()
	first := l.n
	title, _ := braced(rest[1:])
	for n := 0; title == "" && n < 4 && !strings.Contains(rest, "}"); n++ { // a title of several lines
		more, _, ok := l.next()
		if !ok {
			break
		}
		rest += " " + strings.TrimSpace(more)
		title, _ = braced(rest[1:])
	}
	l.heading(strings.Join(strings.Fields(plain(title)), " "), level, first)
	if title != "" {
		_, after = braced(rest[1:])
	}
	return after, true
}

// paragraph ends the open block, without its commands.
func (l *latex) paragraph() {
	if l.first == 0 {
		l.table = false
		return
	}
	source := l.text[l.from:l.end]
	if !l.Meter.Take(4*len(source)) || !l.Meter.Work(16*len(source)) {
		return
	}
	kind, header := document.Text, 0
	if l.table {
		kind, header = document.Table, 1
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\n", " "), `\\`, "\\\\\n")
	}
	var lines []string
	for line := range strings.SplitSeq(plain(source), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		b := document.Block{Kind: kind, Header: header, Text: strings.Join(lines, "\n"), Lines: retrieve.Lines{From: l.first, To: l.first + strings.Count(l.text[l.from:l.end], "\n")}}
		l.Add(l.d, b)
	}
	l.first, l.table = 0, false
}

// dropped are commands whose arguments are no text.
var dropped = map[string]bool{
	"begin": true, "end": true, "label": true, "vspace": true, "hspace": true, "includegraphics": true, "input": true, "include": true, "bibliography": true,
	"bibliographystyle": true, "usepackage": true, "documentclass": true, "newcommand": true, "renewcommand": true, "setlength": true, "pagestyle": true,
	"thispagestyle": true, "index": true, "cline": true, "color": true, "fontsize": true, "hyphenation": true, "setcounter": true, "addtocounter": true,
}

// words are what commands stand for.
var words = map[string]string{
	"item": "\n- ", "newline": "\n", "par": "\n", "LaTeX": "LaTeX", "TeX": "TeX", "ldots": "…", "dots": "…", "textbackslash": "\\", "ss": "ß", "ae": "æ", "AE": "Æ",
	"o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "oe": "œ", "i": "ı", "quad": " ", "qquad": " ", "textendash": "–", "textemdash": "—", "S": "§", "euro": "€",
	"footnote": " Note: ", "caption": "\n", "copyright": "©", "and": ", ",
}

// accents are the marks that commands put on a letter.
var accents = map[byte]rune{'"': 0x308, '\'': 0x301, '`': 0x300, '^': 0x302, '~': 0x303, '=': 0x304, '.': 0x307, 'c': 0x327, 'v': 0x30C, 'u': 0x306, 'H': 0x30B, 'k': 0x328, 'r': 0x30A}

// plain leaves out the commands of LaTeX. It goes once through the text.
func plain(s string) string {
	var b strings.Builder
	math := false
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '%':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		case c == '$':
			math = !math
			b.WriteByte(c)
		case c == '\\' && i+1 < len(s):
			i = commandAt(&b, s, i+1, math)
			continue
		case math:
			b.WriteByte(c)
		case c == '~':
			b.WriteByte(' ')
		case c == '&':
			b.WriteString(" | ")
		case c == '{' || c == '}':
		case c == '-' && strings.HasPrefix(s[i:], "---"):
			b.WriteString("—")
			i += 2
		case c == '-' && strings.HasPrefix(s[i:], "--"):
			b.WriteString("–")
			i++
		case (c == '`' || c == '\'') && i+1 < len(s) && s[i+1] == c:
			b.WriteByte('"')
			i++
		default:
			b.WriteByte(c)
		}
		i++
	}
	return norm.NFC.String(b.String())
}

// commandAt writes what the command stands for whose name begins at i, and returns where the text goes on.
func commandAt(b *strings.Builder, s string, i int, math bool) int {
	end := i
	for end < len(s) && (s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	name := s[i:end]
	if math && name != "" {
		b.WriteString("\\" + name)
		return end
	}
	if len(name) <= 1 {
		if at, ok := accent(b, s, i); ok {
			return at
		}
	}
	if name == "" {
		switch c := s[i]; c {
		case '\\':
			b.WriteByte('\n')
		case '%', '&', '$', '#', '_', '{', '}':
			b.WriteByte(c)
		case '(', ')', '[', ']':
			b.WriteString("\\" + string(c))
		case ' ', ',', ';', ':', '!':
			b.WriteByte(' ')
		default:
			if c >= 0x80 {
				return i // a letter of several bytes
			}
		}
		return i + 1
	}
	if end < len(s) && s[end] == '*' {
		end++
	}
	drop := dropped[name]
	for end < len(s) && (s[end] == '[' || drop && s[end] == '{') { // arguments
		closing := byte(']')
		if s[end] == '{' {
			closing = '}'
		}
		at := strings.IndexByte(s[end:min(len(s), end+1024)], closing)
		if at < 0 {
			break
		}
		end += at + 1
	}
	if text, ok := words[name]; ok {
		b.WriteString(text)
	}
	for end < len(s) && s[end] == ' ' && words[name] == "" && !drop {
		end++
	}
	return end
}

// accent writes a letter with a mark, such as \"a or \c{c}.
func accent(b *strings.Builder, s string, i int) (int, bool) {
	mark, ok := accents[s[i]]
	if !ok || i+1 >= len(s) {
		return i, false
	}
	at := i + 1
	open := s[at] == '{'
	if unicode.IsLetter(rune(s[i])) && !open {
		return i, false
	}
	if open {
		at++
	}
	if strings.HasPrefix(s[at:], `\i`) {
		b.WriteByte('i')
		at += 2
	} else if at < len(s) && s[at]|0x20 >= 'a' && s[at]|0x20 <= 'z' {
		b.WriteByte(s[at])
		at++
	} else {
		return i, false
	}
	b.WriteRune(mark)
	if open && at < len(s) && s[at] == '}' {
		at++
	}
	return at, true
}
