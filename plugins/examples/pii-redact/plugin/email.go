package plugin

import (
	"unicode"
	"unicode/utf8"
)

// The largest lengths that the standards allow.
const (
	maxLocal = 64
	maxLabel = 63
)

// email returns the end of the address that begins at pos, 0 if none does.
func email(text string, pos int) int {
	if r, _ := utf8.DecodeLastRuneInString(text[:pos]); pos > 0 && isWordRune(r) {
		return 0
	}
	at := localPart(text, pos)
	if at == 0 || at >= len(text) || text[at] != '@' {
		return 0
	}
	return domain(text, at+1)
}

// localPart returns the end of the part before the @, 0 if there is none.
func localPart(text string, pos int) int {
	start, dot := pos, true // no dot at the start, at the end, or after a dot
	for pos < len(text) && pos-start <= maxLocal {
		r, size := utf8.DecodeRuneInString(text[pos:])
		switch {
		case isWordRune(r), !dot && (r == '_' || r == '-' || r == '+' || r == '%' || r == '\''):
			dot = false
		case r == '.' && !dot:
			dot = true
		default:
			if dot {
				return 0
			}
			return pos
		}
		pos += size
	}
	return 0
}

// domain returns the end of a host name with at least two labels, of which the last consists
// of letters. It returns 0 if there is none.
func domain(text string, pos int) int {
	end := 0
	for labels := 0; ; labels++ {
		labelEnd, letters := domainLabel(text, pos)
		if labelEnd == 0 {
			return end
		}
		if labels > 0 && letters && labelEnd-pos >= 2 {
			end = labelEnd
		}
		if labelEnd >= len(text) || text[labelEnd] != '.' {
			return end
		}
		pos = labelEnd + 1
	}
}

// domainLabel returns the end of a label, and whether it has letters only.
func domainLabel(text string, pos int) (end int, letters bool) {
	letters = true
	for i := pos; i < len(text) && i-pos < maxLabel; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWordRune(r) && (r != '-' || i == pos) {
			break
		}
		i += size
		if r != '-' {
			end = i
		}
		letters = letters && (unicode.IsLetter(r) || r == '-')
	}
	return end, letters
}

// isWordRune reports whether r is a letter or a digit of a script that is written with spaces
// between words. An ideograph may come directly before an address without being part of it.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnum(byte(r))
	}
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}
