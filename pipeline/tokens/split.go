package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NextSplit returns the first position behind from at which text can be divided so that
// its two parts have, together, exactly the tokens of the whole; len(text) when
// there is none. The position depends only on the characters beside it.
//
// In cl100k_base and o200k_base no token goes on behind a line end, except into more
// white space and, in o200k_base, slashes. In p50k_base and r50k_base none goes on
// from a visible character into a line end.
func (e *Encoding) NextSplit(text string, from int) int {
	if e.gpt2 {
		return splitBeforeLine(text, from)
	}
	return splitAfterLine(text, from)
}

// NextSplit returns the position behind the next line end behind from.
func (Words) NextSplit(text string, from int) int { return splitAfterLine(text, from) }

// splitAfterLine returns the first position p > from with a line feed before it and a
// visible character that is no slash behind it.
func splitAfterLine(text string, from int) int {
	for from = max(from, 0); from < len(text); {
		i := strings.IndexByte(text[from:], '\n')
		if i < 0 {
			break
		}
		from += i + 1
		if from < len(text) && text[from] != '/' && visibleAt(text, from) {
			return from
		}
	}
	return len(text)
}

// splitBeforeLine returns the first position p > from with a line feed behind it and
// a visible character before it.
func splitBeforeLine(text string, from int) int {
	for from = max(from, 0) + 1; from < len(text); from++ {
		i := strings.IndexByte(text[from:], '\n')
		if i < 0 {
			break
		}
		from += i
		if r, size := utf8.DecodeLastRuneInString(text[:from]); size > 0 && visible(r, size) {
			return from
		}
	}
	return len(text)
}

func visibleAt(text string, i int) bool {
	if c := text[i]; c < utf8.RuneSelf {
		return c > ' ' && c != 0x7f
	}
	return visible(utf8.DecodeRuneInString(text[i:]))
}

// visible leaves out white space, and broken bytes and controls, whose company is not
// worth the thought.
func visible(r rune, size int) bool {
	return !unicode.IsSpace(r) && !unicode.IsControl(r) && (r != utf8.RuneError || size > 1)
}
