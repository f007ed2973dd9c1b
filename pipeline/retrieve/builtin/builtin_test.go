package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func embed(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := retrieve.Embed(t.Context(), Embedder(), retrieve.SideDocument, texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// A question finds what it means in other words.
func TestMeaning(t *testing.T) {
	passages := embed(t,
		"The car needs new tires before the winter.",
		"Employees request vacation from their manager.",
		"The doctor prescribes medicine for an infection.",
		"Der Vertrag endet im Dezember.")
	for query, want := range map[string]int{
		"automobile wheels": 0, "How do I ask for holidays at work?": 1, "physician gives antibiotics to a patient": 2, "Kündigung der Vereinbarung": 3,
	} {
		q := embed(t, query)[0]
		best := slices.MaxFunc([]int{0, 1, 2, 3}, func(a, b int) int {
			if cosine(q, passages[a]) < cosine(q, passages[b]) {
				return -1
			}
			return 1
		})
		if best != want {
			t.Errorf("%s: passage %d", query, best)
		}
	}
}

func TestVectors(t *testing.T) {
	v := embed(t, "Naïve users", "naive USERS", "", "the of and", "\xff\xfe", strings.Repeat("x", 1<<16), "naive users naive users")
	if !slices.Equal(v[0], v[1]) {
		t.Error("words are not folded")
	}
	for i, x := range v {
		length, want := math.Sqrt(cosine(x, x)), 1.0
		if i >= 2 && i <= 4 {
			want = 0
		}
		if math.Abs(length-want) > 1e-5 {
			t.Errorf("vector %d has the length %v, want %v", i, length, want)
		}
	}
	if c := cosine(v[0], v[6]); c < 0.9999 {
		t.Errorf("equal shares of words: cosine %v", c)
	}
}

// What a text gives does not depend on the texts before it, nor on how many words are remembered: not if it is the one
// that has one word too many either.
func TestForgetting(t *testing.T) {
	m := must(open(data))
	text := "What a text gives does not depend on others: no text depends on a text."
	before, err := newEmbedder(m).Embed(t.Context(), retrieve.SideQuery, []string{text})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3 * maxKnown, maxKnown - 2, maxKnown - 1, maxKnown} {
		var many strings.Builder
		for i := range n {
			fmt.Fprintf(&many, "word%dx ", i)
		}
		after, err := newEmbedder(m).Embed(t.Context(), retrieve.SideQuery, []string{many.String(), text})
		if err != nil || !slices.Equal(before[0], after[1]) {
			t.Errorf("%d words before: error %v, vectors differ", n, err)
		} else if norm := cosine(after[0], after[0]); math.Abs(norm-1) > 1e-5 {
			t.Errorf("%d words: length² %v", n, norm)
		}
	}
}

// What was learned outlives the garbage collections of a large ingestion.
func TestLearningIsKept(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "word%d ", i)
	}
	e := newEmbedder(must(open(data)))
	var before, after runtime.MemStats
	for range 2 {
		runtime.GC()
		runtime.GC() // a sync.Pool is empty after two
		runtime.ReadMemStats(&before)
		if _, err := e.Embed(t.Context(), retrieve.SideDocument, []string{text.String()}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("%d bytes allocated for words that were met before", n)
	}
	if w := e.take(); w.scanner.Text != "" {
		t.Errorf("a text of %d bytes is kept", len(w.scanner.Text))
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Embedder().Embed(ctx, retrieve.SideDocument, []string{"a text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	embed(t, "a text") // nothing of it is left
}

func must(t *table, err error) *table {
	if err != nil {
		panic(err)
	}
	return t
}

// Each token of the table is found, and is its own only piece.
func TestTable(t *testing.T) {
	m := must(open(data))
	if m.dimension != 128 || len(data) > 4<<20 {
		t.Errorf("%d dimensions, %d bytes", m.dimension, len(data))
	}
	for token := range m.tokens {
		if found := m.find([]byte(m.text(token))); found != token {
			t.Fatalf("token %d %q: found %d", token, m.text(token), found)
		}
	}
	var pieces []string
	m.each([]byte("prescribing"), func(token int) { pieces = append(pieces, m.text(token)) })
	if strings.Join(pieces, "") != " prescribing" || len(pieces) > 4 {
		t.Errorf("pieces %q", pieces)
	}
}

func TestDamagedTable(t *testing.T) {
	small, err := Make(Vectors{Dimension: 2, Texts: []string{" ", "a", " a"}, Vectors: []float32{1, 0, 0, 1, -1, 1}}, [8]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	for n := range small {
		if _, err := open(string(small[:n])); err == nil {
			t.Errorf("a table of %d bytes is taken", n)
		}
	}
	if _, err := Make(Vectors{Dimension: 2, Texts: []string{"a"}, Vectors: []float32{1}}, [8]byte{}); err == nil {
		t.Error("a missing number is taken")
	}
}

// Whatever a table has, no text makes the embedder fail or hang.
func FuzzTable(f *testing.F) {
	small, err := Make(Vectors{Dimension: 2, Texts: []string{" ", "a", " a", "b", "ab"}, Vectors: []float32{1, 0, 0, 1, -1, 1, 2, 2, 3, 3}}, [8]byte{1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(small), "abba b'a ä")
	f.Fuzz(func(t *testing.T, table, text string) {
		m, err := open(table)
		if err != nil {
			return
		}
		e := newEmbedder(m)
		if _, err := e.Embed(t.Context(), retrieve.SideQuery, []string{text, text}); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkEmbed asks how many bytes of text a second get vectors.
func BenchmarkEmbed(b *testing.B) {
	text := strings.Repeat("Retrieves the documents, by words and by meaning, that match a question best; each of them is a chunk of a file. ", 9)
	texts := slices.Repeat([]string{text}, 32)
	b.SetBytes(int64(len(text) * len(texts)))
	for b.Loop() {
		if _, err := Embedder().Embed(b.Context(), retrieve.SideDocument, texts); err != nil {
			b.Fatal(err)
		}
	}
}
