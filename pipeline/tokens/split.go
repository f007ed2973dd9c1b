package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NextSplit returns the first position after from at which text can be divided so that the
// tokens of both parts add up exactly to those of the whole, or len(text) when there is
// none. The position depends only on the characters next to it.
//
// In cl100k_base and o200k_base no token continues after a line end, except with more
// white space and, in o200k_base, slashes. In p50k_base and r50k_base no token continues
// from a visible character into a line end.
// from a visible character into a line end.
func (e *Encoding) NextSplit(text string, from int) int {
	if e.gpt2 {
		return splitBeforeLine(text, from)
	}
	return splitAfterLine(text, from)
}

// NextSplit returns the position after the next line end that comes after from.
func (Words) NextSplit(text string, from int) int { return splitAfterLine(text, from) }

// splitAfterLine returns the first position p > from with a line feed before it and a
// visible character other than a slash after it.
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

// splitBeforeLine returns the first position p > from with a line feed after it and a
// visible character before it.
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

// visible reports whether a character is visible. It excludes white space, and also invalid
// bytes and control characters, which are too rare to examine how they split.
func visible(r rune, size int) bool {
	return !unicode.IsSpace(r) && !unicode.IsControl(r) && (r != utf8.RuneError || size > 1)
}
