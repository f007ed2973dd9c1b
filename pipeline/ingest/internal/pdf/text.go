package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// clean returns what text keeps of the Unicode value of a code: ligatures and forms for presentation become letters,
// and what says nothing is left out. "" means that the code has no value.
func clean(s string) string {
	if len(s) == 1 && s[0] > ' ' && s[0] < 0x7F {
		return s
	}
	return strings.Map(printed, ligatures.Replace(letters(s)))
}

// letters folds the forms of Hebrew and Arabic for presentation.
func letters(s string) string {
	folded := false
	for _, r := range s {
		folded = folded || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC
	}
	if !folded {
		return s
	}
	return strings.TrimLeft(norm.NFKC.String(s), " ")
}

// printed returns what is left of a character, -1 for nothing.
func printed(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || r == '\ufeff':
		return -1
	}
	return r
}

var ligatures = strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
