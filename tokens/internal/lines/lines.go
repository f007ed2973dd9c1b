// Package lines finds places next to line ends where many tokenizers divide texts.
package lines

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// After returns the first position p > from with a line feed before it and a
// visible character other than a slash after it, or len(text).
func After(text string, from int) int {
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

// Before returns the first position p > from with a line feed after it and a
// visible character before it, or len(text).
func Before(text string, from int) int {
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
