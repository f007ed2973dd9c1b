package learned

import "github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"

var analyzer = analysis.New(analysis.Options{Stop: analysis.EnglishStopWord, Stem: true, SplitIdentifiers: true})

// forms keeps the words that say little, such as verbs.
var forms = analysis.New(analysis.Options{Stem: true})

// termSet returns the different terms of a text.
func termSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range analyzer.Terms(text) {
		set[t] = true
	}
	return set
}

// share returns the share of the terms of a that b has, 0 if a has none.
func share(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for t := range a {
		if b[t] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
