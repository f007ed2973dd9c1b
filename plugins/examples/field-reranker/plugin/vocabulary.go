package plugin

import (
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

const (
	gramBytes = 4 // the length of a gram
	// maxLearned bounds the number of remembered tokens that occur in items but not in
	// the collection. They take about 20 MiB.
	maxLearned = 1 << 16
	// stopTerm is the term of a stop word.
	stopTerm = ^uint32(0)
)

// tier maps names to numbers.
type tier struct {
	tokens, terms, grams map[string]uint32
}

func newTier() tier {
	return tier{make(map[string]uint32), make(map[string]uint32), make(map[string]uint32)}
}

// entry is the term of a token, and the range of its grams in gramIDs.
type entry struct {
	term     uint32
	from, to uint32
}

// vocabulary numbers tokens, terms and grams, so that each token is stemmed and cut into
// grams only once. Tokens that are new after freeze go into a tier of their own, which forget
// drops. It belongs to one goroutine.
type vocabulary struct {
	analyzer *analysis.Analyzer
	scanner  *words.Scanner
	base     tier // of the collection
	learned  tier // of items
	current  *tier

	entries []entry
	gramIDs []uint32
	terms   int
	grams   int
	frozen  struct{ entries, gramIDs, terms, grams int } // the sizes without what is learned
	padded  []byte
}

func newVocabulary(a *analysis.Analyzer) *vocabulary {
	v := &vocabulary{analyzer: a, scanner: a.Scanner(""), base: newTier(), learned: newTier()}
	v.current = &v.base
	return v
}

// freeze marks the end of the collection: later tokens come from items.
func (v *vocabulary) freeze() {
	v.current = &v.learned
	v.frozen.entries, v.frozen.gramIDs, v.frozen.terms, v.frozen.grams = len(v.entries), len(v.gramIDs), v.terms, v.grams
}

// forget drops the tokens of items when there are more than maxLearned.
func (v *vocabulary) forget() {
	if len(v.entries)-v.frozen.entries <= maxLearned {
		return
	}
	v.learned = newTier()
	v.entries, v.gramIDs = v.entries[:v.frozen.entries], v.gramIDs[:v.frozen.gramIDs]
	v.terms, v.grams = v.frozen.terms, v.frozen.grams
}

// append appends the tokens of a text to dst.
func (v *vocabulary) append(dst []uint32, text string) []uint32 {
	v.scanner.Reset(text)
	for v.scanner.Next() {
		token := v.scanner.Word()
		n, known := v.base.tokens[string(token)]
		if !known {
			if n, known = v.learned.tokens[string(token)]; !known {
				n = v.learn(string(token))
			}
		}
		dst = append(dst, n)
	}
	return dst
}

func (v *vocabulary) learn(token string) uint32 {
	e := entry{term: stopTerm, from: uint32(len(v.gramIDs))}
	if term := v.analyzer.Term(token); term != "" {
		e.term = v.number(v.base.terms, v.current.terms, []byte(term), &v.terms)
		v.cut(token)
	}
	e.to = uint32(len(v.gramIDs))
	n := uint32(len(v.entries))
	v.entries = append(v.entries, e)
	v.current.tokens[token] = n
	return n
}

// cut appends the grams of a token. A space marks each end of the token.
func (v *vocabulary) cut(token string) {
	v.padded = append(append(append(v.padded[:0], ' '), token...), ' ')
	if len(v.padded) <= gramBytes {
		v.gramIDs = append(v.gramIDs, v.number(v.base.grams, v.current.grams, v.padded, &v.grams))
		return
	}
	for i := 0; i+gramBytes <= len(v.padded); i++ {
		v.gramIDs = append(v.gramIDs, v.number(v.base.grams, v.current.grams, v.padded[i:i+gramBytes], &v.grams))
	}
}

// number returns the number of a name in either tier, or gives it the next number.
func (v *vocabulary) number(base, current map[string]uint32, name []byte, next *int) uint32 {
	if n, ok := base[string(name)]; ok {
		return n
	}
	if n, ok := current[string(name)]; ok {
		return n
	}
	n := uint32(*next)
	current[string(name)] = n
	*next++
	return n
}

// gramsOf returns the grams of a token, with repetitions.
func (v *vocabulary) gramsOf(token uint32) []uint32 {
	e := v.entries[token]
	return v.gramIDs[e.from:e.to]
}
