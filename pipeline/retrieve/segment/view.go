package segment

import (
	"bytes"
	"math"
	"slices"
	"sync"
)

// View is a list of parts that are searched as one. It is safe for concurrent use.
type View struct {
	parts  []*Part
	base   []int // by part: the chunks of the parts before it
	chunks int
	// searched is the number of chunks that are alive and searched, length their length.
	searched, length int64
}

// NewView makes a view.
func NewView(parts []*Part) *View {
	v := &View{parts: parts}
	for _, p := range parts {
		v.base = append(v.base, v.chunks)
		v.chunks += p.Chunks()
		v.searched += p.searched
		v.length += p.length
	}
	return v
}

// Parts returns the parts. Do not change them.
func (v *View) Parts() []*Part { return v.parts }

// Place says where a chunk is in a view.
type Place struct {
	Part  int
	Chunk uint32
}

// Hit is a chunk that was found.
type Hit struct {
	Place
	Score float64
}

// BM25 has the parameters of a search by words.
type BM25 struct{ K1, B float64 }

var scorePool = sync.Pool{New: func() any { return new([]float64) }}

// borrow returns the scores of all chunks, each with a value.
func (v *View) borrow(value float64) *[]float64 {
	p := scorePool.Get().(*[]float64)
	if cap(*p) < v.chunks {
		*p = make([]float64, v.chunks)
	}
	*p = (*p)[:v.chunks]
	if value == 0 {
		clear(*p)
		return p
	}
	for i := range *p {
		(*p)[i] = value
	}
	return p
}

// part returns the scores of the chunks of a part.
func (v *View) part(scores []float64, i int) []float64 {
	return scores[v.base[i]:][:v.parts[i].Chunks()]
}

// Words returns at most k chunks that have a term of the query, the best first. A term counts
// as often as it is in terms. A nil filter keeps all chunks.
func (v *View) Words(terms []string, o BM25, k int, f *Filter) ([]Hit, error) {
	p := v.borrow(0)
	defer scorePool.Put(p)
	if err := v.addWords(*p, terms, o); err != nil {
		return nil, err
	}
	return v.best(*p, 0, k, f)
}

// weighed is a term of a query: what it is worth, and its postings by part.
type weighed struct {
	idf   float64
	posts [][]byte
}

// maxWeighed bounds how many terms are scored together.
const maxWeighed = 64

// addWords adds the scores of all terms of a query.
func (v *View) addWords(scores []float64, terms []string, o BM25) error {
	if v.searched == 0 {
		return nil
	}
	var together []weighed
	for i, term := range terms {
		if slices.Index(terms, term) < i {
			continue
		}
		weight := 0.0
		for _, t := range terms {
			if t == term {
				weight++
			}
		}
		t, err := v.weigh(term, weight)
		if err != nil {
			return err
		}
		if t.posts != nil {
			together = append(together, t)
		}
		if len(together) == maxWeighed {
			if err := v.addWeighed(scores, together, o); err != nil {
				return err
			}
			together = together[:0]
		}
	}
	return v.addWeighed(scores, together, o)
}

// weigh finds a term. It has no postings if no chunk that is alive has it.
func (v *View) weigh(term string, weight float64) (w weighed, err error) {
	posts, n := make([][]byte, len(v.parts)), 0
	for i, p := range v.parts {
		if posts[i] = p.posting(term); posts[i] == nil {
			continue
		}
		have, err := p.count(posts[i])
		if err != nil {
			return w, err
		}
		n += have
	}
	if n == 0 {
		return w, nil
	}
	return weighed{weight * math.Log1p((float64(v.searched)-float64(n)+0.5)/(float64(n)+0.5)), posts}, nil
}

// addWeighed adds what terms contribute to the chunks that have them: of all terms to one part, then to the next,
// because the scores and lengths of a part stay in the processor's cache meanwhile, and those of a view do not.
func (v *View) addWeighed(scores []float64, terms []weighed, o BM25) error {
	average := 1.0
	if v.length > 0 {
		average = float64(v.length) / float64(v.searched)
	}
	flat, slope := o.K1*(1-o.B), o.K1*o.B/average
	var some [someRead]posting
	for i, p := range v.parts {
		sum, lengths := v.part(scores, i), p.lengths
		for _, t := range terms {
			if t.posts[i] == nil {
				continue
			}
			c := newCursor(t.posts[i], p.Chunks())
			for list := c.read(some[:]); len(list) > 0; list = c.read(some[:]) {
				for _, at := range list {
					tf := float64(at.tf)
					norm := flat + float64(slope*float64(lengths[at.chunk]))
					sum[at.chunk] += float64(t.idf * tf / (tf + norm))
				}
			}
			if c.broken {
				return corrupt("postings")
			}
		}
	}
	return nil
}

// count returns how many of the postings are alive.
func (p *Part) count(data []byte) (int, error) {
	c := newCursor(data, p.Chunks())
	if p.dead == nil && !c.broken {
		return c.left, nil
	}
	n := 0
	var some [someRead]posting
	for list := c.read(some[:]); len(list) > 0; list = c.read(some[:]) {
		for _, at := range list {
			if !p.isDead(at.chunk) {
				n++
			}
		}
	}
	if c.broken {
		return 0, corrupt("postings")
	}
	return n, nil
}

// Dimension returns that of the vectors, 0 if there are none.
func (v *View) Dimension() int {
	for _, p := range v.parts {
		if p.vectors.len() > 0 {
			return p.vectors.dim
		}
	}
	return 0
}

// Vectors returns the k chunks whose vectors are closest to one of the same dimension, the
// closest first, with their cosine. A nil filter keeps all chunks.
func (v *View) Vectors(query []float32, k int, f *Filter) ([]Hit, error) {
	p := v.borrow(math.Inf(-1))
	defer scorePool.Put(p)
	if err := v.setCosines(*p, query); err != nil {
		return nil, err
	}
	return v.best(*p, math.Inf(-1), k, f)
}

// setCosines sets the scores of all chunks that have a vector.
func (v *View) setCosines(scores []float64, query []float32) error {
	t := newTarget(query)
	for i, part := range v.parts {
		if part.vectors.len() == 0 {
			continue
		}
		if part.vectors.dim != len(query) {
			return corrupt("vectors of another dimension")
		}
		part.vectors.score(t, v.part(scores, i))
	}
	return nil
}

// best selects the k highest scores above a floor, of chunks that are alive and that the
// filter keeps. The score of a chunk counts for its parent.
func (v *View) best(scores []float64, floor float64, k int, f *Filter) ([]Hit, error) {
	if k <= 0 {
		return nil, nil
	}
	h := hits{view: v}
	low := math.Inf(-1) // what a score is at least once there are k hits
	for i, p := range v.parts {
		sum := v.part(scores, i)
		if p.hasParents {
			fold(sum, p.parents, floor)
		}
		if f != nil {
			f.enter(p)
		}
		for c, score := range sum {
			if score < low || !(score > floor) || p.dead != nil && p.isDead(uint32(c)) {
				continue
			}
			hit := Hit{Place{i, uint32(c)}, score}
			if len(h.list) == k && !h.worse(&h.list[0], &hit) {
				continue
			}
			if f != nil {
				keep, err := f.keep(p, uint32(c))
				if err != nil {
					return nil, err
				}
				if !keep {
					continue
				}
			}
			if len(h.list) < k {
				h.push(hit)
			} else {
				h.replace(hit)
			}
			if len(h.list) == k {
				low = h.list[0].Score
			}
		}
	}
	v.sort(h.list)
	return h.list, nil
}

// sort puts the best hit first.
func (v *View) sort(hits []Hit) { slices.SortFunc(hits, v.Compare) }

// fold gives each parent the best score of its chunks.
func fold(scores []float64, parents []uint32, floor float64) {
	for c, parent := range parents {
		if parent > 0 {
			scores[parent-1] = max(scores[parent-1], scores[c])
			scores[c] = floor
		}
	}
}

// Compare orders hits: the higher score, then the ID of the document, then the number of the
// chunk in it.
func (v *View) Compare(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return v.compareIDs(a.Place, b.Place)
}

func (v *View) compareIDs(a, b Place) int {
	pa, pb := v.parts[a.Part], v.parts[b.Part]
	da, db := pa.docOf(a.Chunk), pb.docOf(b.Chunk)
	if c := bytes.Compare(pa.id(da), pb.id(db)); c != 0 {
		return c
	}
	return int(int64(a.Chunk-pa.first[da]) - int64(b.Chunk-pb.first[db]))
}

// hits is a heap with the worst hit on top.
type hits struct {
	view *View
	list []Hit
}

func (h *hits) worse(a, b *Hit) bool {
	return a.Score < b.Score || a.Score == b.Score && h.view.compareIDs(a.Place, b.Place) > 0
}

// push adds a hit.
func (h *hits) push(hit Hit) {
	h.list = append(h.list, hit)
	at := len(h.list) - 1
	for up := (at - 1) / 2; at > 0 && h.worse(&hit, &h.list[up]); up = (at - 1) / 2 {
		h.list[at], at = h.list[up], up
	}
	h.list[at] = hit
}

// replace puts a hit in the place of the worst.
func (h *hits) replace(hit Hit) {
	at := 0
	for down := 1; down < len(h.list); down = 2*at + 1 {
		if down+1 < len(h.list) && h.worse(&h.list[down+1], &h.list[down]) {
			down++
		}
		if !h.worse(&h.list[down], &hit) {
			break
		}
		h.list[at], at = h.list[down], down
	}
	h.list[at] = hit
}

// Found is what a view knows about a hit: the document without its chunks, the chunk without
// its text, its number in the document from 0, and the number of the document.
func (v *View) Found(at Place) (found Found, err error) {
	p := v.parts[at.Part]
	doc := p.docOf(at.Chunk)
	found.Number = p.nums[doc]
	found.Index = int(at.Chunk - p.first[doc])
	if found.Document, err = readDocument(p.docs.at(doc)); err != nil {
		return found, err
	}
	if found.Chunk, err = readChunk(p.chunks.at(int(at.Chunk))); err != nil {
		return found, err
	}
	found.Chunk.Vector = p.vector(at.Chunk)
	return found, nil
}
