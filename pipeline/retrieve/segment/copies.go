package segment

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// maxCopies bounds the places that are named for one hit.
	maxCopies = 16
	// copyRounds bounds how often a longer list is made, because a list is mostly copies: each time it is
	// four times as long.
	copyRounds = 4
)

// copies are the places of chunks that show the same, by their digest. The best is the first.
type copies map[uint64][]Place

// sum is the digest of what a chunk shows.
func (v *View) sum(at Place) uint64 {
	sums := v.parts[at.Part].sums
	return uint64(sums[2*at.Chunk]) | uint64(sums[2*at.Chunk+1])<<32
}

// distinct returns the k highest scores as best does, but of chunks that show the same only the best one.
// The others are added to seen.
func (v *View) distinct(scores []float64, floor float64, k int, q *retrieve.Query, seen copies) ([]Hit, error) {
	for round, n := 1, k; ; round, n = round+1, 4*n {
		list, err := v.best(scores, floor, n, NewFilter(q.Filter))
		if err != nil || q.KeepCopies {
			return list, err
		}
		full := len(list) == n
		if list = seen.remove(v, list); len(list) >= k || !full || round == copyRounds {
			return list[:min(k, len(list))], nil
		}
	}
}

// remove returns a sorted list without the chunks that show the same as one before, which it notes.
func (c copies) remove(v *View, list []Hit) []Hit {
	shown := make(map[uint64]bool, len(list))
	return slices.DeleteFunc(list, func(h Hit) bool {
		sum := v.sum(h.Place)
		if places := c[sum]; len(places) <= maxCopies && !slices.Contains(places, h.Place) {
			c[sum] = append(places, h.Place)
		}
		again := shown[sum]
		shown[sum] = true
		return again
	})
}

// of returns the other places of what a chunk shows.
func (c copies) of(v *View, at Place) (others []Place) {
	for _, p := range c[v.sum(at)] {
		if p != at && len(others) < maxCopies {
			others = append(others, p)
		}
	}
	return others
}
