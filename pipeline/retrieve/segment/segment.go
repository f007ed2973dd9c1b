package segment

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Segment is an immutable piece of an index. It is safe for concurrent use.
type Segment struct {
	content
	size int64
	// heads are the heads of every headStep-th term, so that a search for a term reads few terms, which lie
	// far apart in memory.
	heads []uint64

	once sync.Once
	doc  map[int64]uint32 // number → document
}

// OtherVersion says of a segment that it does not begin with [Magic].
const OtherVersion = "it was written by another version of the program, or is damaged"

// Decode reads a segment. It keeps the bytes.
func Decode(data, vectors []byte) (*Segment, error) {
	s := &Segment{size: int64(len(data) + len(vectors))}
	if !bytes.HasPrefix(data, []byte(Magic)) {
		return nil, corrupt(OtherVersion)
	}
	r := reader{data: data[len(Magic):]}
	docs, chunks, terms := r.uint32(), r.uint32(), r.uint32()
	for _, n := range []uint32{docs, chunks, terms} {
		if uint64(n) > uint64(len(data)) {
			return nil, corrupt("sizes")
		}
	}
	if b := r.take(uint64(docs) * 8); b != nil {
		s.nums = make([]int64, docs)
		for i := range s.nums {
			s.nums[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	s.first = r.uint32s(int(docs))
	s.docs = r.arena(int(docs))
	s.lengths = r.uint32s(int(chunks))
	s.parents = r.uint32s(int(chunks))
	s.sums = r.uint32s(2 * int(chunks))
	s.chunks = r.arena(int(chunks))
	s.names = r.arena(int(terms))
	s.posts = r.arena(int(terms))
	if r.bad || len(r.data) != 0 {
		return nil, corrupt("the parts do not fit the size")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(vectors) > 0 {
		var err error
		if s.vectors, err = readVectors(vectors, int(chunks)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// check checks what searches rely on, but for the postings, which they check themselves.
func (s *Segment) check() error {
	for i, at := range s.first {
		if i == 0 && at != 0 || i > 0 && at < s.first[i-1] || uint64(at) > uint64(len(s.lengths)) {
			return corrupt("chunks of the documents")
		}
	}
	if len(s.first) == 0 && len(s.lengths) > 0 {
		return corrupt("chunks without a document")
	}
	for doc := range s.first {
		from, to := s.chunkRange(doc)
		for c := from; c < to; c++ {
			if p := s.parents[c]; p != 0 && (p <= from || p > to || p == c+1 || s.parents[p-1] != 0) {
				return corrupt("parents of the chunks")
			}
		}
	}
	s.heads = make([]uint64, 0, s.terms()/headStep+1)
	for i := range s.terms() {
		if i > 0 && bytes.Compare(s.names.at(i-1), s.names.at(i)) >= 0 {
			return corrupt("order of the terms")
		}
		if i%headStep == 0 {
			s.heads = append(s.heads, head(s.names.at(i)))
		}
	}
	return nil
}

// Documents and Chunks are numbers of what the segment has, dead or alive.
func (s *Segment) Documents() int { return len(s.nums) }

// Chunks is the number of chunks; see Documents.
func (s *Segment) Chunks() int { return len(s.lengths) }

// Vectors is the number of vectors; see Documents.
func (s *Segment) Vectors() int { return s.vectors.len() }

// Bytes is about what the segment takes in memory.
func (s *Segment) Bytes() int64 { return s.size + int64(len(s.doc))*40 }

// Numbers returns the numbers of the documents. Do not change them.
func (s *Segment) Numbers() []int64 { return s.nums }

func (s *Segment) terms() int { return len(s.names.off) - 1 }

// chunkRange returns the chunks of a document.
func (s *Segment) chunkRange(doc int) (from, to uint32) {
	if doc+1 < len(s.first) {
		return s.first[doc], s.first[doc+1]
	}
	return s.first[doc], uint32(len(s.lengths))
}

// docOf returns the document of a chunk.
func (s *Segment) docOf(chunk uint32) int {
	// Notes and turns are documents of one chunk.
	if i := int(chunk); i < len(s.first) && s.first[i] == chunk && (i+1 == len(s.first) || s.first[i+1] > chunk) {
		return i
	}
	return sort.Search(len(s.first), func(i int) bool { return s.first[i] > chunk }) - 1
}

// id returns the ID of a document.
func (s *Segment) id(doc int) []byte {
	data := s.docs.at(doc)
	if len(data) > 0 && data[0] < 0x80 && int(data[0]) < len(data) { // nearly always
		return data[1:][:data[0]]
	}
	r := reader{data: data}
	return r.take(r.uvarint())
}

// find returns the document with a number.
func (s *Segment) find(num int64) (doc uint32, ok bool) {
	s.once.Do(func() {
		s.doc = make(map[int64]uint32, len(s.nums))
		for i, n := range s.nums {
			s.doc[n] = uint32(i)
		}
	})
	doc, ok = s.doc[num]
	return doc, ok
}

// Lookup returns the vectors of a document by chunk, nil for a chunk without one. ok is false
// if the segment does not have the document.
func (s *Segment) Lookup(num int64) (vectors [][]float32, ok bool) {
	doc, ok := s.find(num)
	if !ok {
		return nil, false
	}
	from, to := s.chunkRange(int(doc))
	vectors = make([][]float32, to-from)
	for c := from; c < to; c++ {
		vectors[c-from] = s.vector(c)
	}
	return vectors, true
}

// Document returns the document with a number without texts, hash of the file and vectors. ok
// is false if the segment does not have it.
func (s *Segment) Document(num int64) (d retrieve.Document, ok bool, err error) {
	at, ok := s.find(num)
	if !ok {
		return d, false, nil
	}
	if d, err = readDocument(s.docs.at(int(at))); err != nil {
		return d, true, err
	}
	from, to := s.chunkRange(int(at))
	d.Chunks = make([]retrieve.Chunk, to-from)
	for c := from; c < to; c++ {
		chunk, err := readChunk(s.chunks.at(int(c)))
		if err != nil {
			return d, true, err
		}
		if p := s.parents[c]; p > 0 {
			chunk.Parent = int(p - from)
		}
		chunk.Vector = s.vector(c)
		d.Chunks[c-from] = chunk
	}
	return d, true, nil
}

// vector returns the vector of a chunk, or nil.
func (s *Segment) vector(chunk uint32) []float32 {
	v := &s.vectors
	row := sort.Search(len(v.chunks), func(i int) bool { return v.chunks[i] >= chunk })
	if row == len(v.chunks) || v.chunks[row] != chunk {
		return nil
	}
	return v.at(row)
}

const headStep = 16

// head returns the first bytes of a term as a number. A term that comes before another one has no greater head.
func head[T string | []byte](term T) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

// posting returns the bytes of the postings of a term, nil if there are none.
func (s *Segment) posting(term string) []byte {
	of := head(term)
	at, _ := slices.BinarySearch(s.heads, of)
	from := headStep * max(0, at-1) // behind a term with a lesser head
	at += sort.Search(len(s.heads)-at, func(i int) bool { return s.heads[at+i] > of })
	to := min(s.terms(), headStep*at)
	i := from + sort.Search(to-from, func(i int) bool { return string(s.names.at(from+i)) >= term })
	if i == s.terms() || string(s.names.at(i)) != term {
		return nil
	}
	return s.posts.at(i)
}

// cursor reads postings. It checks them as it goes: chunks ascend and are below limit.
type cursor struct {
	data        []byte
	left        int
	next, limit uint64
	broken      bool
}

// posting is a chunk that has a term, and how often.
type posting struct{ chunk, tf uint32 }

// someRead is how many postings are read at once, so that reading and scoring are short loops each.
const someRead = 256

func newCursor(data []byte, chunks int) cursor {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(chunks) {
		return cursor{broken: true}
	}
	return cursor{data: data[size:], left: int(n), limit: uint64(chunks)}
}

// read returns the next postings, in the memory of to. At the end it returns none; broken is then set if the postings
// are not what was written.
func (c *cursor) read(to []posting) []posting {
	data, next := c.data, c.next
	to = to[:min(c.left, len(to))]
	for i := range to {
		v, tf := uint64(0), uint64(1)
		if len(data) > 0 && data[0] < 0x80 {
			v, data = uint64(data[0]), data[1:]
		} else if v, data = long(data); data == nil {
			return c.fail()
		}
		if v&1 == 0 {
			if len(data) > 0 && data[0] < 0x80 {
				tf, data = uint64(data[0]), data[1:]
			} else if tf, data = long(data); data == nil {
				return c.fail()
			}
		}
		at := next + v>>1
		if at >= c.limit || tf-1 >= maxTF {
			return c.fail()
		}
		to[i] = posting{uint32(at), uint32(tf)}
		next = at + 1
	}
	c.data, c.next, c.left = data, next, c.left-len(to)
	c.broken = c.broken || c.left == 0 && len(data) != 0
	return to
}

// long reads a number of several bytes. The rest is nil if there is none.
func long(data []byte) (v uint64, rest []byte) {
	v, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil
	}
	return v, data[n:]
}

func (c *cursor) fail() []posting {
	*c = cursor{broken: true}
	return nil
}
