package segment

import (
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

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
		b.Add(&retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: text}}})
		got := map[string]int{}
		for i, term := range b.runTerms {
			got[b.names[term]] = int(b.runTF[i])
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
