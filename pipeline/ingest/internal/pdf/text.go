package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

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
	case r >= 0xF000 && r < 0xF100 && !unicode.IsLetter(r-0xF000): // of Symbol and Wingdings
		return '\u200b'
	case unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || r == '\ufeff':
		return -1
	}
	return r
}

var ligatures = strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// combining are the marks for accents that stand alone.
var combining = map[string]rune{
	"`": 0x300, "´": 0x301, "^": 0x302, "ˆ": 0x302, "~": 0x303, "˜": 0x303, "¯": 0x304, "˘": 0x306, "˙": 0x307, "¨": 0x308, "˚": 0x30A, "˝": 0x30B, "ˇ": 0x30C, "¸": 0x327, "˛": 0x328,
}

// accented returns a letter with an accent that was shown apart, or "".
func accented(letter, accent string) string {
	mark := combining[accent]
	switch letter {
	case "ı":
		letter = "i"
	case "ȷ":
		letter = "j"
	}
	composed := norm.NFC.String(letter + string(mark))
	if mark == 0 || utf8.RuneCountInString(composed) != 1 {
		return ""
	}
	return composed
}

// compose makes one glyph of a letter and an accent that is drawn on it, as TeX does.
func (l *drawn) compose() {
	kept := l.glyphs[:0]
	for i := 0; i < len(l.glyphs); i++ {
		a := l.glyphs[i]
		if accent := string(l.text[a.from:a.to]); combining[accent] != 0 {
			if i+1 < len(l.glyphs) && on(a, l.glyphs[i+1]) {
				b := &l.glyphs[i+1]
				if l.replace(b, accented(string(l.text[b.from:b.to]), accent)) {
					b.spaced = a.spaced
					continue
				}
			}
			if n := len(kept); n > 0 && on(a, kept[n-1]) && l.replace(&kept[n-1], accented(string(l.text[kept[n-1].from:kept[n-1].to]), accent)) {
				continue
			}
		}
		kept = append(kept, a)
	}
	l.glyphs = kept
}

// on reports whether the middle of an accent is above or below a letter.
func on(accent, letter glyph) bool {
	middle := (accent.x + accent.end) / 2
	return middle > letter.x && middle < letter.end
}

// replace gives a glyph another text, which is not longer than two letters.
func (l *drawn) replace(g *glyph, text string) bool {
	if text == "" {
		return false
	}
	g.from = len(l.text)
	l.text = append(l.text, text...)
	g.to = len(l.text)
	return true
}
