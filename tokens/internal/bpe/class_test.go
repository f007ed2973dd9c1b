package bpe

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// Every code point must have the class that the categories of the unicode
// package give it, which is what the engine of tiktoken-go asks.
func TestClasses(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r)
		class, width := classes().at(s, 0)
		if r >= 0xD800 && r <= 0xDFFF {
			r = 0xDFFF // surrogates have no encoding
			continue
		}
		if width != utf8.RuneLen(r) {
			t.Fatalf("%U: width %d", r, width)
		}
		for _, c := range []struct {
			bit  uint8
			want bool
		}{
			{isLetter, unicode.IsLetter(r)},
			{isNumber, unicode.IsNumber(r)},
			{isSpace, unicode.IsSpace(r)},
			{isNewline, r == '\r' || r == '\n'},
			{isMark, unicode.IsMark(r)},
			{isUpper, unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)},
			{isLower, unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)},
		} {
			if (class&c.bit != 0) != c.want {
				t.Fatalf("%U: class %07b, bit %07b should be %v", r, class, c.bit, c.want)
			}
		}
	}
}

// A sequence must decode as the standard library decodes it, whatever its bytes.
func TestDecoding(t *testing.T) {
	edges := []byte{0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF}
	for a := range 256 {
		for _, b := range edges {
			for _, c := range edges {
				for _, d := range edges {
					for n := 1; n <= 4; n++ {
						s := string([]byte{byte(a), b, c, d}[:n])
						r, want := utf8.DecodeRuneInString(s)
						wantClass, _ := classes().at(string(r), 0)
						if class, width := classes().at(s, 0); width != want || class != wantClass {
							t.Fatalf("%q: class %07b width %d, want %07b %d", s, class, width, wantClass, want)
						}
					}
				}
			}
		}
	}
}
