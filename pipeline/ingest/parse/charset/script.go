package charset

import "unicode"

// scripts are those that charsets besides UTF-8 have.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Hebrew, unicode.Arabic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
}

// script returns the number of the script of a letter, from 1, 0 for what is no letter.
func script(r rune) int {
	if r < 0x80 {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return 1
		}
		return 0
	}
	for i, t := range scripts {
		if unicode.Is(t, r) {
			return i + 1
		}
	}
	return 0
}

// plausible says how much decoded bytes look like a text, in percent: words are of one script, small
// letters follow small ones, and a sign does not stand inside of a word.
func plausible(text []byte) int {
	bad, high := 0, 0
	var before rune
	for _, r := range string(text) {
		if r >= 0x80 {
			high++
		}
		if (r >= 0x80 || before >= 0x80) && strange(before, r) {
			bad++
		}
		before = r
	}
	return max(0, 100-100*bad/max(high, 1))
}

// strange reports whether no word has two characters beside each other, of which one is not ASCII.
func strange(a, b rune) bool {
	x, y := script(a), script(b)
	switch {
	case x > 0 && y > 0:
		if (x > 5 || x == 5) && x < 10 || y > 5 && y < 10 { // the scripts of East Asia mix
			return x == 5 || y == 5
		}
		return x != y || unicode.IsLower(a) && unicode.IsUpper(b)
	case x > 0 && b >= 0x80:
		return unicode.IsSymbol(b) && b != '®' && b != '™' || unicode.Is(unicode.No, b)
	case y > 0 && a >= 0x80:
		return unicode.IsSymbol(a) && !unicode.Is(unicode.Sc, a)
	}
	return false
}
