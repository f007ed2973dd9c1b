// Package plugin rates items by the cosine of their vector and that of the query.
package plugin

import (
	"errors"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/dense"
)

// Settings are the settings of a step.
type Settings struct {
	// Weight is the share of the cosine in the new score, 0 to 1; the score before has the rest.
	// Default 0.3.
	Weight float64 `json:"weight"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Weight: 0.3} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	if !(s.Weight >= 0 && s.Weight <= 1) {
		return fmt.Errorf("weight %v: not within 0..1", s.Weight)
	}
	return nil
}

// Rows are the items to rate; a batch is one.
type Rows interface {
	dense.Rows
	Score(i int) float64
}

// ErrNoVectors means that the host has sent no vectors.
var ErrNoVectors = errors.New("the query or the items have no vectors (name an embedder in the configuration, or search a collection with vectors)")

// Rate sets the score of each row: the weighted mean of the score before and of the cosine, both
// scaled so that the best row has 1 and the last one 0. A row without a vector is rated as the row
// with the lowest cosine.
func Rate(rows Rows, query []float32, s *Settings, scores []float64) error {
	if rows.Len() == 0 {
		return nil
	}
	query = dense.Scaled(query)
	before, cosines := make([]float64, len(scores)), make([]float64, len(scores))
	lowest, compared := math.Inf(1), 0
	for i := range scores {
		before[i], cosines[i] = rows.Score(i), math.NaN()
		if v := dense.Scaled(rows.Embedding(i)); v != nil && len(v) == len(query) {
			cosines[i] = dense.Dot(v, query)
			lowest = min(lowest, cosines[i])
			compared++
		}
	}
	if compared == 0 {
		return ErrNoVectors
	}
	for i, c := range cosines {
		if math.IsNaN(c) {
			cosines[i] = lowest
		}
	}
	spread(before)
	spread(cosines)
	for i := range scores {
		scores[i] = (1-s.Weight)*before[i] + s.Weight*cosines[i]
	}
	return nil
}

// spread scales values to 0..1. Equal values become 0.
func spread(values []float64) {
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	for i, v := range values {
		if values[i] = 0; high > low {
			values[i] = (v - low) / (high - low)
		}
	}
}
