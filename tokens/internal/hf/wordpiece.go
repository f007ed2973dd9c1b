package hf

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord bounds the characters of a word that is divided, and the bytes of a token: the time for
// a word grows with both.
const maxWord = 256

// wordPiece divides a word by taking the longest token at each place. A word that cannot be divided
// is one unknown token.
type wordPiece struct {
	heads, tails map[string]uint32 // numbers of tokens at the start of a word, and further on
	unknown      bool              // the unknown token exists
	chars        int               // longer words are unknown
	longest      int               // bytes of the longest token
}

// wordPiece builds the model.
func (v *vocabulary) wordPiece() (model, error) {
	m := &wordPiece{heads: map[string]uint32{}, tails: map[string]uint32{}, chars: v.longestWord}
	if m.chars < 1 || m.chars > maxWord {
		return nil, fmt.Errorf("max_input_chars_per_word: %d: %w (1 to %d)", m.chars, errTooMany, maxWord)
	}
	for token, id := range v.ids {
		own, tail := strings.CutPrefix(token, v.subword)
		tail = tail && v.subword != ""
		if token == v.unknown {
			m.unknown = true
		}
		if len(own) > maxWord {
			return nil, fmt.Errorf("vocab: token of %d bytes: %w (at most %d)", len(own), errTooMany, maxWord)
		}
		m.longest = max(m.longest, len(token))
		m.heads[token] = uint32(v.numbers[id])
		if tail || v.subword == "" {
			m.tails[own] = uint32(v.numbers[id])
		}
	}
	if !m.unknown {
		return nil, fmt.Errorf("unk_token %.40q is not a token", v.unknown)
	}
	return m, nil
}

func (m *wordPiece) count(r *run, word string) int {
	if n := m.divide(word, func(uint32) {}); n > 0 || word == "" {
		return n
	}
	return 1
}

func (m *wordPiece) list(r *run, word string) {
	before := len(r.ids)
	if m.divide(word, func(id uint32) { r.ids = append(r.ids, id) }) == 0 {
		r.ids = r.ids[:before]
	}
}

// divide calls emit for each token of a word, and returns their number. It is 0 if the word cannot
// be divided, perhaps after some calls.
func (m *wordPiece) divide(word string, emit func(id uint32)) int {
	if len(word) > m.chars && utf8.RuneCountInString(word) > m.chars {
		return 0
	}
	n, tokens := 0, m.heads
	for word != "" {
		end, id := m.first(tokens, word)
		if end == 0 {
			return 0
		}
		emit(id)
		word, tokens = word[end:], m.tails
		n++
	}
	return n
}

// first returns the length of the longest token at the start of s, and its number.
func (m *wordPiece) first(tokens map[string]uint32, s string) (length int, id uint32) {
	for end := min(len(s), m.longest); end > 0; end-- {
		if end < len(s) && !utf8.RuneStart(s[end]) {
			continue
		}
		if id, ok := tokens[s[:end]]; ok {
			return end, id
		}
	}
	return 0, 0
}

// bert is the change of BertNormalizer.
func (p *part) bert(s string) string {
	on := func(b *bool, otherwise bool) bool {
		if b == nil {
			return otherwise
		}
		return *b
	}
	lowercase := on(p.Lowercase, true)
	if on(p.CleanText, true) {
		s = strings.Map(clean, s)
	}
	if on(p.Chinese, true) && strings.ContainsFunc(s, chinese) {
		s = spaceOut(s)
	}
	if on(p.Accents, lowercase) && !ascii(s) {
		s = strings.Map(dropNonSpacing, norm.NFD.String(s))
	}
	if lowercase {
		s = lower(s)
	}
	return s
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// clean drops control characters, and makes spaces of all white space.
func clean(r rune) rune {
	switch {
	case r > ' ' && r < 0x7f:
		return r
	case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r) && !unicode.IsControl(r):
		return ' '
	case r == utf8.RuneError || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z):
		return -1
	}
	return r
}

func dropNonSpacing(r rune) rune {
	if r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) {
		return -1
	}
	return r
}

// chinese reports whether BertNormalizer puts spaces around a character.
func chinese(r rune) bool {
	if r < 0x3400 {
		return false
	}
	for _, span := range [...][2]rune{
		{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

func spaceOut(s string) string {
	var b strings.Builder
	for _, r := range s {
		if chinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
