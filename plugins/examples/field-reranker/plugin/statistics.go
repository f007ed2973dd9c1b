package plugin

import "math"

// statistics are counts over documents: those of a collection, or the items of a request.
type statistics struct {
	documents int
	terms     frequencies
	grams     frequencies
	// sums of lengths over all documents
	termTotal, titleTotal, gramTotal int
}

// frequencies counts, for each number, the documents that have it.
type frequencies struct {
	df   []uint32
	last []uint32 // the last document counted, plus one
}

// count records that a document has number n. Documents must come in order.
func (f *frequencies) count(n uint32, document int) {
	for int(n) >= len(f.df) {
		f.df = append(f.df, 0)
		f.last = append(f.last, 0)
	}
	if f.last[n] != uint32(document) {
		f.last[n] = uint32(document)
		f.df[n]++
	}
}

func (s *statistics) reset() {
	*s = statistics{
		terms: frequencies{s.terms.df[:0], s.terms.last[:0]},
		grams: frequencies{s.grams.df[:0], s.grams.last[:0]},
	}
}

// add counts a document. The first titleTokens of its tokens are its title.
func (s *statistics) add(v *vocabulary, tokens []uint32, titleTokens int) {
	s.documents++
	for i, token := range tokens {
		e := v.entries[token]
		if e.term == stopTerm {
			continue
		}
		s.terms.count(e.term, s.documents)
		s.termTotal++
		if i < titleTokens {
			s.titleTotal++
		}
		for _, gram := range v.gramsOf(token) {
			s.grams.count(gram, s.documents)
			s.gramTotal++
		}
	}
}

// average returns the mean length of total over all documents, and 1 if all are empty.
func (s *statistics) average(total int) float64 {
	if total == 0 {
		return 1
	}
	return float64(total) / float64(s.documents)
}

// idf returns the weight of number n: the fewer documents have it, the higher.
func (s *statistics) idf(f *frequencies, n uint32) float64 {
	df := 0.0
	if int(n) < len(f.df) {
		df = float64(f.df[n])
	}
	return math.Log1p((float64(s.documents) - df + 0.5) / (df + 0.5))
}
