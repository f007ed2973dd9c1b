package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// built is the segment of some documents that have everything a segment can have.
func built(t testing.TB, form retrieve.VectorForm) (data, vectors []byte) {
	b := NewBuilder(analysis.New(analysis.Options{}))
	b.Reset(3, form)
	add(t, b, &retrieve.Document{ID: "a", Path: "p", Title: "title", Hash: "h", Meta: map[string]string{"k": "v"}, Chunks: []retrieve.Chunk{
		{Text: "parent"}, {Text: "one two two", Parent: 1, Vector: []float32{1, 0, 0}, Headings: []string{"H"}, Page: 2},
	}})
	add(t, b, &retrieve.Document{ID: "empty"})
	add(t, b, &retrieve.Document{ID: "b", Chunks: []retrieve.Chunk{{Text: "two three", Vector: []float32{0, 1, 1}}, {Text: "none"}}})
	data, vectors = b.Encode()
	SetNumbers(data, 3, 7)
	return data, vectors
}

// merged searches by words and vectors.
func merged(v *View, dimension int) error {
	share := 0.5
	q, err := retrieve.Query{By: retrieve.ByHybrid, Text: "one two", Vector: make([]float32, dimension), Neighbours: &share}.Complete()
	if err != nil {
		return err
	}
	_, err = v.Search(context.Background(), &q, analysis.New(analysis.Options{}))
	return err
}

// use calls all that reads a segment. It returns the first error.
func use(data, vectors []byte) error {
	s, err := Decode(data, vectors)
	if err != nil {
		return err
	}
	dead := []int64{8, 9}
	for _, dead := range [][]int64{nil, dead} {
		part := NewPart(s, dead)
		v := NewView([]*Part{part})
		filter := NewFilter([]retrieve.Condition{{Field: "k", Op: retrieve.OpNotEqual, Values: []string{"w"}}, {Field: "page", Op: retrieve.OpNotEqual, Values: []string{"w"}}})
		for _, f := range []*Filter{nil, filter} {
			hits, err := v.Words([]string{"one", "two", "two", "title", "parent"}, BM25{0.9, 0.4}, 3, f)
			if err != nil {
				return err
			}
			for _, h := range hits {
				if _, err := v.Found(h.Place); err != nil {
					return err
				}
			}
			if n := v.Dimension(); n > 0 {
				if _, err := v.Vectors(make([]float32, n), 3, f); err != nil {
					return err
				}
				if err := merged(v, n); err != nil {
					return err
				}
			}
		}
		if _, _, err := Merge([]*Part{part, part}); err != nil {
			return err
		}
		for _, num := range s.Numbers() {
			if _, _, err := s.Document(num); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestEveryCutAndEveryByte(t *testing.T) {
	for _, form := range []retrieve.VectorForm{retrieve.VectorsF32, retrieve.VectorsInt8} {
		data, vectors := built(t, form)
		if err := use(data, vectors); err != nil {
			t.Fatal(err)
		}
		for n := range data {
			if err := use(data[:n], vectors); !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut at %d: %v", n, err)
			}
			for _, flip := range []byte{0xff, 0x01, 0x80} {
				bad := bytes.Clone(data)
				bad[n] ^= flip
				_ = use(bad, vectors) // it must not panic; not every bit can be checked
			}
		}
		for n := 1; n < len(vectors); n++ {
			if err := use(data, vectors[:n]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("vectors cut at %d: %v", n, err)
			}
			bad := bytes.Clone(vectors)
			bad[n] ^= 0xff
			_ = use(data, bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, form := range []retrieve.VectorForm{retrieve.VectorsF32, retrieve.VectorsInt8} {
		data, vectors := built(f, form)
		f.Add(data, vectors)
		f.Add(data, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, data, vectors []byte) {
		if err := use(data, vectors); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	})
}

// TestInt8 compares the products of four numbers at a time with those of one.
func TestInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{1, 3, 7, 8, 9, 64, 256, 384} {
		v := vectors{dim: dim, int8: true}
		exact := vectors{dim: dim}
		for i := range 50 {
			x := make([]float32, dim)
			for j := range x {
				switch i {
				case 0:
					x[j] = 1
				case 1:
					x[j] = -1
				default:
					x[j] = float32(r.NormFloat64())
				}
			}
			v.add(uint32(i), x)
			exact.add(uint32(i), x)
		}
		for row := range 50 {
			target := newTarget(exact.at(row))
			have, want := make([]float64, 50), make([]float64, 50)
			v.score(target, have)
			exact.score(target, want)
			for i := range have {
				byHand := 0.0
				for j, a := range v.at(i) {
					byHand += float64(a) * float64(v.at(row)[j])
				}
				if math.Abs(have[i]-byHand) > 1e-4 || math.Abs(have[i]-want[i]) > 0.03 {
					t.Fatalf("%d dimensions, %d and %d: have %v, by hand %v, exact %v", dim, row, i, have[i], byHand, want[i])
				}
			}
		}
	}
}

// TestMergeIsTheSame merges segments in any grouping, and compares with one that was built at
// once.
func TestMergeIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	b := NewBuilder(analysis.New(analysis.Options{}))
	docs := make([]retrieve.Document, 30)
	for i := range docs {
		docs[i].ID = fmt.Sprint(i)
		for range r.IntN(4) {
			c := retrieve.Chunk{Text: fmt.Sprint("w", r.IntN(5), " w", r.IntN(50)), Vector: []float32{r.Float32(), 1}}
			docs[i].Chunks = append(docs[i].Chunks, c)
		}
	}
	encode := func(from, to int) *Part {
		b.Reset(2, retrieve.VectorsF32)
		for i := from; i < to; i++ {
			add(t, b, &docs[i])
		}
		data, vectors := b.Encode()
		SetNumbers(data, to-from, int64(from))
		s, err := Decode(data, vectors)
		if err != nil {
			t.Fatal(err)
		}
		return NewPart(s, nil)
	}
	wantData, wantVectors, err := Merge([]*Part{encode(0, 30)})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		cuts := []int{0, r.IntN(31), r.IntN(31), 30}
		slices.Sort(cuts)
		var parts []*Part
		for i := 1; i < len(cuts); i++ {
			parts = append(parts, encode(cuts[i-1], cuts[i]))
		}
		data, vectors, err := Merge(parts)
		if err != nil || !bytes.Equal(data, wantData) || !bytes.Equal(vectors, wantVectors) {
			t.Fatalf("cuts %v: another segment, %v", cuts, err)
		}
	}
}

// crowd is a view of chunks whose vectors are about as like each other as chance makes them.
func crowd(t *testing.T, n, dim int) *View {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(analysis.New(analysis.Options{}))
	b.Reset(dim, retrieve.VectorsF32)
	for i := range n {
		x := make([]float32, dim)
		for k := range x {
			x[k] = float32(r.NormFloat64())
		}
		add(t, b, &retrieve.Document{ID: fmt.Sprintf("%05d", i), Chunks: []retrieve.Chunk{{Text: "w", Vector: x}}})
	}
	s, err := Decode(b.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return NewView([]*Part{NewPart(s, nil)})
}

// A search with the greatest depth compares a bounded number of hits with each other, and ends with
// its context.
func TestNeighboursAreBounded(t *testing.T) {
	v, share := crowd(t, 5000, 8), 0.5
	q, err := retrieve.Query{By: retrieve.ByHybrid, Text: "w", Vector: []float32{1, 0, 0, 0, 0, 0, 0, 0}, Neighbours: &share, Depth: retrieve.MaxK, KeepCopies: true}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	a := analysis.New(analysis.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	hits, err := v.Search(t.Context(), &q, a)
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || len(hits) != q.K || used > 32 {
		t.Errorf("%d hits with %d MiB, error %v", len(hits), used, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := v.Search(ended, &q, a); !errors.Is(err, context.Canceled) {
		t.Errorf("a search whose context has ended: %v", err)
	}
}

// The likest hits are kept in order, whatever the order in which they come.
func TestNearest(t *testing.T) {
	all := make([]likeness, 40)
	for i := range all {
		all[i] = likeness{i, float64(i % 7)}
	}
	want := slices.Clone(all)
	slices.SortFunc(want, func(a, b likeness) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, n := range []int{0, 3, neighbours, 40} {
		var x nearest
		kept := slices.DeleteFunc(slices.Clone(all), func(l likeness) bool { return l.to >= n })
		for _, l := range kept {
			x.add(l)
		}
		expect := slices.DeleteFunc(slices.Clone(want), func(l likeness) bool { return l.to >= n })
		if expect = expect[:min(n, neighbours)]; !slices.Equal(x.list[:x.n], expect) {
			t.Errorf("of %d: %v, want %v", n, x.list[:x.n], expect)
		}
	}
}

// Postings of any distance and number of times are read as they were written, however many at once, and none that are
// cut, longer, or of chunks that are not there.
func TestPostingsAreReadAsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	all := func(data []byte, chunks, once int) (list []posting, broken bool) {
		c, some := newCursor(data, chunks), make([]posting, once)
		for next := c.read(some); len(next) > 0; next = c.read(some) {
			list = append(list, next...)
		}
		return list, c.broken
	}
	for range 50 {
		want := make([]posting, 1+r.IntN(3*someRead))
		var w postings
		w.start(nil, len(want))
		for i := range want {
			want[i] = posting{w.next + uint32(1)<<r.IntN(18) - 1, uint32(1) << r.IntN(17)}
			want[i].tf = min(want[i].tf, maxTF)
			w.add(want[i].chunk, want[i].tf)
		}
		chunks := int(w.next)
		for _, once := range []int{1, 7, someRead} {
			if list, broken := all(w.data, chunks, once); broken || !slices.Equal(list, want) {
				t.Fatalf("%d at once: not what was written, broken %v", once, broken)
			}
		}
		for _, data := range [][]byte{w.data[:r.IntN(len(w.data))], append(w.data, 0), binary.AppendUvarint(nil, 1<<40)} {
			if _, broken := all(data, chunks, someRead); !broken {
				t.Fatal("other bytes are read")
			}
		}
		if _, broken := all(w.data, chunks-1, someRead); !broken {
			t.Fatal("a chunk that is not there is read")
		}
	}
}
