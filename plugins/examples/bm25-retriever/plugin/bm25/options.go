package bm25

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// DefaultK1 and DefaultB are the values of the parameters in Lucene's own
// baselines.
const (
	DefaultK1 = 0.9
	DefaultB  = 0.4
)

// Options are the parameters of an index.
type Options struct {
	// K1 says how fast repetitions of a term lose effect, 0 or more; with 0 only the
	// presence of a term counts.
	K1 float64
	// B says how much the score of long documents is reduced, from 0 (not at all) to 1.
	B float64
	// TitleWeight is how often each term of a title counts; 0 and 1 mean once.
	TitleWeight int
	// Analyzer turns documents and queries into terms; nil means the zero
	// analysis.Options.
	Analyzer *analysis.Analyzer
	// Feedback expands queries. With it the index also keeps the terms of its documents,
	// six bytes for each distinct term of a document.
	Feedback Feedback
}

// Model is a way to select and weight the terms that are added to a query.
type Model string

// The models. With NoFeedback, Search searches only once.
const (
	NoFeedback Model = "none"
	RM3        Model = "rm3" // relevance model: terms frequent in the best documents, by the likelihood of these
	Bo1        Model = "bo1" // Bose-Einstein: terms more frequent there than in the whole collection
)

// Feedback says how Search expands a query with terms of the best documents and searches
// again. The zero value searches once.
type Feedback struct {
	Model Model
	// Docs is the number of best documents to use, 1 or more.
	Docs int
	// Terms is the number of terms to add, 1 or more.
	Terms int
	// Weight is the share of the added terms in the expanded query, from 0 (only the
	// query) to 1 (only the added terms).
	Weight float64
}

// Validate refuses values out of their range.
func (f Feedback) Validate() error {
	switch {
	case !slices.Contains([]Model{"", NoFeedback, RM3, Bo1}, f.Model):
		return fmt.Errorf("model %q: unknown (known: none, rm3, bo1)", f.Model)
	case !f.on():
		return nil
	case f.Docs < 1 || f.Docs > 100:
		return fmt.Errorf("docs %d: not within 1..100", f.Docs)
	case f.Terms < 1 || f.Terms > 1000:
		return fmt.Errorf("terms %d: not within 1..1000", f.Terms)
	case !(f.Weight >= 0 && f.Weight <= 1):
		return fmt.Errorf("weight %v: not within 0..1", f.Weight)
	}
	return nil
}

func (f Feedback) on() bool { return f.Model != "" && f.Model != NoFeedback }
