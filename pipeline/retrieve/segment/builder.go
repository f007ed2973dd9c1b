package segment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

const (
	// maxTF bounds how often a term counts in a chunk. More hardly changes a score.
	maxTF = math.MaxUint16
	// stopTerm marks a token that is a stop word, newTerm one whose term is not known yet.
	stopTerm = math.MaxUint32
	newTerm  = stopTerm - 1
	// maxWords bounds the words that a builder remembers, some 50 MiB.
	maxWords = 1 << 20
)

// Builder makes segments. It remembers the terms of tokens from one segment to the next. It
// is for one goroutine.
type Builder struct {
	analyzer *analysis.Analyzer
	scanner  *words.Scanner
	recent   *words.Recent
	words    vocabulary // tokens and terms; the number of a term is its own
	term     []uint32   // by word: its term, so that a token is stemmed once
	df       []uint32   // by term: the chunks of this segment that have it
	last     []uint32   // by term: the last chunk that has it, plus one
	place    []uint32   // by term: its place in the run of that chunk
	used     []uint32   // the terms with df > 0

	runTerms []uint32 // for each chunk the run of its terms …
	runTF    []uint16 // … and how often each occurs
	runEnd   []uint32
	chunks   []uint32 // the same, in the order of the terms
	tfs      []uint16

	content content
	summed  []byte // the memory for what is summed
}

// content is a segment that is being made.
type content struct {
	nums    []int64  // by document
	first   []uint32 // by document: its first chunk
	docs    arena
	lengths []uint32 // by chunk
	parents []uint32 // by chunk: its parent, plus one
	sums    []uint32 // by chunk, two numbers: the digest of what it shows
	chunks  arena
	names   arena // terms in ascending order …
	posts   arena // … and their postings
	vectors vectors
}

// NewBuilder starts an empty segment. dim and form are those of the vectors, if there are
// any.
func NewBuilder(a *analysis.Analyzer) *Builder {
	b := &Builder{analyzer: a, scanner: a.Scanner("")}
	b.forget()
	b.Reset(0, retrieve.VectorsF32)
	return b
}

func (b *Builder) forget() {
	b.recent, b.words = new(words.Recent), vocabulary{}
	b.term, b.df, b.last, b.place = nil, nil, nil, nil
}

// Reset starts another segment, with vectors of the given form and dimension.
func (b *Builder) Reset(dim int, form retrieve.VectorForm) {
	for _, term := range b.used {
		b.df[term], b.last[term] = 0, 0
	}
	if b.words.size() > maxWords {
		b.forget()
	}
	b.used, b.runTerms, b.runTF, b.runEnd = b.used[:0], b.runTerms[:0], b.runTF[:0], b.runEnd[:0]
	c := &b.content
	for _, a := range []*arena{&c.docs, &c.chunks, &c.names, &c.posts} {
		a.off, a.data = append(a.off[:0], 0), a.data[:0]
	}
	c.first, c.lengths, c.parents, c.sums = c.first[:0], c.lengths[:0], c.parents[:0], c.sums[:0]
	v := &c.vectors
	v.dim, v.int8 = dim, form == retrieve.VectorsInt8
	v.chunks, v.f32, v.q8, v.scale, v.sums = v.chunks[:0], v.f32[:0], v.q8[:0], v.scale[:0], v.sums[:0]
}

// Add adds a document. Its number is given to [Segment] when it is encoded. A document may take seconds: if ctx
// ends meanwhile, its error is returned, and the builder must be reset.
func (b *Builder) Add(ctx context.Context, d *retrieve.Document) error {
	c := &b.content
	base := len(c.lengths)
	c.first = append(c.first, uint32(base))
	c.docs.data = appendDocument(c.docs.data, d)
	c.docs.end()
	isParent := make(map[int]bool)
	for i := range d.Chunks {
		if p := d.Chunks[i].Parent; p > 0 {
			isParent[p] = true
		}
	}
	for i := range d.Chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.addChunk(d, &d.Chunks[i], base, !isParent[i+1])
	}
	return nil
}

func (b *Builder) addChunk(d *retrieve.Document, chunk *retrieve.Chunk, base int, searched bool) {
	c := &b.content
	at := uint32(len(c.lengths))
	c.lengths = append(c.lengths, 0)
	parent := uint32(0)
	if chunk.Parent > 0 {
		parent = uint32(base + chunk.Parent)
	}
	c.parents = append(c.parents, parent)
	first, second := b.sum(d, chunk)
	c.sums = append(c.sums, first, second)
	c.chunks.data = appendChunk(c.chunks.data, chunk)
	c.chunks.end()
	if searched {
		b.addText(at, d.Title)
		for _, h := range chunk.Headings {
			if h != d.Title {
				b.addText(at, h)
			}
		}
		b.addText(at, chunk.Context)
		b.addText(at, chunk.Text)
		if chunk.Vector != nil {
			c.vectors.add(at, chunk.Vector)
		}
	}
	b.runEnd = append(b.runEnd, uint32(len(b.runTerms)))
}

// sum returns the digest by which copies of a chunk are known: of its text, its context and its headings, but
// for the title of the document, which is often the name of the file. It is one that nobody can forge, so
// that no document can hide a chunk of another.
func (b *Builder) sum(d *retrieve.Document, chunk *retrieve.Chunk) (first, second uint32) {
	b.summed = appendText(appendText(b.summed[:0], chunk.Text), chunk.Context)
	for _, h := range chunk.Headings {
		if h != d.Title {
			b.summed = appendText(b.summed, h)
		}
	}
	digest := sha256.Sum256(b.summed)
	return binary.LittleEndian.Uint32(digest[:]), binary.LittleEndian.Uint32(digest[4:])
}

func (b *Builder) addText(chunk uint32, text string) {
	b.scanner.Reset(text)
	for b.scanner.Next() {
		if term := b.termOf(b.scanner.Word()); term != stopTerm {
			b.count(term, chunk)
		}
	}
}

// termOf returns the term of a token.
func (b *Builder) termOf(token []byte) uint32 {
	recent := b.recent.Find(token)
	if recent != nil && recent.Known {
		return recent.Number
	}
	word := b.word(token)
	term := b.term[word]
	if term == newTerm {
		term = b.learn(word)
		b.term[word] = term
	}
	if recent != nil {
		recent.Number, recent.Known = term, true
	}
	return term
}

// word returns the number of a word.
func (b *Builder) word(word []byte) uint32 {
	number, fresh := b.words.add(word)
	if fresh {
		b.term = append(b.term, newTerm)
		b.df, b.last, b.place = append(b.df, 0), append(b.last, 0), append(b.place, 0)
	}
	return number
}

// learn finds the term of a word.
func (b *Builder) learn(word uint32) uint32 {
	token := string(b.name(word))
	switch stem := b.analyzer.Term(token); stem {
	case "":
		return stopTerm
	case token:
		return word
	default:
		return b.word([]byte(stem))
	}
}

// name returns the text of a term.
func (b *Builder) name(term uint32) []byte { return b.words.words.at(int(term)) }

func (b *Builder) count(term, chunk uint32) {
	b.content.lengths[chunk]++
	if b.last[term] != chunk+1 {
		if b.df[term] == 0 {
			b.used = append(b.used, term)
		}
		b.last[term] = chunk + 1
		b.place[term] = uint32(len(b.runTerms))
		b.df[term]++
		b.runTerms = append(b.runTerms, term)
		b.runTF = append(b.runTF, 0)
	}
	if tf := &b.runTF[b.place[term]]; *tf < maxTF {
		*tf++
	}
}

// Encode ends the segment and returns its bytes, and those of its vectors, nil if there are
// none. Until [SetNumbers] all documents have the number 0.
func (b *Builder) Encode() (data, vectors []byte) {
	c := &b.content
	c.nums = slices.Grow(c.nums[:0], len(c.first))[:len(c.first)]
	clear(c.nums)
	slices.SortFunc(b.used, func(x, y uint32) int { return bytes.Compare(b.name(x), b.name(y)) })
	// Turn the runs of the chunks into postings, which lie in the order of the terms.
	next := b.place
	total := uint32(0)
	for _, term := range b.used {
		next[term] = total
		total += b.df[term]
	}
	b.chunks, b.tfs = slices.Grow(b.chunks[:0], int(total)), slices.Grow(b.tfs[:0], int(total))
	chunks, tfs := b.chunks[:total], b.tfs[:total]
	from := uint32(0)
	for chunk, end := range b.runEnd {
		for i := from; i < end; i++ {
			term := b.runTerms[i]
			chunks[next[term]], tfs[next[term]] = uint32(chunk), b.runTF[i]
			next[term]++
		}
		from = end
	}
	at := uint32(0)
	for _, term := range b.used {
		n := b.df[term]
		c.names.add(b.name(term))
		var w postings
		w.start(c.posts.data, int(n))
		for i := at; i < at+n; i++ {
			w.add(chunks[i], uint32(tfs[i]))
		}
		c.posts.data = w.data
		c.posts.end()
		at += n
	}
	return c.encode()
}

// Magic begins a segment; the number is that of its form.
const Magic = "ahseg2\n\x00"

// encode returns the bytes of a segment.
func (c *content) encode() (data, vectors []byte) {
	data = append(make([]byte, 0, c.bytes()), Magic...)
	data = appendUint32s(data, []uint32{uint32(len(c.nums)), uint32(len(c.lengths)), uint32(max(len(c.names.off), 1) - 1)})
	for _, n := range c.nums {
		data = binary.LittleEndian.AppendUint64(data, uint64(n))
	}
	data = appendUint32s(data, c.first)
	data = c.docs.append(data)
	data = appendUint32s(data, c.lengths)
	data = appendUint32s(data, c.parents)
	data = appendUint32s(data, c.sums)
	data = c.chunks.append(data)
	data = c.names.append(data)
	data = c.posts.append(data)
	if c.vectors.len() > 0 {
		vectors = c.vectors.append(make([]byte, 0, c.vectors.bytes()))
	}
	return data, vectors
}

// bytes is at least what a segment needs without its vectors.
func (c *content) bytes() int {
	n := len(Magic) + 12 + 8*len(c.nums) + 4*(len(c.first)+len(c.lengths)+len(c.parents)+len(c.sums))
	for _, a := range []*arena{&c.docs, &c.chunks, &c.names, &c.posts} {
		n += 4*(len(a.off)+1) + len(a.data)
	}
	return n
}

// numbersAt is where the numbers of the documents begin.
const numbersAt = len(Magic) + 12

// SetNumbers gives the documents of an encoded segment consecutive numbers.
func SetNumbers(data []byte, documents int, first int64) {
	for i := range documents {
		binary.LittleEndian.PutUint64(data[numbersAt+8*i:], uint64(first+int64(i)))
	}
}

// postings writes the postings of a term: how many there are, and for each the distance from
// the last chunk and how often the term occurs, which is mostly once.
type postings struct {
	data []byte
	next uint32 // the least chunk that can follow
}

func (w *postings) start(data []byte, n int) {
	w.data, w.next = binary.AppendUvarint(data, uint64(n)), 0
}

func (w *postings) add(chunk, tf uint32) {
	gap := uint64(chunk-w.next) << 1
	w.next = chunk + 1
	if tf == 1 {
		w.data = binary.AppendUvarint(w.data, gap|1)
		return
	}
	w.data = binary.AppendUvarint(w.data, gap)
	w.data = binary.AppendUvarint(w.data, uint64(tf))
}
