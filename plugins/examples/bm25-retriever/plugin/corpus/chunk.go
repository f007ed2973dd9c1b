package corpus

import (
	"strings"
	"unicode/utf8"
)

// chunks cuts text between paragraphs into pieces of at most limit bytes. It cuts a longer
// paragraph at a line end, at a space, or at another place, but never inside a character.
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

// cutAt returns the best place to cut within the first limit bytes. It ignores line ends and
// spaces in the first quarter.
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
