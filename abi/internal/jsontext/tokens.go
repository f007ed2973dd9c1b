package jsontext

import "bytes"

// SkipSpace returns where the white space from index at on ends.
func SkipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// Quoted returns the part of b before the quote that ends a string. b begins after the opening
// quote. ok is false if the string does not end.
func Quoted(b []byte) (raw []byte, escaped, ok bool) {
	for end := 0; ; end++ {
		n := bytes.IndexByte(b[end:], '"')
		if n < 0 {
			return nil, false, false
		}
		end += n
		backslashes := 0
		for backslashes < end && b[end-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			raw = b[:end]
			return raw, bytes.IndexByte(raw, '\\') >= 0, true
		}
	}
}

// Unescape returns what a letter after a backslash means, 0 if it is no escape of one letter.
func Unescape(letter byte) byte { return unescape[letter] }

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// NumberEnd returns where the number at index at ends. If ok is false, a digit is missing at end.
func NumberEnd(b []byte, at int) (end int, ok bool) {
	if at < len(b) && b[at] == '-' {
		at++
	}
	if at < len(b) && b[at] == '0' {
		at++
	} else if at, ok = digits(b, at); !ok {
		return at, false
	}
	if at < len(b) && b[at] == '.' {
		if at, ok = digits(b, at+1); !ok {
			return at, false
		}
	}
	if at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		return digits(b, at)
	}
	return at, true
}

// digits returns where the digits from index at on end, and whether there are any.
func digits(b []byte, at int) (end int, ok bool) {
	from := at
	for at < len(b) && b[at] >= '0' && b[at] <= '9' {
		at++
	}
	return at, at > from
}
