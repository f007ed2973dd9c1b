package words

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ignored reports whether a character is no part of a word that it stands in: soft hyphens,
// characters without a width, and the Arabic tatweel, which only stretches a word.
func ignored(r rune) bool {
	switch {
	case r == 0xAD || r == 0x640 || r == 0x61C || r == 0x2060 || r == 0xFEFF || r == 0x180E:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

// accent reports whether a mark may be left out: accents of Latin, Greek and Cyrillic letters,
// vowel points of Hebrew and Arabic. The vowel signs of other scripts are letters to their readers.
func accent(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r <= 0x36F, r >= 0x483 && r <= 0x487, r >= 0x591 && r <= 0x5C7, r >= 0x610 && r <= 0x61A, r >= 0x64B && r <= 0x65F, r == 0x670,
		r >= 0x6D6 && r <= 0x6ED, r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF, r >= 0x20D0 && r <= 0x20FF, r >= 0xFE20 && r <= 0xFE2F:
		return unicode.Is(unicode.Mn, r)
	}
	return false
}

// alike has what Unicode does not take apart.
var alike = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ŋ': "n", 'ς': "σ",
	'ٱ': "ا", 'ى': "ي", 'ی': "ي", 'ې': "ي", 'ک': "ك", 'ة': "ه", 'ہ': "ه", 'ھ': "ه", 'ە': "ه",
}

// appendRune appends a letter, a digit or a mark, folded: nothing for an accent.
func appendRune(dst []byte, r rune) []byte {
	if r >= 'а' && r <= 'я' && r != 'й' { // most letters of Cyrillic texts, quickly
		return utf8.AppendRune(dst, r)
	}
	if r >= 0x80 && int(r) < len(latin) {
		return append(dst, latin[r]...)
	}
	return appendApart(dst, r)
}

// latin has the folded forms of the letters below its length, which most texts with accents use.
var latin = func() (table [0x250]string) {
	for r := range table {
		table[r] = string(appendApart(nil, rune(r)))
	}
	return table
}()

func appendApart(dst []byte, r rune) []byte {
	var char [utf8.UTFMax]byte
	n := utf8.EncodeRune(char[:], r)
	apart := norm.NFKD.Properties(char[:n]).Decomposition()
	if apart == nil {
		return appendPlain(dst, r)
	}
	for len(apart) > 0 {
		r, n := utf8.DecodeRune(apart)
		if apart = apart[n:]; unicode.In(r, unicode.L, unicode.Nd, unicode.M) {
			dst = appendPlain(dst, r)
		}
	}
	return dst
}

// appendPlain appends a character that is not to be taken apart.
func appendPlain(dst []byte, r rune) []byte {
	r = unicode.ToLower(r)
	switch {
	case ignored(r) || accent(r):
		return dst
	case r >= 0x660 && r <= 0x669: // Arabic digits
		return append(dst, byte(r-0x660+'0'))
	case r >= 0x6F0 && r <= 0x6F9:
		return append(dst, byte(r-0x6F0+'0'))
	}
	if as, ok := alike[r]; ok {
		return append(dst, as...)
	}
	return utf8.AppendRune(dst, r)
}

// The ways in which scripts divide words.
const (
	spaced    = iota // by spaces
	single           // not at all: each character is a word
	pairs            // not at all: each pair of characters is a word
	syllables        // by spaces, with particles: each pair of syllables is a word
)

// script returns how the script of a character divides words.
func script(r rune) int {
	switch {
	case r < 0xE00:
		return spaced
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3041 && r <= 0x3096, r >= 0x30A1 && r <= 0x30FA:
		return single
	case r >= 0xAC00 && r <= 0xD7A3, r >= 0x1100 && r <= 0x11FF:
		return syllables
	case r <= 0xEFF, r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF, r >= 0xA9E0 && r <= 0xA9FF, r >= 0xAA60 && r <= 0xAA7F:
		if unicode.In(r, unicode.L, unicode.M, unicode.Nd) {
			return pairs
		}
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return single
	}
	return spaced
}

// voiceMark returns the size of a mark at the start of text that belongs to the kana before it.
func voiceMark(text string) int {
	if len(text) < 3 || text[0] != 0xE3 && text[0] != 0xEF {
		return 0
	}
	switch r, n := utf8.DecodeRuneInString(text); r {
	case 0x3099, 0x309A, 0xFF9E, 0xFF9F:
		return n
	}
	return 0
}

// pairAt reports whether the character at pos is of a script of pairs.
func (s *Scanner) pairAt() bool {
	if s.pos >= len(s.Text) || s.Text[s.pos] < 0xE0 { // they are all of three bytes
		return false
	}
	kind, _ := s.scriptAt(s.pos)
	return kind >= pairs
}

// gram reads the pair of characters at pos, or the only character of a run. It returns false at the
// end of a run, which the last pair had.
func (s *Scanner) gram() bool {
	kind, first := s.scriptAt(s.pos)
	after, second := s.scriptAt(first)
	if after != kind && s.paired {
		s.pos, s.paired = first, false
		return false
	}
	from := s.pos
	s.start, s.end, s.pos = from, first, first
	s.buf = appendGram(s.buf[:0], s.Text[from:first])
	if after != kind {
		return true
	}
	if third, _ := s.scriptAt(second); kind == syllables && !s.paired && third != kind {
		// A word of one syllable with a particle, perhaps.
		s.parts, s.part = append(s.parts[:0], string(s.buf)), 0
	}
	s.buf, s.end, s.paired = appendGram(s.buf, s.Text[first:second]), second, true
	return true
}

// appendGram appends a character, composed, without what is ignored behind it.
func appendGram(dst []byte, char string) []byte {
	if len(char) == 3 { // nothing to compose
		return append(dst, char...)
	}
	kept := make([]rune, 0, maxIgnored+1)
	for _, r := range char {
		if !ignored(r) {
			kept = append(kept, r)
		}
	}
	return norm.NFKC.AppendString(dst, string(kept))
}

// maxIgnored bounds how many characters are skipped within a pair, so that no text is read over and
// over again.
const maxIgnored = 8

// scriptAt returns how the script at i divides words, and where the character ends, with a syllable of
// several letters and with what is ignored behind it.
func (s *Scanner) scriptAt(i int) (kind, end int) {
	r, n := utf8.DecodeRuneInString(s.Text[i:])
	if kind = script(r); kind < pairs {
		return kind, i + n
	}
	end = i + n
	for range maxIgnored {
		next, n := utf8.DecodeRuneInString(s.Text[end:])
		vowelOrEnd := kind == syllables && r >= 0x1100 && r <= 0x11FF && next >= 0x1160 && next <= 0x11FF
		if !ignored(next) && !vowelOrEnd {
			break
		}
		end += n
	}
	return kind, end
}
