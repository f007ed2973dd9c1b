package chunk

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func parsed(t *testing.T, name, text string) *parse.Document {
	t.Helper()
	var doc parse.Document
	if err := parse.Parse(parse.Limits{}.Meter(t.Context(), len(text)), parse.File{Name: name}, []byte(text), parse.Limits{}, func(d parse.Document) error { doc = d; return nil }); err != nil {
		t.Fatal(err)
	}
	return &doc
}

func cut(t *testing.T, d *parse.Document, o Options) []retrieve.Chunk {
	t.Helper()
	chunks, err := Document(t.Context(), parse.Limits{}.Meter(t.Context(), 1000), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

// guide has sections, a table, code and a paragraph that is too large for a chunk.
func guide() string {
	var b strings.Builder
	b.WriteString("# Guide\n\nIntro here.\n\n## Trains\n\n")
	for i := range 30 {
		fmt.Fprintf(&b, "Sentence %d is about trains.\n", i)
	}
	b.WriteString("\n## Table\n\n| city | day |\n|---|---|\n")
	for i := range 20 {
		fmt.Fprintf(&b, "| City%d | %d |\n", i, i)
	}
	b.WriteString("\n```\ncode line\n```\n\n### End\n\nBye.\n")
	return b.String()
}

// TestEveryChunker holds what all ways to cut promise: nothing is lost, chunks are small, and lines
// name the place in the source.
func TestEveryChunker(t *testing.T) {
	text := guide()
	source := strings.Split(text, "\n")
	for _, by := range All() {
		for _, overlap := range []int{0, 8} {
			o := Options{By: by, Size: 40, Overlap: overlap, Embedder: letters{}}
			all := ""
			for _, c := range cut(t, parsed(t, "a.md", text), o) {
				all += c.Text + "\n" + strings.Join(c.Headings, "\n") + "\n"
				if n := len(c.Text) / 4; n > 48+overlap && !strings.Contains(c.Text, "City") && by != ParentChild {
					t.Errorf("%s: a chunk of %d tokens: %q", by, n, c.Text)
				}
				if strings.Contains(c.Text, "City7 ") && c.Parent == 0 && (!strings.Contains(c.Text, "| city | day |") || !strings.Contains(c.Text, "City19")) {
					t.Errorf("%s: the table is cut: %q", by, c.Text)
				}
				first := strings.TrimSpace(strings.SplitN(c.Text, "\n", 2)[0])
				if c.Lines.From < 1 || c.Lines.To > len(source) || c.Lines.From > c.Lines.To {
					t.Fatalf("%s: lines %+v", by, c.Lines)
				}
				if place := strings.Join(source[c.Lines.From-1:c.Lines.To], "\n"); !strings.Contains(place, first) {
					t.Errorf("%s: overlap %d: lines %+v do not have %q", by, overlap, c.Lines, first)
				}
			}
			for _, word := range append(strings.Fields(text), "Guide", "End") {
				if !strings.HasPrefix(word, "#") && !strings.Contains(all, word) {
					t.Errorf("%s: %q is lost", by, word)
				}
			}
		}
	}
}

func TestHeadings(t *testing.T) {
	chunks := cut(t, parsed(t, "a.md", "# A\n\n## B\n\nb\n\n## C\n\nc\n\n# D\n\nd\n"), Options{By: Headings})
	var got []string
	for _, c := range chunks {
		got = append(got, strings.Join(c.Headings, ">")+"="+c.Text)
	}
	if want := []string{"A>B=b", "A>C=c", "D=d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCode(t *testing.T) {
	text := "package a\n\n// F does.\nfunc F() {\n\tx := 1\n\n\ty := 2\n}\n\ntype T struct {\n\ta int\n}\n"
	chunks := cut(t, parsed(t, "a.go", text), Options{Size: 12})
	var got []string
	for _, c := range chunks {
		got = append(got, fmt.Sprintf("%d-%d %s", c.Lines.From, c.Lines.To, strings.Split(c.Text, "\n")[0]))
	}
	if want := []string{"1-1 package a", "3-8 // F does.", "10-12 type T struct {"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	long := "// Big.\nfunc Big() {\n" + strings.Repeat("\tx++\n", 60) + "}\n"
	chunks = cut(t, parsed(t, "a.go", long), Options{Size: 16})
	if len(chunks) < 3 || len(chunks[0].Headings) != 0 || !slices.Equal(chunks[1].Headings, []string{"func Big()"}) {
		t.Errorf("%d chunks, headings %q and %q", len(chunks), chunks[0].Headings, chunks[1].Headings)
	}
}

func TestRowsGetTheHeader(t *testing.T) {
	text := "name,city\n" + strings.Repeat("Ann,Oslo\n", 100)
	chunks := cut(t, parsed(t, "a.csv", text), Options{Size: 32})
	if len(chunks) < 5 {
		t.Fatalf("%d chunks", len(chunks))
	}
	line := 1
	for _, c := range chunks {
		if !strings.HasPrefix(c.Text, "name | city\nAnn") || c.Lines.From != line+1 {
			t.Errorf("lines %+v after line %d: %q", c.Lines, line, c.Text)
		}
		line = c.Lines.To
	}
	if line != 101 {
		t.Errorf("the last line is %d, want 101", line)
	}
}

func TestParents(t *testing.T) {
	chunks := cut(t, parsed(t, "a.md", guide()), Options{By: ParentChild, Size: 24, Parent: 400})
	children := 0
	for _, c := range chunks {
		if c.Parent > 0 {
			children++
			parent := chunks[c.Parent-1]
			if parent.Parent != 0 || !strings.Contains(parent.Text, c.Text) {
				t.Errorf("chunk %q is not in its parent %q", c.Text, parent.Text)
			}
		}
	}
	if children < 5 {
		t.Errorf("%d children", children)
	}
	if err := retrieve.ValidateDocuments([]retrieve.Document{{ID: "a", Chunks: chunks}}, retrieve.Model{}); err != nil {
		t.Error(err)
	}
}

// TestPages has a chunk name the pages on which it begins and ends, whichever way it was cut.
func TestPages(t *testing.T) {
	d := &parse.Document{Title: "a", Blocks: []parse.Block{
		{Text: strings.Repeat("first ", 20), Page: 2}, {Text: strings.Repeat("second ", 10), Page: 3}, {Text: strings.Repeat("third ", 10), Page: 4}, {Text: strings.Repeat("fourth ", 60), Page: 5},
	}}
	page := map[string]int{"first": 2, "second": 3, "third": 4, "fourth": 5}
	for _, by := range []By{Recursive, ParentChild} {
		several := 0
		for _, c := range cut(t, d, Options{By: by, Size: 80, Parent: 100, Overlap: 8}) {
			words := strings.Fields(c.Text)
			from, to := page[words[0]], page[words[len(words)-1]]
			if c.PageEnd > c.Page && c.Parent == 0 {
				several++
			}
			if end := max(c.Page, c.PageEnd); c.Parent == 0 && (c.Page != from || end != to) || from < c.Page || to > end {
				t.Errorf("%s: pages %d to %d of %q, want %d to %d", by, c.Page, c.PageEnd, c.Text, from, to)
			}
		}
		if several == 0 {
			t.Errorf("%s: no chunk has several pages", by)
		}
	}
}

// The text of a chunk is copied together in one piece of memory, and then once more.
func TestChunksCostOneCopy(t *testing.T) {
	d := parsed(t, "a.go", strings.Repeat("// F does.\nfunc F() {\n\tx := aNameThatIsLong(1)\n}\n\n", 20_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cut(t, d, Options{})
	runtime.ReadMemStats(&after)
	if n, size := int(after.TotalAlloc-before.TotalAlloc), len(d.Blocks[0].Text); n > 2*size {
		t.Errorf("%d bytes allocated for a text of %d", n, size)
	}
}

// letters tells texts apart by whether they speak of trains.
type letters struct{}

func (letters) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "letters", Dimension: 2}, nil
}

func (letters) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	var list [][]float32
	for _, s := range texts {
		if strings.Contains(s, "train") {
			list = append(list, []float32{1, 0})
		} else {
			list = append(list, []float32{0, 1})
		}
	}
	return list, nil
}

func TestSemantic(t *testing.T) {
	text := "The train is late. A train is red. Trains and train. Soup is hot. Bread is good. Soup again."
	chunks := cut(t, parsed(t, "a.txt", text), Options{By: Semantic, Embedder: letters{}})
	if len(chunks) != 2 || !strings.HasPrefix(chunks[1].Text, "Soup is hot.") {
		t.Errorf("%+v", chunks)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{By: "x"}, {Size: -1}, {Size: 10, Overlap: 10}, {Size: 100, Parent: 50}, {Cuts: 2}, {By: Semantic}} {
		if _, err := o.Complete(); err == nil {
			t.Errorf("%+v is valid", o)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add("a.md", guide(), uint8(0), uint8(10))
	f.Add("a.go", "func a() {\n\n}\n", uint8(5), uint8(8))
	f.Add("a.csv", "a,b\n1,2\n", uint8(2), uint8(8))
	f.Fuzz(func(t *testing.T, name, text string, by, size uint8) {
		o := Options{By: All()[int(by)%len(All())], Size: 8 + int(size), Overlap: int(size) / 4, Embedder: letters{}}
		m := parse.Limits{}.Meter(t.Context(), len(text))
		_ = parse.Parse(m, parse.File{Name: name}, []byte(text), parse.Limits{}, func(d parse.Document) error {
			chunks, err := Document(t.Context(), m, &d, o)
			if err != nil {
				t.Fatal(err)
			}
			return retrieve.ValidateDocuments([]retrieve.Document{{ID: "a", Chunks: chunks}}, retrieve.Model{})
		})
	})
}

// TestWholeCharacters holds that no chunk ends inside of a character that several runes make.
func TestWholeCharacters(t *testing.T) {
	for _, c := range []string{"👨‍👩‍👧", "🇳🇴", "e\u0301", "👍🏽", "한", "❤️", "कि", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"} {
		text := strings.Repeat(c, 2000/len(c))
		for most := 8; most < 90; most++ {
			pos := 0
			for s := range hardCut(text, 0, most) {
				if s.from != pos || s.to <= s.from {
					t.Fatalf("%q: part %v after %d", c, s, pos)
				}
				if pos = s.to; most >= len(c) && pos%len(c) != 0 {
					t.Fatalf("%q, at most %d: cut at %d", c, most, pos)
				}
			}
			if pos != len(text) {
				t.Fatalf("%q: %d of %d", c, pos, len(text))
			}
		}
	}
	marks := "a" + strings.Repeat("\u0301", 10_000) // no character has so many
	n := 0
	for range hardCut(marks, 0, 100) {
		n++
	}
	if n < 100 || n > 300 {
		t.Errorf("%d parts", n)
	}
}
