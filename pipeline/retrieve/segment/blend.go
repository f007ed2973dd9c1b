package segment

import "context"

// neighbours is how many hits add to the score of a hit that is like them.
const neighbours = 8

// blend replaces a share of each score by the mean score of the hits that are most like it. The
// closer a score is to most, the best that there can be, the smaller its share: a hit that stands out by itself keeps its
// place, so that questions with one answer lose nothing. It compares how the vectors differ from the mean of all hits, because hits of one query are
// all like each other. It compares each hit with each, so the caller bounds their number.
func (v *View) blend(ctx context.Context, hits []Hit, share, most float64) error {
	var of []int // the hits that have a vector
	var vectors [][]float32
	for i, h := range hits {
		if x := v.parts[h.Part].vector(h.Chunk); x != nil {
			of, vectors = append(of, i), append(vectors, x)
		}
	}
	centre(vectors)
	near := make([]nearest, len(vectors))
	for i := range vectors {
		if err := ctx.Err(); err != nil {
			return err
		}
		for j := range i {
			if c := float64(dot(vectors[i], vectors[j])); c > 0 {
				near[i].add(likeness{j, c * c})
				near[j].add(likeness{i, c * c})
			}
		}
	}
	scores := make([]float64, len(of))
	for i := range near {
		sum, total := 0.0, 0.0
		for _, l := range near[i].list[:near[i].n] {
			sum, total = sum+float64(l.weight*hits[of[l.to]].Score), total+l.weight
		}
		scores[i] = hits[of[i]].Score
		if total > 0 {
			own := scores[i] / most
			part := share * (1 - own*own)
			scores[i] = float64((1-part)*scores[i]) + float64(part*(sum/total))
		}
	}
	for i, at := range of {
		hits[at].Score = scores[i]
	}
	return nil
}

// likeness is how much a hit is like another one.
type likeness struct {
	to     int
	weight float64
}

// before reports whether a likeness counts more than another one.
func (l likeness) before(m likeness) bool {
	return l.weight > m.weight || l.weight == m.weight && l.to < m.to
}

// nearest are the hits most like one, the most alike first.
type nearest struct {
	list [neighbours]likeness
	n    int
}

func (x *nearest) add(l likeness) {
	at := x.n
	if at == neighbours {
		if at--; !l.before(x.list[at]) {
			return
		}
	} else {
		x.n++
	}
	for ; at > 0 && l.before(x.list[at-1]); at-- {
		x.list[at] = x.list[at-1]
	}
	x.list[at] = l
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
		vectors[n] = appendUnit(nil, x)
	}
}
