package plugin

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/corpus"
)

// Rows are the items to rate; a batch in the SDK's form is one.
type Rows interface {
	Len() int
	Text(i int) string
	MetaString(i int, key string) (value string, ok bool)
}

// Reranker rates items. It reuses memory between calls, so only one goroutine at a time may
// use it. A guest has only one.
type Reranker struct {
	settings *Settings
	v        *vocabulary
	rater    *rater
	counted  statistics // of the collection; not used with the statistics of items
	ofItems  bool

	tokens []uint32 // of all items, one after the other
	spans  []span
	rated  []parts
}

// span is the range of an item in tokens.
type span struct{ from, text, to int }

// New makes a reranker that takes its statistics from the items of each request.
func New(s *Settings) (*Reranker, error) {
	r, err := newReranker(s)
	if err != nil {
		return nil, err
	}
	r.ofItems = true
	r.v.freeze()
	return r, nil
}

// Open reads the files of fsys, which is the folder that the settings name, and
// counts their words.
func Open(fsys fs.FS, s *Settings) (*Reranker, error) {
	r, err := newReranker(s)
	if err != nil {
		return nil, err
	}
	_, err = corpus.Read(fsys, corpus.Options{
		Include:      s.Include,
		Exclude:      s.Exclude,
		ChunkChars:   s.ChunkChars,
		MaxFileBytes: s.MaxFileBytes,
	}, func(d corpus.Document) { r.learn(d.Title, d.Text) })
	if err != nil {
		return nil, fmt.Errorf("count words of %s: %w", s.Path, err)
	}
	r.v.freeze()
	return r, nil
}

func newReranker(s *Settings) (*Reranker, error) {
	stop, err := s.StopWords.Function()
	if err != nil {
		return nil, err
	}
	v := newVocabulary(analysis.New(analysis.Options{Stop: stop, Stem: s.Stem, SplitIdentifiers: s.SplitIdentifiers}))
	r := &Reranker{settings: s, v: v}
	r.rater = &rater{v: v, stats: &r.counted, k1: s.K1, b: s.B}
	return r, nil
}

// learn counts a document of the collection.
func (r *Reranker) learn(title, text string) {
	s := r.tokenize(0, title, text)
	r.counted.add(r.v, r.tokens[s.from:s.to], s.text-s.from)
}

// Documents returns the number of documents in the statistics. If the statistics come from
// the items of requests, it is 0 before the first request.
func (r *Reranker) Documents() int { return r.counted.documents }

// tokenize writes the tokens of a document to tokens, beginning at from.
func (r *Reranker) tokenize(from int, title, text string) span {
	r.tokens = r.v.append(r.tokens[:from], title)
	s := span{from: from, text: len(r.tokens)}
	r.tokens = r.v.append(r.tokens, text)
	s.to = len(r.tokens)
	return s
}

// Rerank replaces scores, one per row, 0 to 1, by
//
//	(1 - weight) * score + weight * rating / highest rating
//
// When no row has a word of the query, scores stay as they are.
func (r *Reranker) Rerank(query string, rows Rows, scores []float64) {
	r.settings.blend(scores, r.rate(query, rows))
}

// rate returns the parts of every row's rating. They are valid until the next call.
func (r *Reranker) rate(query string, rows Rows) []parts {
	r.v.forget()
	r.read(rows)
	r.rater.begin(query)
	r.rated = r.rated[:0]
	for _, s := range r.spans {
		r.rated = append(r.rated, r.rater.rate(r.tokens[s.from:s.to], s.text-s.from))
	}
	return r.rated
}

// blend does the same as Rerank for rows with known ratings.
func (s *Settings) blend(scores []float64, rated []parts) {
	highest := 0.0
	for _, p := range rated {
		highest = max(highest, s.rating(p))
	}
	if !(highest > 0) {
		return
	}
	for i, p := range rated {
		scores[i] = min(max((1-s.Weight)*scores[i]+s.Weight*s.rating(p)/highest, 0), 1)
	}
}

func (s *Settings) rating(p parts) float64 {
	return p.Words + s.Title*p.Title + s.Proximity*p.Proximity + s.Grams*p.Grams
}

// read tokenizes all items. It counts them if there are no statistics of a collection.
func (r *Reranker) read(rows Rows) {
	r.spans, r.tokens = r.spans[:0], r.tokens[:0]
	for i := range rows.Len() {
		title, text := fields(rows, i)
		r.spans = append(r.spans, r.tokenize(len(r.tokens), title, text))
	}
	if !r.ofItems {
		return
	}
	r.counted.reset()
	for _, s := range r.spans {
		r.counted.add(r.v, r.tokens[s.from:s.to], s.text-s.from)
	}
}

// fields returns the title and the text of an item. The title is in the metadata, and the
// text often begins with it.
func fields(rows Rows, i int) (title, text string) {
	text = rows.Text(i)
	title, _ = rows.MetaString(i, "title")
	return title, strings.TrimPrefix(text, title)
}
