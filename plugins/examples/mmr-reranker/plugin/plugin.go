// Package plugin orders items by maximal marginal relevance: each next item is relevant and
// says something that the earlier ones do not.
//
// Similarity is the cosine of the items' vectors if the host sends them, and otherwise that of word
// vectors weighted by tf-idf over the candidates.
package plugin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/dense"
)

// Settings are the settings of a step.
type Settings struct {
	// Lambda weighs relevance against novelty, 0 (only novelty) to 1 (only
	// relevance). Default 0.7.
	Lambda float64 `json:"lambda"`
	// Candidates is the number of best items to reorder, 1 to 500. The others follow by
	// score. Default 200.
	Candidates int `json:"candidates"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Lambda: 0.7, Candidates: 200} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	if !(s.Lambda >= 0 && s.Lambda <= 1) {
		return fmt.Errorf("lambda %v: not within 0..1", s.Lambda)
	}
	if s.Candidates < 1 || s.Candidates > 500 {
		return fmt.Errorf("candidates %d: not within 1..500", s.Candidates)
	}
	return nil
}

// Rows are the items to order; a batch is one.
type Rows interface {
	dense.Rows
	Text(i int) string
	Score(i int) float64
}

// Order returns all rows in their new order. It selects only the first topK for diversity, or
// all if topK is 0; the rest follow by score. Among equal candidates it selects the earlier
// row.
func Order(rows Rows, topK int, s *Settings) []int {
	byScore := make([]int, rows.Len())
	for i := range byScore {
		byScore[i] = i
	}
	slices.SortStableFunc(byScore, func(a, b int) int { return cmp.Compare(rows.Score(b), rows.Score(a)) })

	n := min(s.Candidates, len(byScore))
	if topK <= 0 || topK > n {
		topK = n
	}
	m := newSelection(rows, byScore[:n], s.Lambda)
	order := make([]int, 0, len(byScore))
	for range topK {
		order = append(order, byScore[m.next()])
	}
	for i, row := range byScore {
		if i >= n || !m.chosen[i] {
			order = append(order, row)
		}
	}
	return order
}

// selection is the state of selecting one candidate after another. Candidates are numbered
// from the best score down.
type selection struct {
	lambda  float64
	scores  []float64
	dense   [][]float32 // per candidate: its vector of length 1; nil if one has none
	vectors []vector    // per candidate: its words, if there is no dense vector
	nearest []float64   // per candidate: its similarity to the nearest chosen one
	chosen  []bool
	weights []float64 // per word: its weight in the candidate chosen last
}

func newSelection(rows Rows, candidates []int, lambda float64) *selection {
	m := &selection{
		lambda:  lambda,
		scores:  make([]float64, len(candidates)),
		dense:   dense.Unit(rows, candidates),
		nearest: make([]float64, len(candidates)),
		chosen:  make([]bool, len(candidates)),
	}
	for i, row := range candidates {
		m.scores[i] = rows.Score(row)
	}
	if m.dense != nil {
		return m
	}
	texts := make([]string, len(candidates))
	for i, row := range candidates {
		texts[i] = rows.Text(row)
	}
	var words int
	m.vectors, words = vectorize(texts)
	m.weights = make([]float64, words)
	return m
}

// next selects the candidate with the best marginal relevance.
func (m *selection) next() int {
	best, bestValue := -1, 0.0
	for i, score := range m.scores {
		if m.chosen[i] {
			continue
		}
		value := m.lambda*score - (1-m.lambda)*m.nearest[i]
		if best < 0 || value > bestValue {
			best, bestValue = i, value
		}
	}
	m.chosen[best] = true
	m.approach(best)
	return best
}

// approach updates the similarity of the remaining candidates to their nearest selected one.
func (m *selection) approach(chosen int) {
	if m.dense != nil {
		for i, v := range m.dense {
			if !m.chosen[i] {
				m.nearest[i] = max(m.nearest[i], dense.Dot(v, m.dense[chosen]))
			}
		}
		return
	}
	for _, e := range m.vectors[chosen] {
		m.weights[e.word] = e.weight
	}
	for i, v := range m.vectors {
		if m.chosen[i] {
			continue
		}
		dot := 0.0
		for _, e := range v {
			dot += e.weight * m.weights[e.word]
		}
		m.nearest[i] = max(m.nearest[i], dot)
	}
	for _, e := range m.vectors[chosen] {
		m.weights[e.word] = 0
	}
}
