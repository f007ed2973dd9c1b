package segment

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// scattered is a view of random documents in several segments, many with no chunk or one, some dead. Its terms are few
// and short, or begin alike, so that scores are often equal.
func scattered(t *testing.T, r *rand.Rand) *View {
	t.Helper()
	var parts []*Part
	prefix := []string{"", "averylongbeginning"}[r.IntN(2)]
	number := int64(1)
	for range 1 + r.IntN(4) {
		b := NewBuilder(analysis.New(analysis.Options{}))
		b.Reset(4, []retrieve.VectorForm{retrieve.VectorsF32, retrieve.VectorsInt8}[r.IntN(2)])
		docs := 1 + r.IntN(60)
		single := r.IntN(2) == 0
		var dead []int64
		for i := range docs {
			d := retrieve.Document{ID: fmt.Sprintf("%03d-%d", r.IntN(1000), number+int64(i)), Path: "p"}
			chunks := r.IntN(4)
			if single {
				chunks = 1
			}
			for c := range chunks {
				text := prefix + fmt.Sprint(r.IntN(300))
				for range r.IntN(6) {
					text += " " + prefix + string(rune('a'+r.IntN(26))) + " " + string(rune('a'+r.IntN(5)))
				}
				one := retrieve.Chunk{Text: text, Vector: []float32{r.Float32(), r.Float32(), -1, float32(r.IntN(2))}}
				if c > 0 && r.IntN(3) == 0 && d.Chunks[0].Parent == 0 {
					one.Parent = 1
				}
				d.Chunks = append(d.Chunks, one)
			}
			add(t, b, &d)
			if r.IntN(8) == 0 {
				dead = append(dead, number+int64(i))
			}
		}
		data, vectors := b.Encode()
		SetNumbers(data, docs, number)
		number += int64(docs)
		s, err := Decode(data, vectors)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, NewPart(s, dead))
	}
	return NewView(parts)
}

// docAt is docOf, one document after another.
func docAt(p *Part, chunk uint32) (doc int) {
	for i, first := range p.first {
		if first <= chunk {
			doc = i
		}
	}
	return doc
}

// everyHit scores all chunks, orders them all, and takes the first k.
func everyHit(v *View, score func(part int) map[uint32]float64, k int) (all []Hit) {
	for i, p := range v.parts {
		scores := score(i)
		for c, parent := range p.parents {
			if s, ok := scores[uint32(c)]; ok && parent > 0 {
				if had, ok := scores[parent-1]; !ok || s > had {
					scores[parent-1] = s
				}
				delete(scores, uint32(c))
			}
		}
		for c, s := range scores {
			if p.dead == nil || !p.isDead(c) {
				all = append(all, Hit{Place{i, c}, s})
			}
		}
	}
	slices.SortFunc(all, func(a, b Hit) int {
		pa, pb := v.parts[a.Part], v.parts[b.Part]
		da, db := docAt(pa, a.Chunk), docAt(pb, b.Chunk)
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(string(pa.id(da)), string(pb.id(db))),
			int(a.Chunk-pa.first[da])-int(b.Chunk-pb.first[db]))
	})
	return all[:min(k, len(all))]
}

// wordScores adds the scores of terms, one term and one posting after another. Terms are looked for one by one.
func wordScores(v *View, terms []string, o BM25) func(part int) map[uint32]float64 {
	tfs := func(p *Part, term string) map[uint32]uint32 {
		found := map[uint32]uint32{}
		for i := range p.terms() {
			if string(p.names.at(i)) != term {
				continue
			}
			c := newCursor(p.posts.at(i), p.Chunks())
			for _, at := range c.read(make([]posting, p.Chunks())) {
				found[at.chunk] = at.tf
			}
		}
		return found
	}
	average := float64(v.length) / float64(v.searched)
	return func(part int) map[uint32]float64 {
		scores := map[uint32]float64{}
		for _, term := range terms {
			n := 0
			for _, p := range v.parts {
				for c := range tfs(p, term) {
					if p.dead == nil || !p.isDead(c) {
						n++
					}
				}
			}
			idf := math.Log1p((float64(v.searched) - float64(n) + 0.5) / (float64(n) + 0.5))
			for c, tf := range tfs(v.parts[part], term) {
				norm := o.K1*(1-o.B) + float64(o.K1*o.B/average*float64(v.parts[part].lengths[c]))
				scores[c] += float64(idf * float64(tf) / (float64(tf) + norm))
			}
		}
		return scores
	}
}

// A search returns what looking at every term and every chunk returns, in the same order and with the same scores.
func TestSearchIsAsExhaustive(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := scattered(t, r)
		if v.searched == 0 || v.length == 0 {
			continue
		}
		var terms []string
		for i := range 150 { // more than are scored together
			term := fmt.Sprint(r.IntN(300))
			if i%3 == 0 {
				term = string(rune('a' + r.IntN(26)))
			}
			if i%2 == 0 {
				term = "averylongbeginning" + term
			}
			if !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		k := 1 + r.IntN(120)
		o := BM25{1.5, float64(r.IntN(2)) * 0.75}
		got, err := v.Words(terms, o, k, nil)
		if want := everyHit(v, wordScores(v, terms, o), k); err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d, words: %v, %v\nwant %v", seed, got, err, want)
		}
		query := []float32{r.Float32(), r.Float32(), r.Float32(), 1}
		got, err = v.Vectors(query, k, nil)
		want := everyHit(v, func(part int) map[uint32]float64 {
			p, scores := v.parts[part], map[uint32]float64{}
			all := make([]float64, p.Chunks())
			p.vectors.score(newTarget(query), all)
			for _, c := range p.vectors.chunks {
				scores[c] = all[c]
			}
			return scores
		}, k)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d, vectors: %v, %v\nwant %v", seed, got, err, want)
		}
	}
}

// A term that more chunks have than are read at once counts in each, also after a merge.
func TestSearchOfLongPostings(t *testing.T) {
	b := NewBuilder(analysis.New(analysis.Options{}))
	var dead []int64
	n := 2*someRead + 50
	for i := range n {
		text := "common" + strings.Repeat(" common", i%3) + strings.Repeat(" other", i%7)
		add(t, b, &retrieve.Document{ID: fmt.Sprintf("%04d", i), Chunks: []retrieve.Chunk{{Text: text}}})
		if i%9 == 0 {
			dead = append(dead, int64(i+1))
		}
	}
	data, vectors := b.Encode()
	SetNumbers(data, n, 1)
	view := func(data, vectors []byte, dead []int64) *View {
		s, err := Decode(data, vectors)
		if err != nil {
			t.Fatal(err)
		}
		return NewView([]*Part{NewPart(s, dead)})
	}
	v, terms, o := view(data, vectors, dead), []string{"common"}, BM25{1.5, 0.75}
	want := everyHit(v, wordScores(v, terms, o), n)
	got, err := v.Words(terms, o, n, nil)
	if err != nil || len(got) != n-len(dead) || !slices.Equal(got, want) {
		t.Errorf("%d hits, want %d with other scores, error %v", len(got), len(want), err)
	}
	data, vectors, err = Merge(v.parts)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := view(data, vectors, nil).Words(terms, o, n, nil)
	if err != nil || !slices.EqualFunc(merged, want, func(a, b Hit) bool { return a.Score == b.Score }) {
		t.Errorf("merged: %d hits, want %d with other scores, error %v", len(merged), len(want), err)
	}
}
