package segment

import (
	"cmp"
	"slices"
)

// neighbours is how many hits add to the score of a hit that is like them.
const neighbours = 8

// blend replaces the share of each score by the mean score of the hits that are most like it.
// It compares how the vectors differ from the mean of all hits, because hits of one query are
// all like each other.
func (v *View) blend(hits []Hit, share float64) {
	var of []int // the hits that have a vector
	var vectors [][]float32
	for i, h := range hits {
		if x := v.parts[h.Part].vector(h.Chunk); x != nil {
			of, vectors = append(of, i), append(vectors, x)
		}
	}
	centre(vectors)
	near := make([][]likeness, len(vectors))
	for i := range vectors {
		for j := range i {
			if c := float64(dot(vectors[i], vectors[j])); c > 0 {
				near[i], near[j] = append(near[i], likeness{j, c * c}), append(near[j], likeness{i, c * c})
			}
		}
	}
	scores := make([]float64, len(of))
	for i, list := range near {
		slices.SortFunc(list, func(a, b likeness) int { return cmp.Or(cmp.Compare(b.weight, a.weight), a.to-b.to) })
		sum, total := 0.0, 0.0
		for _, l := range list[:min(len(list), neighbours)] {
			sum, total = sum+float64(l.weight*hits[of[l.to]].Score), total+l.weight
		}
		scores[i] = hits[of[i]].Score
		if total > 0 {
			scores[i] = float64((1-share)*scores[i]) + float64(share*(sum/total))
		}
	}
	for i, at := range of {
		hits[at].Score = scores[i]
	}
}

// likeness is how much a hit is like another one.
type likeness struct {
	to     int
	weight float64
}

// centre subtracts the mean from vectors and scales them to length 1.
func centre(vectors [][]float32) {
	if len(vectors) == 0 {
		return
	}
	mean := make([]float64, len(vectors[0]))
	for _, x := range vectors {
		for i := range x {
			mean[i] += float64(x[i])
		}
	}
	for n, x := range vectors {
		for i := range x {
			x[i] -= float32(mean[i] / float64(len(vectors)))
		}
		vectors[n] = unit(x)
	}
}
