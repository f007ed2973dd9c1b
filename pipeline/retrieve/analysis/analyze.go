package analysis

import (
	"github.com/kljensen/snowball/english"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// Options say how text becomes terms. The zero value splits into
// lower-case words and does nothing more.
type Options struct {
	// Stop reports whether to leave out a token, which is in lower case and not yet
	// stemmed. nil keeps every token.
	Stop func(token string) bool
	// Weak reports whether to leave out a token of a question that has others, such as "how" and
	// "does". nil keeps every token.
	Weak func(token string) bool
	// Stem reduces English words to their Porter2 stem.
	Stem bool
	// SplitIdentifiers also adds the parts of names such as ParseDuration or
	// HTTPServer as terms.
	SplitIdentifiers bool
}

// Analyzer turns text into terms. It is immutable and safe for concurrent use.
type Analyzer struct {
	stop  func(string) bool
	weak  func(string) bool
	stem  bool
	split bool
}

// New makes an analyzer.
func New(o Options) *Analyzer {
	return &Analyzer{stop: o.Stop, weak: o.Weak, stem: o.Stem, split: o.SplitIdentifiers}
}

// Terms returns the terms of text in order, with repetitions.
func (a *Analyzer) Terms(text string) []string {
	var terms []string
	for s := a.Scanner(text); s.Next(); {
		if term := a.Term(string(s.Word())); term != "" {
			terms = append(terms, term)
		}
	}
	return terms
}

// Question returns the terms of a question in order, with repetitions: without its weak tokens,
// unless it has no others.
func (a *Analyzer) Question(text string) []string {
	if a.weak == nil {
		return a.Terms(text)
	}
	strong := &Analyzer{stop: func(token string) bool { return a.weak(token) || a.stop != nil && a.stop(token) }, stem: a.stem, split: a.split}
	if terms := strong.Terms(text); len(terms) > 0 {
		return terms
	}
	return a.Terms(text)
}

// Scanner returns a scanner of the tokens of a text. Pass each token to Term.
func (a *Analyzer) Scanner(text string) *words.Scanner {
	return &words.Scanner{Text: text, SplitIdentifiers: a.split}
}

// Term returns the term of a lower-case token, empty for a stop word.
func (a *Analyzer) Term(token string) string {
	if a.stop != nil && a.stop(token) {
		return ""
	}
	if !a.stem || !stemmable(token) {
		return token
	}
	return english.Stem(token, true)
}

// stemmable reports whether the stemmer may change a token. It does not change numbers and
// codes, and no rule of Porter2 removes an ending that ends in certain letters. The stemmer
// is the slowest part of building an index, so skipping it for such tokens saves time.
func stemmable(token string) bool {
	if len(token) <= 2 || unstemmed[token[len(token)-1]] {
		return false
	}
	for i := range len(token) {
		if c := token[i]; (c < 'a' || c > 'z') && c != '\'' {
			return false
		}
	}
	return true
}

// unstemmed has the last letters of words that Porter2 never changes.
var unstemmed = func() (table [256]bool) {
	for _, c := range "abfhjkopquvwxz" {
		table[c] = true
	}
	return table
}()
