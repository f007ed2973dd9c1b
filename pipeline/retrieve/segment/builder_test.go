package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// add adds a document.
func add(t testing.TB, b *Builder, d *retrieve.Document) {
	t.Helper()
	if err := b.Add(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// A document that takes long ends with its context, and the builder can be used again.
func TestAddEnds(t *testing.T) {
	b := NewBuilder(analysis.New(analysis.Options{}))
	b.Reset(0, retrieve.VectorsF32)
	add(t, b, &retrieve.Document{ID: "a", Chunks: []retrieve.Chunk{{Text: "one"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Add(ctx, &retrieve.Document{ID: "b", Chunks: []retrieve.Chunk{{Text: "two"}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	var got [2][]byte
	for i := range got {
		if i == 1 {
			b = NewBuilder(analysis.New(analysis.Options{}))
		}
		b.Reset(0, retrieve.VectorsF32)
		add(t, b, &retrieve.Document{ID: "c", Chunks: []retrieve.Chunk{{Text: "one two"}}})
		got[i], _ = b.Encode()
	}
	if !bytes.Equal(got[0], got[1]) {
		t.Error("a builder that was ended makes another segment than a new one")
	}
}

// A builder makes its next segment in the memory of the one before: only the bytes are new.
func TestNextSegmentIsCheap(t *testing.T) {
	b, d := NewBuilder(analysis.New(analysis.Options{})), retrieve.Document{ID: "a"}
	for i := range 500 {
		d.Chunks = append(d.Chunks, retrieve.Chunk{Text: fmt.Sprintf("word%d other%d common text", i, i%7), Headings: []string{"one"}, Vector: make([]float32, 32)})
	}
	var before, after runtime.MemStats
	size := 0
	for range 2 {
		runtime.ReadMemStats(&before)
		b.Reset(32, retrieve.VectorsF32)
		add(t, b, &d)
		data, vectors := b.Encode()
		size = len(data) + len(vectors)
		runtime.ReadMemStats(&after)
	}
	if n := int(after.TotalAlloc - before.TotalAlloc); n > size*3/2 {
		t.Errorf("%d bytes allocated for a segment of %d", n, size)
	}
}

// FuzzBuilderTerms holds that a text has the same terms in an index as a query with that text:
// a builder looks at whole words, and an analyzer at the text.
func FuzzBuilderTerms(f *testing.F) {
	for _, s := range []string{"ParseFlags parseFlags 's Alice's HTTPServer2 日本語", "don’t x'", "\xff'a\xffB 漢A", strings.Repeat("aB", 300), "e\u0301X"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, split bool) {
		a := analysis.New(analysis.Options{Stop: analysis.LuceneStopWord, Stem: true, SplitIdentifiers: split})
		b := NewBuilder(a)
		b.Reset(0, retrieve.VectorsF32)
		add(t, b, &retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: text}}})
		got := map[string]int{}
		for i, term := range b.runTerms {
			got[string(b.name(term))] = int(b.runTF[i])
		}
		for _, term := range a.Terms(text) {
			got[term]--
		}
		for term, n := range got {
			if n != 0 {
				t.Errorf("term %q counts %d too often", term, n)
			}
		}
		if n := int(b.content.lengths[0]); n != len(a.Terms(text)) {
			t.Errorf("%d terms, want %d: %q", n, len(a.Terms(text)), slices.Collect(strings.SplitSeq(text, " ")))
		}
	})
}

// A word that was not there before takes little more than its bytes: a file may have no other words.
func TestNewWordsAreSmall(t *testing.T) {
	const n, most = 200_000, 64
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	b := NewBuilder(analysis.New(analysis.Options{Stop: analysis.LuceneStopWord, Stem: true}))
	before := heap()
	for i := range n {
		b.termOf(fmt.Appendf(nil, "w%07dx", i))
	}
	if took := heap() - before; took > most*n {
		t.Errorf("%d bytes for each word, want %d at most", took/n, most)
	}
	for i := range n {
		if word := fmt.Appendf(nil, "w%07dx", i); !bytes.Equal(b.name(b.termOf(word)), word) {
			t.Fatalf("the term of %s is %s", word, b.name(b.termOf(word)))
		}
	}
	runtime.KeepAlive(b)
}
