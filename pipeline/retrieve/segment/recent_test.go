package segment

import (
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// TestRecentTerms reads more tokens than are remembered, short and long, so that they displace each
// other: the term of a token stays the same.
func TestRecentTerms(t *testing.T) {
	b := NewBuilder(analysis.New(analysis.Options{Stop: analysis.LuceneStopWord}))
	for range 3 {
		for i := range 3 * len(words.Recent{}) {
			token := fmt.Sprintf("t%x", i)
			if i%5 == 0 {
				token = fmt.Sprintf("token%0*d", 10+i%10, i)
			}
			for range 2 { // the second time it is remembered
				if got := string(b.name(b.termOf([]byte(token)))); got != token {
					t.Fatalf("the term of %q is %q", token, got)
				}
			}
		}
		if got := b.termOf([]byte("the")); got != stopTerm {
			t.Fatalf("the term of a stop word is %d", got)
		}
	}
}
