// Package guesttext makes text that a guest or a manifest wrote fit for one line of an
// error: without line breaks and control characters, and of bounded length. [Secrets] hides what
// no error and no log line may show.
package guesttext

import (
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// maxLine bounds one line, in bytes.
const maxLine = 1 << 10

// Line returns s as one line of at most 1 KiB. Line breaks become semicolons, and
// characters that a terminal or a log could act on become U+FFFD.
func Line(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			clean = false
			break
		}
	}
	if clean && len(s) <= maxLine {
		return s
	}
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	s = strings.Join(lines, "; ")
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || plain.Acts(r) {
			return '\uFFFD'
		}
		return r
	}, s)
	return Clip(s, maxLine)
}

// Clip cuts s at a rune boundary to at most n bytes and marks the cut.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
