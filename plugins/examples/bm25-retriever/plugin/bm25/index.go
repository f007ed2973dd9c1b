package bm25

import (
	"math"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// maxTF bounds a term frequency to 16 bits. Higher frequencies hardly change the score.
const maxTF = math.MaxUint16

// stopTerm marks a surface form that is a stop word.
const stopTerm = math.MaxUint32

// Index answers queries. It is immutable and safe for concurrent use.
type Index struct {
	opts  Options
	terms map[string]uint32
	start []uint32 // per term: where its postings begin
	docs  []uint32 // postings: documents, ascending per term …
	tfs   []uint16 // … and term frequencies
	norm  []float32

	// With feedback, the same by document:
	docStart []uint32 // per document: where its run of terms begins
	docTerms []uint32
	docTF    []uint16
	docLen   []uint32
}

// Builder collects documents. It is for one goroutine.
type Builder struct {
	opts    Options
	scanner *words.Scanner
	surface map[string]uint32 // token → term, so that a token is stemmed once
	terms   map[string]uint32 // stem → term
	df      []uint32          // per term: documents that have it
	lastDoc []uint32          // per term: the last document that has it, plus one
	lastPos []uint32          // per term: its place in the last document's run

	docTerms []uint32 // per document a run of its distinct terms …
	docTF    []uint16 // … and how often each occurs
	docEnd   []uint32 // the ends of the runs
	docLen   []uint32
	total    uint64 // sum of docLen
}

// NewBuilder starts an empty index.
func NewBuilder(o Options) *Builder {
	if o.Analyzer == nil {
		o.Analyzer = analysis.New(analysis.Options{})
	}
	return &Builder{opts: o, scanner: o.Analyzer.Scanner(""), surface: make(map[string]uint32), terms: make(map[string]uint32)}
}

// Add adds a document and returns its number, counted from 0.
func (b *Builder) Add(title, text string) int {
	b.docLen = append(b.docLen, 0)
	b.addField(title, max(b.opts.TitleWeight, 1))
	b.addField(text, 1)
	b.docEnd = append(b.docEnd, uint32(len(b.docTerms)))
	b.total += uint64(b.docLen[len(b.docLen)-1])
	return len(b.docLen) - 1
}

func (b *Builder) addField(text string, weight int) {
	doc := uint32(len(b.docLen))
	b.scanner.Reset(text)
	for b.scanner.Next() {
		term, known := b.surface[string(b.scanner.Word())]
		if !known {
			term = b.learn(string(b.scanner.Word()))
		}
		if term != stopTerm {
			b.count(term, doc, weight)
		}
	}
}

// learn finds the term of a new token.
func (b *Builder) learn(token string) uint32 {
	stem := b.opts.Analyzer.Term(token)
	term, known := b.terms[stem]
	switch {
	case stem == "":
		term = stopTerm
	case !known:
		term = uint32(len(b.df))
		b.terms[stem] = term
		b.df = append(b.df, 0)
		b.lastDoc = append(b.lastDoc, 0)
		b.lastPos = append(b.lastPos, 0)
	}
	b.surface[token] = term
	return term
}

// count counts one occurrence of a term in document doc - 1.
func (b *Builder) count(term, doc uint32, weight int) {
	b.docLen[doc-1] += uint32(weight)
	if b.lastDoc[term] != doc {
		b.lastDoc[term] = doc
		b.lastPos[term] = uint32(len(b.docTerms))
		b.df[term]++
		b.docTerms = append(b.docTerms, term)
		b.docTF = append(b.docTF, 0)
	}
	tf := &b.docTF[b.lastPos[term]]
	*tf = uint16(min(int(*tf)+weight, maxTF))
}

// Build makes the index. The builder must not be used afterwards.
func (b *Builder) Build() *Index {
	x := &Index{
		opts:  b.opts,
		terms: b.terms,
		start: make([]uint32, len(b.df)+1),
		docs:  make([]uint32, len(b.docTerms)),
		tfs:   make([]uint16, len(b.docTerms)),
		norm:  b.norms(),
	}
	if b.opts.Feedback.on() {
		x.docStart = append([]uint32{0}, b.docEnd...)
		x.docTerms, x.docTF, x.docLen = b.docTerms, b.docTF, b.docLen
	}
	for term, n := range b.df {
		x.start[term+1] = x.start[term] + n
	}
	next := b.lastPos // reuse the memory: its contents are no longer needed
	copy(next, x.start)
	from := uint32(0)
	for doc, end := range b.docEnd {
		for i := from; i < end; i++ {
			term := b.docTerms[i]
			x.docs[next[term]] = uint32(doc)
			x.tfs[next[term]] = b.docTF[i]
			next[term]++
		}
		from = end
	}
	return x
}

// norms returns for each document the part of the formula that depends on its length.
func (b *Builder) norms() []float32 {
	average := 1.0
	if b.total > 0 {
		average = float64(b.total) / float64(len(b.docLen))
	}
	norms := make([]float32, len(b.docLen))
	for doc, n := range b.docLen {
		norms[doc] = float32(b.opts.K1 * (1 - b.opts.B + b.opts.B*float64(n)/average))
	}
	return norms
}
