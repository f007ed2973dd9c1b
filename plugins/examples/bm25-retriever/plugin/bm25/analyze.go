package bm25

import (
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// maxTokenBytes bounds a term; longer runs of letters (encoded data, mostly)
// are cut into pieces of this size, as Lucene does.
const maxTokenBytes = 255

// AnalyzerOptions say how text becomes terms. The zero value splits into
// lower-case words and does nothing more.
type AnalyzerOptions struct {
	// Stop tells which tokens to leave out; it is asked with the token in lower
	// case, before stemming. nil keeps every token.
	Stop func(token string) bool
	// Stem reduces English words to their Porter2 stem.
	Stem bool
	// SplitIdentifiers adds the parts of names such as ParseDuration or
	// HTTPServer to the name itself.
	SplitIdentifiers bool
}

// Analyzer turns text into terms. It is immutable and safe for concurrent use.
type Analyzer struct {
	stop  func(string) bool
	stem  bool
	split bool
}

// NewAnalyzer makes an analyzer.
func NewAnalyzer(o AnalyzerOptions) *Analyzer {
	return &Analyzer{stop: o.Stop, stem: o.Stem, split: o.SplitIdentifiers}
}

// Terms returns the terms of text in order, with repetitions.
func (a *Analyzer) Terms(text string) []string {
	var terms []string
	t := tokenizer{text: text, split: a.split}
	for {
		token, ok := t.next()
		if !ok {
			return terms
		}
		if term := a.term(string(token)); term != "" {
			terms = append(terms, term)
		}
	}
}

// term is the term of a lower-case token, empty for a stop word.
func (a *Analyzer) term(token string) string {
	if a.stop != nil && a.stop(token) {
		return ""
	}
	if !a.stem || !stemmable(token) {
		return token
	}
	return english.Stem(token, true)
}

// stemmable tells words from numbers and codes, which no English rule fits,
// and saves the stemmer the words it returns as they are.
func stemmable(token string) bool {
	if len(token) <= 2 {
		return false
	}
	for i := range len(token) {
		if c := token[i]; (c < 'a' || c > 'z') && c != '\'' {
			return false
		}
	}
	return true
}

// tokenizer cuts text into lower-case tokens: runs of letters, digits and
// combining marks, with apostrophes inside a word kept and a possessive 's
// dropped. Ideographs and kana are one token each, because there is no space
// between words.
type tokenizer struct {
	text  string
	split bool
	pos   int
	buf   []byte   // the current token, reused
	parts []string // parts of an identifier still to be returned
}

// next returns the next token; it is valid until the call after it.
func (t *tokenizer) next() ([]byte, bool) {
	if n := len(t.parts); n > 0 {
		t.buf = appendLower(t.buf[:0], t.parts[0])
		t.parts = t.parts[1:]
		return t.buf, true
	}
	for t.pos < len(t.text) {
		start := t.pos
		if !t.scan() {
			continue
		}
		if t.split {
			t.parts = splitIdentifier(t.parts[:0], t.text[start:t.pos])
		}
		return t.buf, true
	}
	return nil, false
}

// scan reads one token at pos into buf, or skips one character that begins
// none and returns false.
func (t *tokenizer) scan() bool {
	t.buf = t.buf[:0]
	for t.pos < len(t.text) && len(t.buf) < maxTokenBytes {
		c := t.text[t.pos]
		switch class := asciiClass[c]; {
		case class == classLower:
			t.buf = append(t.buf, c)
			t.pos++
		case class == classUpper:
			t.buf = append(t.buf, c+'a'-'A')
			t.pos++
		case class == classBeyond:
			if !t.scanRune() {
				return t.finish()
			}
		case c == '\'' && len(t.buf) > 0 && t.letterAt(t.pos+1):
			t.buf = append(t.buf, c)
			t.pos++
		default:
			if len(t.buf) == 0 {
				t.pos++
				return false
			}
			return t.finish()
		}
	}
	return t.finish()
}

// scanRune takes the character beyond ASCII at pos into the token and reports
// whether the token may go on.
func (t *tokenizer) scanRune() bool {
	r, size := utf8.DecodeRuneInString(t.text[t.pos:])
	switch {
	case r == '’' && len(t.buf) > 0 && t.letterAt(t.pos+size):
		t.buf = append(t.buf, '\'')
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		if len(t.buf) > 0 {
			return false
		}
		t.buf = utf8.AppendRune(t.buf, r)
		t.pos += size
		return false
	case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) && len(t.buf) > 0):
		t.buf = utf8.AppendRune(t.buf, unicode.ToLower(r))
	default:
		if len(t.buf) == 0 {
			t.pos += size
		}
		return false
	}
	t.pos += size
	return true
}

// finish drops a possessive ending and reports whether a token was read.
func (t *tokenizer) finish() bool {
	if n := len(t.buf); n > 2 && t.buf[n-1] == 's' && t.buf[n-2] == '\'' {
		t.buf = t.buf[:n-2]
	}
	return len(t.buf) > 0
}

func (t *tokenizer) letterAt(i int) bool {
	if i >= len(t.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(t.text[i:])
	return unicode.IsLetter(r)
}

// splitIdentifier appends the parts of a name in camel case, nothing when it
// has only one.
func splitIdentifier(dst []string, name string) []string {
	start := 0
	for i := 1; i < len(name); i++ {
		upper := asciiClass[name[i]] == classUpper
		afterLower := asciiClass[name[i-1]] == classLower
		beforeLower := i+1 < len(name) && asciiClass[name[i+1]] == classLower && name[i+1] > '9'
		if upper && (afterLower || beforeLower) {
			dst = append(dst, name[start:i])
			start = i
		}
	}
	if start > 0 {
		dst = append(dst, name[start:])
	}
	return dst
}

func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if asciiClass[c] == classUpper {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

const (
	classOther  = iota
	classLower  // a-z and 0-9
	classUpper  // A-Z
	classBeyond // not ASCII
)

var asciiClass = func() (table [256]uint8) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = classLower
		case 'A' <= c && c <= 'Z':
			table[c] = classUpper
		case c >= utf8.RuneSelf:
			table[c] = classBeyond
		}
	}
	return table
}()
