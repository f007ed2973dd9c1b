// Package words cuts text into lower-case words, the same way for the
// index and for every example plugin.
//
//	s := words.Scanner{Text: "Alice's HTTPServer"}
//	for s.Next() {
//		fmt.Println(string(s.Word())) // alice, httpserver
//	}
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxBytes bounds a word. Longer runs of letters, which are mostly encoded data, are cut
// into pieces of about this size.
const maxBytes = 255

// Scanner cuts Text into words: runs of letters, digits and combining marks, with apostrophes
// inside a word kept and a possessive 's dropped. C++, C# and .NET are words of their own.
//
// Words are folded, so that the ways to write one are the same word: into lower case, compatible
// forms into their plain ones (NFKD), without accents, vowel points, tatweel, soft hyphens and
// characters of no width. Straße is strasse; the forms of alef and yeh are one letter each.
//
// Ideographs and kana are one word each, because no space divides them. Thai, Lao, Khmer and Burmese
// become overlapping pairs of characters for the same reason, and Korean pairs of syllables,
// because particles follow its words without a space.
//
// The zero value with a Text is ready; it allocates once, for its buffer.
type Scanner struct {
	Text string
	// SplitIdentifiers also returns the parts of a name such as ParseDuration or SHA256 as
	// words, after the name itself.
	SplitIdentifiers bool

	start, end int      // the current word
	pos        int      // where the next one is looked for
	paired     bool     // the character at pos was the second of a pair
	buf        []byte   // the current word
	parts      []string // the parts of the name last read …
	part       int      // … and how many of them have been words
}

// Reset starts over with another text and keeps the storage.
func (s *Scanner) Reset(text string) {
	s.Text, s.start, s.end, s.pos, s.paired, s.parts, s.part = text, 0, 0, 0, false, s.parts[:0], 0
}

// Word returns the word that Next found. It is valid until the next call of Next.
func (s *Scanner) Word() []byte { return s.buf }

// Start returns the start of the current word in Text. The parts of a name have the start
// and the end of the name.
func (s *Scanner) Start() int { return s.start }

// End returns the end of the current word, exclusive; see Start.
func (s *Scanner) End() int { return s.end }

// Next goes to the next word and reports whether there is one.
func (s *Scanner) Next() bool {
	if s.part < len(s.parts) {
		s.buf = appendFolded(s.buf[:0], s.parts[s.part])
		s.part++
		return true
	}
	for s.pos < len(s.Text) {
		mixed, done := s.plain()
		if !done && len(s.buf) == 0 && s.pairAt() {
			if s.gram() {
				return true
			}
			continue
		}
		if done || s.rest() {
			if s.end = s.pos; len(s.buf) == 1 || len(s.buf) == len("net") {
				s.named()
			}
			if s.SplitIdentifiers && (mixed || !done) {
				s.parts, s.part = appendParts(s.parts[:0], s.Text[s.start:s.pos]), 0
			}
			return true
		}
	}
	return false
}

// named makes the words c++, c# and .net of c and net where they stand in such a name.
func (s *Scanner) named() {
	after := s.Text[s.pos:]
	switch {
	case len(s.buf) == 1 && s.buf[0] >= 'a' && s.buf[0] <= 'z':
		sign := ""
		if strings.HasPrefix(after, "++") {
			sign = "++"
		} else if strings.HasPrefix(after, "#") {
			sign = "#"
		}
		if sign == "" || s.end-s.start != 1 || s.continues(s.pos+len(sign)) {
			return
		}
		s.buf = append(s.buf, sign...)
		s.pos += len(sign)
		s.end = s.pos
	case string(s.buf) == "net" && s.start > 0 && s.Text[s.start-1] == '.':
		if s.start == 1 || !s.continues(s.start-2) || s.Text[s.start:s.end] == "NET" {
			s.buf = append(s.buf[:0], ".net"...)
			s.start--
		}
	}
}

// continues reports whether the byte at i belongs to a word, or is a sign that makes C++ or C#
// something else.
func (s *Scanner) continues(i int) bool {
	return i < len(s.Text) && (ascii[s.Text[i]] >= '0' || ascii[s.Text[i]] == beyond || s.Text[i] == '+' || s.Text[i] == '#')
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
	case ignored(r):
	case r == '’' && len(s.buf) > 0 && s.letterAt(s.pos+size):
		s.buf = append(s.buf, '\'')
	case script(r) != spaced:
		if len(s.buf) > 0 || script(r) >= pairs {
			return false
		}
		mark := voiceMark(s.Text[s.pos+size:])
		if char := s.Text[s.pos : s.pos+size+mark]; mark == 0 && r >= 0x3041 && r <= 0x9FFF {
			s.buf = append(s.buf, char...)
		} else {
			s.buf = norm.NFKC.AppendString(s.buf, char)
		}
		s.pos += size + mark
		return false
	case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && len(s.buf) > 0):
		s.buf = appendRune(s.buf, r)
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

// appendFolded appends a part, folded. Names are split between ASCII letters only, so a part is
// valid UTF-8.
func appendFolded(dst []byte, part string) []byte {
	for _, r := range part {
		switch {
		case r < utf8.RuneSelf && ascii[r] >= '0':
			dst = append(dst, ascii[r])
		case r < utf8.RuneSelf:
			dst = append(dst, byte(r))
		case r == '’':
			dst = append(dst, '\'')
		case !ignored(r):
			dst = appendRune(dst, r)
		}
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
