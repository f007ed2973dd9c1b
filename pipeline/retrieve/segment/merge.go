package segment

import "bytes"

// Part is a segment of which some documents are dead.
type Part struct {
	*Segment
	dead     []uint64 // by chunk, nil if all are alive
	deadDocs []bool   // by document, nil if all are alive
	// searched is the number of chunks that are alive and no parents, and length their
	// total length.
	searched, length int64
	hasParents       bool
}

// NewPart makes a part. dead has the numbers of all dead documents, and those of other
// segments as well.
func NewPart(s *Segment, dead []int64) *Part {
	p := &Part{Segment: s}
	for _, num := range dead {
		if doc, ok := s.find(num); ok {
			p.kill(int(doc))
		}
	}
	isParent := make(map[uint32]bool)
	for _, parent := range s.parents {
		if parent > 0 {
			p.hasParents = true
			isParent[parent-1] = true
		}
	}
	for c, n := range s.lengths {
		if p.dead != nil && p.isDead(uint32(c)) || p.hasParents && isParent[uint32(c)] {
			continue
		}
		p.searched++
		p.length += int64(n)
	}
	return p
}

func (p *Part) kill(doc int) {
	if p.dead == nil {
		p.dead = make([]uint64, (p.Chunks()+63)/64)
		p.deadDocs = make([]bool, p.Documents())
	}
	p.deadDocs[doc] = true
	from, to := p.chunkRange(doc)
	for c := from; c < to; c++ {
		p.dead[c/64] |= 1 << (c % 64)
	}
}

func (p *Part) isDead(chunk uint32) bool { return p.dead[chunk/64]>>(chunk%64)&1 != 0 }

// Dead is the number of dead documents.
func (p *Part) Dead() int {
	n := 0
	for _, dead := range p.deadDocs {
		if dead {
			n++
		}
	}
	return n
}

// Merge makes one segment of what is alive in several, in their order. Their vectors have the
// same form and dimension. It returns the bytes as [Builder.Encode] does. It removes the parts
// from the slice when it needs them no more, so that their memory can be used again.
func Merge(parts []*Part) (data, vectors []byte, err error) {
	c := roomFor(parts)
	moved := make([][]uint32, len(parts)) // by chunk: its new number plus one, 0 if dead
	for i, p := range parts {
		moved[i] = c.copyDocuments(p)
		if err := c.copyVectors(p, moved[i]); err != nil {
			return nil, nil, err
		}
	}
	if err := c.mergeTerms(parts, moved); err != nil {
		return nil, nil, err
	}
	clear(parts)
	data, vectors = c.encode()
	return data, vectors, nil
}

// roomFor returns an empty segment with room for all of the parts, so that it does not grow by
// copying: merges need most of the memory of an ingestion.
func roomFor(parts []*Part) content {
	docs, chunks := 0, 0
	for _, p := range parts {
		docs += p.Documents()
		chunks += p.Chunks()
	}
	room := func(of func(*Part) *arena) arena {
		off, data := 1, 0
		for _, p := range parts {
			off += len(of(p).off)
			data += len(of(p).data)
		}
		return arena{off: append(make([]uint32, 0, off), 0), data: make([]byte, 0, data)}
	}
	return content{
		nums: make([]int64, 0, docs), first: make([]uint32, 0, docs), lengths: make([]uint32, 0, chunks), parents: make([]uint32, 0, chunks), sums: make([]uint32, 0, 2*chunks),
		docs: room(func(p *Part) *arena { return &p.docs }), chunks: room(func(p *Part) *arena { return &p.chunks }),
		names: room(func(p *Part) *arena { return &p.names }), posts: room(func(p *Part) *arena { return &p.posts }),
	}
}

// copyDocuments appends the documents of a part that are alive, with their chunks, and
// returns where the chunks went.
func (c *content) copyDocuments(p *Part) []uint32 {
	moved := make([]uint32, p.Chunks())
	for doc, num := range p.nums {
		if p.deadDocs != nil && p.deadDocs[doc] {
			continue
		}
		base := uint32(len(c.lengths))
		c.nums = append(c.nums, num)
		c.first = append(c.first, base)
		c.docs.add(p.docs.at(doc))
		from, to := p.chunkRange(doc)
		for at := from; at < to; at++ {
			moved[at] = base + at - from + 1
			c.lengths = append(c.lengths, p.lengths[at])
			parent := p.parents[at]
			if parent > 0 {
				parent = base + parent - from
			}
			c.parents = append(c.parents, parent)
			c.sums = append(c.sums, p.sums[2*at], p.sums[2*at+1])
			c.chunks.add(p.chunks.at(int(at)))
		}
	}
	return moved
}

func (c *content) copyVectors(p *Part, moved []uint32) error {
	from := &p.vectors
	if from.len() == 0 {
		return nil
	}
	if c.vectors.dim == 0 {
		c.vectors.dim, c.vectors.int8 = from.dim, from.int8
	}
	if c.vectors.dim != from.dim || c.vectors.int8 != from.int8 {
		return corrupt("vectors of different forms")
	}
	for row, chunk := range from.chunks {
		if to := moved[chunk]; to > 0 {
			c.vectors.copyRow(to-1, from, row)
		}
	}
	return nil
}

// mergeTerms merges the sorted terms of the parts, and their postings.
func (c *content) mergeTerms(parts []*Part, moved [][]uint32) error {
	at := make([]int, len(parts))
	var some [someRead]posting
	var found []posting
	for {
		var least []byte
		for i, p := range parts {
			if at[i] < p.terms() {
				if name := p.names.at(at[i]); least == nil || bytes.Compare(name, least) < 0 {
					least = name
				}
			}
		}
		if least == nil {
			return nil
		}
		found = found[:0]
		for i, p := range parts {
			if at[i] == p.terms() || !bytes.Equal(p.names.at(at[i]), least) {
				continue
			}
			cur := newCursor(p.posts.at(at[i]), p.Chunks())
			for list := cur.read(some[:]); len(list) > 0; list = cur.read(some[:]) {
				for _, one := range list {
					if to := moved[i][one.chunk]; to > 0 {
						found = append(found, posting{to - 1, one.tf})
					}
				}
			}
			if cur.broken {
				return corrupt("postings")
			}
			at[i]++
		}
		if len(found) == 0 {
			continue
		}
		c.names.add(least)
		var w postings
		w.start(c.posts.data, len(found))
		for _, f := range found {
			w.add(f.chunk, f.tf)
		}
		c.posts.data = w.data
		c.posts.end()
	}
}
