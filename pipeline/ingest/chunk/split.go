package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// span is a part of a text, by bytes.
type span struct{ from, to int }

// The places at which a text is cut, the best first.
const (
	atBlank = iota
	atLine
	atSentence
	atWord
	anywhere
)

// split cuts a text into parts of at most max tokens, each as large as possible. It cuts at the
// best places that suffice.
func (o *Options) split(text string, place, most int) []span {
	return o.appendSplit(nil, text, 0, place, most)
}

func (o *Options) appendSplit(spans []span, text string, base, place, most int) []span {
	if o.Count(text) <= most {
		return append(spans, span{base, base + len(text)})
	}
	if place == anywhere {
		return hardCut(spans, text, base, most)
	}
	open, size, pos := 0, 0, 0
	flush := func() {
		if pos > open {
			spans = append(spans, span{base + open, base + pos})
		}
		open, size = pos, 0
	}
	for pos < len(text) {
		end := pos + nextCut(text[pos:], place)
		n := o.Count(text[pos:end])
		if size+n > most {
			flush()
		}
		if n > most {
			spans = o.appendSplit(spans, text[pos:end], base+pos, place+1, most)
			pos = end
			open = end
			continue
		}
		size += n
		pos = end
	}
	flush()
	return spans
}

// nextCut returns the end of the first part of a text.
func nextCut(text string, place int) int {
	switch place {
	case atBlank:
		if i := strings.Index(text, "\n\n"); i >= 0 {
			for i < len(text) && text[i] == '\n' {
				i++
			}
			return i
		}
	case atLine:
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i + 1
		}
	case atSentence:
		// Sentences are looked for in a window, so that a text without any costs linear
		// time.
		window := text
		if len(window) > maxSentence {
			window = window[:runeStart(window, maxSentence)]
		}
		if s := sentences.FromString(window); s.Next() {
			return max(1, len(s.Value()))
		}
	case atWord:
		if i := strings.IndexAny(text, " \t\n"); i >= 0 {
			for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
				i++
			}
			return i
		}
	}
	return len(text)
}

const maxSentence = 4 << 10

// hardCut cuts a text without any place to cut: a token has at least one byte.
func hardCut(spans []span, text string, base, most int) []span {
	for pos := 0; pos < len(text); {
		end := min(len(text), pos+max(most, utf8.UTFMax))
		if end < len(text) {
			end = runeStart(text, end)
		}
		spans = append(spans, span{base + pos, base + end})
		pos = end
	}
	return spans
}

// runeStart returns the start of the rune at pos.
func runeStart(text string, pos int) int {
	for i := range utf8.UTFMax {
		if pos-i > 0 && utf8.RuneStart(text[pos-i]) {
			return pos - i
		}
	}
	return pos
}

// tail returns the start of the last tokens of a text, at the start of a word.
func (o *Options) tail(text string, tokens int) int {
	from := len(text)
	for from > 0 {
		at := strings.LastIndexAny(strings.TrimRight(text[:from], " \t\n"), " \t\n") + 1
		if o.Count(text[at:]) > tokens {
			break
		}
		from = at
	}
	return from
}
