package plain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// longestName and longestPath are how many bytes of a key, and of a path of keys, are
	// shown in a message.
	longestName, longestPath = 100, 200
	// longestLine is how many bytes of a message line are shown, far more than a message
	// of this program has: beyond it the line repeats its input.
	longestLine = 2000
	// lineEnd is how many bytes of a longer line are its end, where the remedy stands.
	lineEnd = 500
)

// Acts says of a character whether a terminal, a log or a reader could take it for more
// than text: control characters of both sets, those that change the direction of text, and
// the separators of lines and paragraphs.
func Acts(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Has says whether s has a character that [Text] would show as an escape.
func Has(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return Acts(r) && r != '\n' && r != '\t' })
}

// Text returns s with everything that acts as an escape, but for line feeds and tabs.
// Bytes that are no UTF-8 become U+FFFD.
func Text(s string) string {
	if !Has(s) {
		return s
	}
	return escape(s, "\n\t")
}

// Line returns s as one line of at most 2,000 bytes: everything that acts is an escape but
// for tabs, and a longer text lacks its middle.
func Line(s string) string {
	if Has(s) || strings.Contains(s, "\n") {
		s = escape(s, "\t")
	}
	if len(s) > longestLine {
		head, tail := cut(s, longestLine-lineEnd), s[len(s)-lineEnd:]
		for tail != "" && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
		return fmt.Sprintf("%s… (%d bytes left out) …%s", head, len(s)-len(head)-len(tail), tail)
	}
	return s
}

// Cell returns a text for one cell of a table: each run of spaces, line breaks and characters
// that act becomes one space.
func Cell(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || Acts(r) }), " ")
}

// Excerpt returns the beginning of a text, at most 60 characters on one line.
func Excerpt(text string) string {
	const longest = 60
	runes := []rune(Cell(text))
	if len(runes) <= longest {
		return string(runes)
	}
	return string(runes[:longest-1]) + "…"
}

// Name returns a key as a message shows it: as it is where it consists of letters, digits
// and the signs that join names, quoted elsewhere. It is cut after 100 bytes.
func Name(s string) string { return name(s, longestName) }

// Path returns a path of keys in the form of [Name], cut after 200 bytes.
func Path(s string) string { return name(s, longestPath) }

func name(s string, longest int) string {
	short := cut(s, longest)
	named := strings.IndexFunc(short, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.[]/@$#*+", r) || r == utf8.RuneError
	}) < 0
	if !named || s == "" {
		short = strconv.Quote(short)
	}
	if len(s) > longest {
		short += "…"
	}
	return short
}

// cut returns at most the first n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// escape shows everything that acts as an escape, but for the characters in keep.
func escape(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !Acts(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Writer writes [Text] of what is written to it. It holds the beginning of a character
// back until the rest of it comes.
type Writer struct {
	// To is where the text goes.
	To   io.Writer
	held []byte
}

// Write implements io.Writer. It is not safe for concurrent use.
func (w *Writer) Write(b []byte) (int, error) {
	text := append(w.held, b...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if c := text[len(text)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-back:]) {
				whole = len(text) - back
			}
			break
		}
	}
	w.held = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.To, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(b), nil
}
