package plugin

// The parameters of BM25 for titles, which are short, and for grams, and the conditions under
// which a pair of words counts. They were not tuned.
const (
	titleK1, titleB = 1.2, 0.5
	gramK1, gramB   = 1.2, 0.75
	titleGap        = 8 // words between title and text, so that they do not count as close
)

// parts are the parts of a rating; see the package comment.
type parts struct{ Words, Title, Proximity, Grams float64 }

// queryTerm is a term of the query with its counts in one item.
type queryTerm struct {
	term   uint32
	weight float64 // how often the query has it
	idf    float64

	tf, titleTF float64
	near        float64 // sum of idf / distance over its neighbours
}

type queryGram struct {
	gram   uint32
	weight float64 // times idf
	tf     float64
}

// rater rates items for one query after another. It belongs to one goroutine.
type rater struct {
	v     *vocabulary
	stats *statistics
	k1, b float64

	terms    []queryTerm
	grams    []queryGram
	termSlot []uint16 // per term: its place in terms, plus one
	gramSlot []uint16
	tokens   []uint32
}

// maxQueryTerms bounds the number of terms of a query that count.
const maxQueryTerms = 1000

// begin sets the query. Call it after all items of the request are tokenized, because it
// needs the numbers of their tokens.
func (r *rater) begin(query string) {
	for _, t := range r.terms {
		r.termSlot[t.term] = 0
	}
	for _, g := range r.grams {
		r.gramSlot[g.gram] = 0
	}
	r.terms, r.grams = r.terms[:0], r.grams[:0]
	r.tokens = r.v.append(r.tokens[:0], query)
	r.termSlot = grown(r.termSlot, r.v.terms)
	r.gramSlot = grown(r.gramSlot, r.v.grams)
	for _, token := range r.tokens[:min(len(r.tokens), maxQueryTerms)] {
		r.ask(token)
	}
	for i := range r.grams {
		r.grams[i].weight *= r.stats.idf(&r.stats.grams, r.grams[i].gram)
	}
}

// ask adds a token to the query.
func (r *rater) ask(token uint32) {
	term := r.v.entries[token].term
	if term == stopTerm {
		return
	}
	if r.termSlot[term] == 0 {
		r.terms = append(r.terms, queryTerm{term: term, idf: r.stats.idf(&r.stats.terms, term)})
		r.termSlot[term] = uint16(len(r.terms))
	}
	r.terms[r.termSlot[term]-1].weight++
	for _, gram := range r.v.gramsOf(token) {
		if r.gramSlot[gram] == 0 {
			if len(r.grams) == 1<<16-1 {
				return
			}
			r.grams = append(r.grams, queryGram{gram: gram})
			r.gramSlot[gram] = uint16(len(r.grams))
		}
		r.grams[r.gramSlot[gram]-1].weight++
	}
}

// grown returns a slice of at least n elements that begins with s and continues with zeros.
func grown(s []uint16, n int) []uint16 {
	if n <= len(s) {
		return s
	}
	return append(s, make([]uint16, n-len(s))...)
}

// rate rates a document. The first titleTokens of its tokens are its title.
func (r *rater) rate(tokens []uint32, titleTokens int) parts {
	var lengths struct{ terms, title, grams int }
	place, last, lastPlace := 0, -1, 0
	for i, token := range tokens {
		if i == titleTokens {
			place += titleGap
		}
		place++
		e := r.v.entries[token]
		if e.term == stopTerm {
			continue
		}
		lengths.terms++
		if i < titleTokens {
			lengths.title++
		}
		lengths.grams += int(e.to - e.from)
		for _, gram := range r.v.gramIDs[e.from:e.to] {
			if slot := r.gramSlot[gram]; slot > 0 {
				r.grams[slot-1].tf++
			}
		}
		slot := int(r.termSlot[e.term]) - 1
		if slot < 0 {
			continue
		}
		t := &r.terms[slot]
		t.tf++
		if i < titleTokens {
			t.titleTF++
		}
		if last >= 0 && last != slot {
			closeness := 1 / float64(place-lastPlace)
			t.near += r.terms[last].idf * closeness
			r.terms[last].near += t.idf * closeness
		}
		last, lastPlace = slot, place
	}
	return r.sum(lengths.terms, lengths.title, lengths.grams)
}

// sum computes the parts from the counts of rate, and clears the counts.
func (r *rater) sum(terms, title, grams int) (p parts) {
	s := r.stats
	norm := length(r.k1, r.b, terms, s.average(s.termTotal))
	titleNorm := length(titleK1, titleB, title, s.average(s.titleTotal))
	gramNorm := length(gramK1, gramB, grams, s.average(s.gramTotal))
	for i := range r.terms {
		t := &r.terms[i]
		if t.tf > 0 {
			p.Words += t.weight * t.idf * t.tf / (t.tf + norm)
		}
		if t.titleTF > 0 {
			p.Title += t.weight * t.idf * t.titleTF / (t.titleTF + titleNorm)
		}
		if t.near > 0 {
			p.Proximity += min(1, t.idf) * t.near / (t.near + norm)
		}
		t.tf, t.titleTF, t.near = 0, 0, 0
	}
	for i := range r.grams {
		if g := &r.grams[i]; g.tf > 0 {
			p.Grams += g.weight * g.tf / (g.tf + gramNorm) / gramBytes
			g.tf = 0
		}
	}
	return p
}

// length returns the part of BM25 that depends on the length of a text.
func length(k1, b float64, n int, average float64) float64 {
	return k1 * (1 - b + b*float64(n)/average)
}
