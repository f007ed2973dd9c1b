package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// Scorer computes how much facts matter to a query: the weighted sum of recency, relevance
// to the query, and importance. The zero value works. A Scorer is safe for concurrent use
// and must not be copied once used.
type Scorer struct {
	// Recency, Relevance and Importance are the weights, 0 or more. All 0 means 0.3,
	// 0.5 and 0.2. Weights that sum up to 1 give scores of 0 to 1.
	Recency, Relevance, Importance float64
	// Decay measures the recency. nil means that recency halves every DefaultHalfLife.
	Decay Decay
	// Embedder measures the relevance by the cosine of query and fact. nil measures it
	// by the share of the words of the query that the fact contains, also in another form of an
	// English word. An [EmbeddingCache] can be shared with others; any other embedder gets its
	// own.
	Embedder retrieve.Embedder
	// OnError is called when the embedder fails. The query then goes on as without an embedder.
	// nil: the query fails.
	OnError func(err error)

	vectors lazyCache
}

// Scored is a fact with its score for a query.
type Scored struct {
	Entry Entry
	// Score is the weighted sum, limited to 0 to 1.
	Score float64
}

type scoredEntry struct {
	entry *Entry
	score float64
}

// Validate checks the weights.
func (s *Scorer) Validate() error {
	for _, w := range []float64{s.Recency, s.Relevance, s.Importance} {
		if !(w >= 0 && w <= 1e6) {
			return fmt.Errorf("scorer: weight %v: %w (want 0 or more)", w, pipeline.ErrInvalid)
		}
	}
	return nil
}

func (s *Scorer) weights() (recency, relevance, importance float64) {
	if s.Recency == 0 && s.Relevance == 0 && s.Importance == 0 {
		return 0.3, 0.5, 0.2
	}
	return s.Recency, s.Relevance, s.Importance
}

// rank returns the entries with their scores, the highest first. Of scores that are equal in three
// decimals, as they are shown, the newest comes first: it may correct the others.
func (s *Scorer) rank(ctx context.Context, embedder retrieve.Embedder, q *pipeline.Query, entries []*Entry, now time.Time) ([]scoredEntry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	relevance, err := s.relevance(ctx, embedder, q, entries)
	if err != nil {
		return nil, err
	}
	var decay Decay = halving{}
	if s.Decay != nil {
		decay = s.Decay
	}
	ranked := make([]scoredEntry, len(entries))
	a, b, c := s.weights()
	err = core.Guard(func() error {
		for i, e := range entries {
			ranked[i] = scoredEntry{e, unit(a*unit(decay.Retention(e, now)) + b*relevance[i] + c*e.Relevance)}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("scorer: decay: %w", err)
	}
	slices.SortStableFunc(ranked, func(a, b scoredEntry) int {
		return cmp.Or(cmp.Compare(math.Round(b.score*1000), math.Round(a.score*1000)), newer(a.entry, b.entry), cmp.Compare(b.score, a.score))
	})
	return ranked, nil
}

// relevance returns how relevant each entry is to the query, 0 to 1.
func (s *Scorer) relevance(ctx context.Context, embedder retrieve.Embedder, q *pipeline.Query, entries []*Entry) ([]float64, error) {
	out := make([]float64, len(entries))
	if embedder == nil {
		words := queryWords(q.Text)
		for i, e := range entries {
			out[i] = wordShare(words, e.Content)
		}
		return out, nil
	}
	texts := contentsOf(entries)
	if len(q.Embedding) == 0 {
		texts = append(texts, passage{retrieve.SideQuery, q.Text})
	}
	vectors, err := caching(embedder, &s.vectors).embed(ctx, texts, len(entries))
	if err != nil {
		return nil, fmt.Errorf("scorer: %w", err)
	}
	query := q.Embedding
	if len(query) == 0 {
		query = vectors[len(entries)]
	}
	if len(query) != len(vectors[0]) {
		return nil, fmt.Errorf("scorer: query embedding of %d numbers, facts of %d: %w (embed both with one model)", len(query), len(vectors[0]), pipeline.ErrInvalid)
	}
	for i := range entries {
		out[i] = unit(cosine(query, vectors[i]))
	}
	return out, nil
}

// forms finds words of a query in other forms, such as train for trains, as an index does.
var forms = analysis.New(analysis.Options{Stem: true})

// queryWord is a word of a query in lower case, without the punctuation around it, and the terms
// that it has in an index.
type queryWord struct {
	word  string
	terms []string
}

// queryWords returns the different words of a query.
func queryWords(query string) []queryWord {
	var words []queryWord
	seen := make(map[string]bool)
	for _, w := range strings.Fields(strings.ToLower(query)) {
		w = strings.TrimFunc(w, unicode.IsPunct)
		if w != "" && !seen[w] {
			seen[w] = true
			words = append(words, queryWord{w, forms.Terms(w)})
		}
	}
	return words
}

// wordShare returns the share of the words that content contains.
func wordShare(words []queryWord, content string) float64 {
	if len(words) == 0 {
		return 0
	}
	content = strings.ToLower(content)
	var terms map[string]bool
	n := 0
	for i := range words {
		w := &words[i]
		if strings.Contains(content, w.word) {
			n++
			continue
		}
		if terms == nil {
			terms = make(map[string]bool)
			for _, t := range forms.Terms(content) {
				terms[t] = true
			}
		}
		if len(w.terms) > 0 && !slices.ContainsFunc(w.terms, func(t string) bool { return !terms[t] }) {
			n++
		}
	}
	return float64(n) / float64(len(words))
}
