package plugin

import (
	"strings"
	"unicode"
)

// alike are letters of other scripts that look like Latin ones.
var alike = map[rune]rune{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ѕ': 's', 'ј': 'j', 'һ': 'h', 'ԁ': 'd', 'ո': 'n', 'ɡ': 'g',
	'α': 'a', 'ε': 'e', 'ο': 'o', 'ρ': 'p', 'ν': 'v', 'ι': 'i', 'κ': 'k', 'τ': 't', 'υ': 'u', 'ı': 'i', '’': '\'',
}

// fold returns a text in lower case, with Latin letters for those that look like them or are wide,
// and without characters that nobody sees.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r < 0x80:
			return r
		case r >= 0xff01 && r <= 0xff5e: // full width
			r -= 0xff01 - '!'
		case r == '\u00ad' || r >= '\u200b' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2060' && r <= '\u2064' || r == '\ufeff' || r >= 0xe0000 && r <= 0xe007f || unicode.Is(unicode.Mn, r):
			return -1
		}
		r = unicode.ToLower(r)
		if latin, ok := alike[r]; ok {
			return latin
		}
		return r
	}, text)
}

// digits are digits and marks that stand for letters.
var digits = map[byte]byte{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}

// unleet replaces digits inside of words by letters. Numbers stay.
func unleet(text string) string {
	b := []byte(text)
	letter := func(i int) bool { return i >= 0 && i < len(b) && b[i] >= 'a' && b[i] <= 'z' }
	for i := range b {
		if l, ok := digits[b[i]]; ok && (letter(i-1) || letter(i+1)) && (b[i] != '!' || letter(i+1)) {
			b[i] = l
		}
	}
	return string(b)
}

// unspaced joins letters that stand alone, as in "i g n o r e". Two spaces end a word.
func unspaced(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for i := 0; i < len(text); {
		end := i
		for alone(text, i, end) && alone(text, i, end+2) {
			end += 2
		}
		if end == i {
			out.WriteByte(text[i])
			i++
			continue
		}
		for ; i <= end; i += 2 {
			out.WriteByte(text[i])
		}
		i = end + 1
	}
	return out.String()
}

// alone reports whether one character stands alone at j, in a row of such characters that begins
// at from.
func alone(text string, from, j int) bool {
	gap := func(i int) bool {
		return i < 0 || i >= len(text) || text[i] == ' ' || text[i] == '.' || text[i] == '-' || text[i] == '\n'
	}
	return j < len(text) && text[j] > ' ' && gap(j+1) && (j > from || gap(j-1))
}
