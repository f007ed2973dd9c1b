package corpus

import (
	"strings"
	"unicode/utf8"
)

// chunks cuts text between paragraphs into pieces of at most limit bytes; a
// longer paragraph is cut at a line end, a space, or where it must be, never
// inside a character.
func chunks(text string, limit int) []string {
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	var out []string
	for len(text) > limit {
		cut := cutAt(text, limit)
		if piece := strings.TrimSpace(text[:cut]); piece != "" {
			out = append(out, piece)
		}
		text = strings.TrimLeft(text[cut:], "\r\n")
	}
	if piece := strings.TrimSpace(text); piece != "" {
		out = append(out, piece)
	}
	return out
}

// cutAt finds the best place to cut within the first limit bytes. A place in
// the first quarter is not worth it.
func cutAt(text string, limit int) int {
	head := text[:limit]
	for _, sep := range []string{"\n\n", "\n", ". ", " "} {
		if i := strings.LastIndex(head, sep); i > limit/4 {
			return i + len(sep)
		}
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}
