// Package plugin finds texts that say nearly the same and keeps the best of each group.
//
// Two texts are near duplicates when the Jaccard similarity of their shingles
// (runs of a few words, in lower case, without punctuation) reaches the
// threshold. The search is exact: prefix filtering compares only pairs that
// share one of their rarest shingles, and no pair above the threshold is
// missed.
//
// If the host sends vectors, texts are near duplicates as well when the cosine of their vectors
// reaches a threshold of its own: then they say the same in other words.
package plugin

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/dense"
)

// maxVectors is the number of rows, those with the best scores, whose vectors are compared. It
// bounds the work, because every row is compared with every row that stays.
const maxVectors = 1000

// Settings are the settings of a step.
type Settings struct {
	// Threshold is the least similarity of duplicates, 0.1 to 1. Default 0.8.
	Threshold float64 `json:"threshold"`
	// Shingle is the number of words in a shingle, 1 to 10. Default 3.
	Shingle int `json:"shingle"`
	// Cosine is the least cosine of the vectors of duplicates, 0.5 to 1. Default 0.95.
	Cosine float64 `json:"cosine"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Threshold: 0.8, Shingle: 3, Cosine: 0.95} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	if !(s.Threshold >= 0.1 && s.Threshold <= 1) {
		return fmt.Errorf("threshold %v: not within 0.1..1", s.Threshold)
	}
	if s.Shingle < 1 || s.Shingle > 10 {
		return fmt.Errorf("shingle %d: not within 1..10", s.Shingle)
	}
	if !(s.Cosine >= 0.5 && s.Cosine <= 1) {
		return fmt.Errorf("cosine %v: not within 0.5..1", s.Cosine)
	}
	return nil
}

// Keep returns the rows that stay, ascending. Of every group of duplicates this is the row
// with the best score, and among equal scores the first. Texts without words stay.
func Keep(rows Rows, s *Settings) []uint32 {
	order := make([]int, rows.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows.Score(b), rows.Score(a)) })

	d := newDetector(shingleSets(rows, s.Shingle), s.Threshold)
	var kept [][]float32
	keep := make([]uint32, 0, len(order))
	for i, row := range order {
		if d.duplicate(row) {
			continue
		}
		if i < maxVectors {
			if v := dense.Scaled(rows.Embedding(row)); near(v, kept, s.Cosine) {
				continue
			} else if v != nil {
				kept = append(kept, v)
			}
		}
		d.add(row)
		keep = append(keep, uint32(row))
	}
	slices.Sort(keep)
	return keep
}

// near reports whether one of the kept vectors is as near to v as duplicates are. Rounding does
// not separate equal vectors.
func near(v []float32, kept [][]float32, cosine float64) bool {
	return slices.ContainsFunc(kept, func(k []float32) bool { return dense.Dot(v, k)+1e-6 >= cosine })
}

// posting is one kept row that has a shingle, and the index of the previous posting, 0 if
// there is none.
type posting struct{ row, before int }

// detector holds the rows kept so far.
type detector struct {
	threshold float64
	sets      [][]uint64     // per row: its shingles, rarest first
	index     map[uint64]int // shingle → the last posting of kept rows with it among their rarest
	postings  []posting      // the first is a sentinel
	checked   []int          // per row: the last row it was compared with, plus one
}

func newDetector(sets [][]uint64, threshold float64) *detector {
	return &detector{
		threshold: threshold,
		sets:      sets,
		index:     make(map[uint64]int),
		postings:  make([]posting, 1),
		checked:   make([]int, len(sets)),
	}
}

// prefix returns the rarest elements of a set. Two sets that reach the threshold must have a
// common element in their prefixes.
func (d *detector) prefix(set []uint64) []uint64 {
	if len(set) == 0 {
		return nil
	}
	return set[:len(set)-d.needed(len(set))+1]
}

// needed returns the smallest size of a subset of n shingles that reaches the threshold.
func (d *detector) needed(n int) int {
	return max(int(math.Ceil(d.threshold*float64(n)-1e-9)), 1)
}

func (d *detector) add(row int) {
	for _, shingle := range d.prefix(d.sets[row]) {
		d.postings = append(d.postings, posting{row, d.index[shingle]})
		d.index[shingle] = len(d.postings) - 1
	}
}

func (d *detector) duplicate(row int) bool {
	set := d.sets[row]
	for _, shingle := range d.prefix(set) {
		for i := d.index[shingle]; i > 0; i = d.postings[i].before {
			other := d.postings[i].row
			if d.checked[other] == row+1 {
				continue
			}
			d.checked[other] = row + 1
			if d.similar(set, d.sets[other]) {
				return true
			}
		}
	}
	return false
}

func (d *detector) similar(a, b []uint64) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < d.needed(len(b)) {
		return false
	}
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(common)+1e-9 >= d.threshold*float64(len(a)+len(b)-common)
}
