// Package plugin decides which items have a score that is high enough.
package plugin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Settings are the settings of a step.
type Settings struct {
	// MinScore is the lowest score that stays, 0 to 1. Default 0.5.
	MinScore float64 `json:"min_score"`
	// TopFraction is the largest share of the rows that stays, the best ones, more than 0
	// and up to 1. Default 1.
	TopFraction float64 `json:"top_fraction"`
	// KeepAtLeast is the number of best rows that stay whatever their score. Default 0.
	KeepAtLeast int `json:"keep_at_least"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{MinScore: 0.5, TopFraction: 1} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	switch {
	case !(s.MinScore >= 0 && s.MinScore <= 1):
		return fmt.Errorf("min_score %v: not within 0..1", s.MinScore)
	case !(s.TopFraction > 0 && s.TopFraction <= 1):
		return fmt.Errorf("top_fraction %v: not above 0 and up to 1", s.TopFraction)
	case s.KeepAtLeast < 0:
		return fmt.Errorf("keep_at_least %d: negative", s.KeepAtLeast)
	}
	return nil
}

// Keep returns the rows that stay, ascending. Among equal scores the earlier row counts as
// better.
func Keep(scores []float64, s *Settings) []uint32 {
	keep, n, least := make([]uint32, len(scores)), 0, s.MinScore
	for row, score := range scores {
		if score >= least {
			keep[n] = uint32(row)
			n++
		}
	}
	keep = keep[:n]
	if want := s.wanted(len(keep), len(scores)); want != len(keep) {
		return best(scores, want)
	}
	return keep
}

// wanted returns how many of n rows stay when passing rows reach MinScore.
func (s *Settings) wanted(passing, n int) int {
	const slack = 1e-9 // 0.1 * 30 is a little more than 3
	limit := int(math.Ceil(s.TopFraction*float64(n) - slack))
	return max(min(passing, limit), min(s.KeepAtLeast, n))
}

// best returns the n rows with the highest scores, ascending by row.
func best(scores []float64, n int) []uint32 {
	rows := make([]uint32, len(scores))
	for i := range rows {
		rows[i] = uint32(i)
	}
	slices.SortStableFunc(rows, func(a, b uint32) int { return cmp.Compare(scores[b], scores[a]) })
	rows = rows[:n]
	slices.Sort(rows)
	return rows
}
