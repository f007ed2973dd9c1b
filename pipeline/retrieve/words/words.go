// Package words cuts text into lower-case words, the same way for the
// index and for every example plugin.
//
//	s := words.Scanner{Text: "Alice's HTTPServer"}
//	for s.Next() {
//		fmt.Println(string(s.Word())) // alice, httpserver
//	}
package words

import (
	"unicode"
	"unicode/utf8"
)

// maxBytes bounds a word. Longer runs of letters, which are mostly encoded data, are cut
// into pieces of about this size.
const maxBytes = 255

// Scanner cuts Text into words: runs of letters, digits and combining marks in
// lower case, with apostrophes inside a word kept and a possessive 's dropped.
// Ideographs and kana are one word each, because no space divides them.
//
// The zero value with a Text is ready; it allocates once, for its buffer.
type Scanner struct {
	Text string
	// SplitIdentifiers also returns the parts of a name such as ParseDuration or SHA256 as
	// words, after the name itself.
	SplitIdentifiers bool

	start, pos int
	buf        []byte   // the current word
	parts      []string // the parts of the name last read …
	part       int      // … and how many of them have been words
}

// Reset starts over with another text and keeps the storage.
func (s *Scanner) Reset(text string) {
	s.Text, s.start, s.pos, s.parts, s.part = text, 0, 0, s.parts[:0], 0
}

// Word returns the word that Next found. It is valid until the next call of Next.
func (s *Scanner) Word() []byte { return s.buf }

// Start returns the start of the current word in Text. The parts of a name have the start
// and the end of the name.
func (s *Scanner) Start() int { return s.start }

// End returns the end of the current word, exclusive; see Start.
func (s *Scanner) End() int { return s.pos }

// Next goes to the next word and reports whether there is one.
func (s *Scanner) Next() bool {
	if s.part < len(s.parts) {
		s.buf = appendLower(s.buf[:0], s.parts[s.part])
		s.part++
		return true
	}
	for s.pos < len(s.Text) {
		mixed, done := s.plain()
		if done || s.rest() {
			if s.SplitIdentifiers && (mixed || !done) {
				s.parts, s.part = appendParts(s.parts[:0], s.Text[s.start:s.pos]), 0
			}
			return true
		}
	}
	return false
}

// plain skips to the next word and reads its ASCII letters and digits. For most words that
// is the whole word, and done is true. mixed means that a capital or a digit follows the
// first character, so that the word may have parts.
func (s *Scanner) plain() (mixed, done bool) {
	text, i, buf := s.Text, s.pos, s.buf[:0]
	for i < len(text) && ascii[text[i]] == other {
		i++
	}
	s.start = i
	for i < len(text) && len(buf) < maxBytes {
		c := ascii[text[i]]
		if c < '0' {
			break
		}
		mixed = mixed || (c != text[i] || c <= '9') && i > s.start
		buf = append(buf, c)
		i++
	}
	s.pos, s.buf = i, buf
	done = len(buf) > 0 && (i == len(text) || ascii[text[i]] == other || len(buf) == maxBytes)
	return mixed, done
}

// rest reads the rest of a word. If no word begins at the current character, it skips that
// character and returns false.
func (s *Scanner) rest() bool {
	for s.pos < len(s.Text) && len(s.buf) < maxBytes {
		switch c := ascii[s.Text[s.pos]]; {
		case c >= '0':
			s.buf = append(s.buf, c)
			s.pos++
		case c == beyond:
			if !s.restRune() {
				return s.finish()
			}
		case c == apostrophe && len(s.buf) > 0 && s.letterAt(s.pos+1):
			s.buf = append(s.buf, '\'')
			s.pos++
		default:
			if len(s.buf) == 0 {
				s.pos++
			}
			return s.finish()
		}
	}
	return s.finish()
}

// restRune adds the non-ASCII character at pos to the word and reports whether the word may
// continue.
func (s *Scanner) restRune() bool {
	r, size := utf8.DecodeRuneInString(s.Text[s.pos:])
	switch {
	case r == '’' && len(s.buf) > 0 && s.letterAt(s.pos+size):
		s.buf = append(s.buf, '\'')
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		if len(s.buf) > 0 {
			return false
		}
		s.buf = utf8.AppendRune(s.buf, r)
		s.pos += size
		return false
	case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && len(s.buf) > 0):
		s.buf = utf8.AppendRune(s.buf, unicode.ToLower(r))
	default:
		if len(s.buf) == 0 {
			s.pos += size
		}
		return false
	}
	s.pos += size
	return true
}

// finish drops a possessive ending and reports whether a word was read.
func (s *Scanner) finish() bool {
	if n := len(s.buf); n > 2 && s.buf[n-1] == 's' && s.buf[n-2] == '\'' {
		s.buf = s.buf[:n-2]
	}
	return len(s.buf) > 0
}

func (s *Scanner) letterAt(i int) bool {
	if i >= len(s.Text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s.Text[i:])
	return unicode.IsLetter(r)
}

// appendParts appends the parts of a name, or nothing if it has only one. A part begins at a
// capital, at the last of several capitals (HTTP, Server), and at a number.
func appendParts(dst []string, name string) []string {
	start := 0
	for i := 1; i < len(name); i++ {
		if partBegins(name, i) {
			dst = append(dst, name[start:i])
			start = i
		}
	}
	if start > 0 {
		dst = append(dst, name[start:])
	}
	return dst
}

func partBegins(name string, i int) bool {
	before, c := name[i-1], name[i]
	switch {
	case '0' <= c && c <= '9':
		return isLower(before) || isUpper(before)
	case isUpper(c):
		return isLower(before) || '0' <= before && before <= '9' || i+1 < len(name) && isLower(name[i+1])
	}
	return false
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// appendLower appends a part in lower case. Names are split between ASCII letters only, so a
// part is valid UTF-8, and non-ASCII characters are converted one by one.
func appendLower(dst []byte, part string) []byte {
	for _, r := range part {
		if r < utf8.RuneSelf && ascii[r] >= '0' {
			dst = append(dst, ascii[r])
			continue
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}

// The table ascii maps letters to lower case and digits to themselves. It maps every other
// byte to one of these classes, which are below '0'.
const (
	other      = iota
	apostrophe // may stand inside a word
	beyond     // not ASCII
)

var ascii = func() (table [256]uint8) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = uint8(c)
		case 'A' <= c && c <= 'Z':
			table[c] = uint8(c) + 'a' - 'A'
		case c == '\'':
			table[c] = apostrophe
		case c >= utf8.RuneSelf:
			table[c] = beyond
		}
	}
	return table
}()
