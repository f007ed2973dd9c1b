package message

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// quote writes a JSON string without escapes for HTML, which cost tokens.
func quote(text string) string {
	out, _ := jsontext.AppendQuote(make([]byte, 0, len(text)+len(text)/16+2), text) // invalid UTF-8 becomes U+FFFD
	return string(out)
}

// unquote returns the text of a JSON string that was checked before. Without escapes it is a part
// of the same memory. Escapes that stand for half a character are U+FFFD.
func unquote(raw string) string {
	rest := raw[1 : len(raw)-1]
	i := strings.IndexByte(rest, '\\')
	if i < 0 {
		return rest
	}
	out := make([]byte, 0, len(rest))
	for ; i >= 0; i = strings.IndexByte(rest, '\\') {
		out = append(out, rest[:i]...)
		if rest = rest[i+1:]; rest[0] == 'u' {
			var c rune
			c, rest = escaped(rest)
			out = utf8.AppendRune(out, c)
			continue
		}
		out = append(out, unescape(rest[0]))
		rest = rest[1:]
	}
	out = append(out, rest...)
	return unsafe.String(unsafe.SliceData(out), len(out)) // nothing else has out
}

// unescape returns the character for which a letter after a backslash stands.
func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// escaped reads an escape such as u00e9, with its second half if it has one, and returns what
// follows.
func escaped(text string) (rune, string) {
	c, _ := strconv.ParseUint(text[1:5], 16, 16) // the JSON was checked
	text = text[5:]
	if !utf16.IsSurrogate(rune(c)) {
		return rune(c), text
	}
	if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
		low, _ := strconv.ParseUint(text[2:6], 16, 16)
		if whole := utf16.DecodeRune(rune(c), rune(low)); whole != utf8.RuneError {
			return whole, text[6:]
		}
	}
	return utf8.RuneError, text
}
