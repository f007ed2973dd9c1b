package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrMetric means that a metric or depth does not exist.
var ErrMetric = errors.New("invalid metric")

// Grades are the judgements of one query by document id. A document is relevant
// from grade 1.
type Grades map[string]int

// Relevant returns the number of relevant documents.
func (g Grades) Relevant() (n int) {
	for _, grade := range g {
		if grade > 0 {
			n++
		}
	}
	return n
}

// Scored is a ranking with the grade at each rank.
type Scored struct {
	grades []int // by rank, never negative
	ideal  []int // of all relevant documents, descending
}

// NewScored looks up the grades of a ranking. Documents that are not judged, or
// judged below 0, have grade 0. The ranking must not name a document twice.
func NewScored(ranking []string, g Grades) *Scored {
	s := &Scored{grades: make([]int, len(ranking))}
	for i, id := range ranking {
		s.grades[i] = max(0, g[id])
	}
	for _, grade := range g {
		if grade > 0 {
			s.ideal = append(s.ideal, grade)
		}
	}
	slices.Sort(s.ideal)
	slices.Reverse(s.ideal)
	return s
}

// Metric is one figure of a ranking, from 0 to 1. Its text is "kind@k", or only the kind if
// it has no depth.
type Metric struct {
	Kind string
	// K is the number of documents that count; 0 means all of them.
	K int
}

// kind describes the metrics of one kind.
type kind struct {
	name string
	doc  string
	// deep reports whether the kind has a depth.
	deep bool
	of   func(s *Scored, k int) float64
}

var kinds = []kind{
	{"recall", "share of the relevant documents among the first k", true, recall},
	{"ndcg", "normalized discounted cumulative gain of the first k", true, ndcg},
	{"precision", "share of relevant documents among k", true, precision},
	{"hit", "1 if a relevant document is among the first k", true, hit},
	{"mrr", "1 / rank of the first relevant document", false, reciprocalRank},
	{"map", "average precision", false, averagePrecision},
	{"binary_recall", "recall where every relevant document counts alike", true, recall},
	{"binary_ndcg", "nDCG with binary gains and an ideal no longer than what was returned", true, binaryNDCG},
	{"binary_precision", "precision over the number returned", true, binaryPrecision},
	{"binary_f1", "harmonic mean of binary_precision and binary_recall", true, binaryF1},
	{"binary_hit", "hit where every relevant document counts alike", true, hit},
	{"binary_mrr", "1 / rank of the first relevant document within k", true, reciprocalRank},
}

// Kinds returns the names of all kinds of metrics.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// DefaultKinds are the kinds of metrics that are measured by default.
var DefaultKinds = []string{"recall", "ndcg", "precision", "hit", "mrr", "map"}

// DefaultDepths are the depths that are measured by default.
var DefaultDepths = []int{1, 5, 10, 100}

// maxDepth is much larger than the ranking of any window.
const maxDepth = 1 << 20

// Metrics returns the metrics of the given kinds at the given depths, ascending. For recall
// it adds a metric without a depth: the share of relevant documents among all documents of
// a stage.
func Metrics(names []string, depths []int) ([]Metric, error) {
	depths = slices.Compact(slices.Sorted(slices.Values(depths)))
	if len(depths) == 0 || depths[0] < 1 || depths[len(depths)-1] > maxDepth {
		return nil, fmt.Errorf("%w: depths %v (want whole numbers from 1 to %d)", ErrMetric, depths, maxDepth)
	}
	var list []Metric
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: %q (want some of %s)", ErrMetric, name, strings.Join(Kinds(), ", "))
		}
		if kinds[i].deep {
			for _, k := range depths {
				list = append(list, Metric{name, k})
			}
		}
		if !kinds[i].deep || name == "recall" {
			list = append(list, Metric{Kind: name})
		}
	}
	return unique(list), nil
}

// unique drops repeated metrics and keeps the first of each.
func unique(list []Metric) (out []Metric) {
	for _, m := range list {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// String returns the name of the metric, such as "ndcg@10".
func (m Metric) String() string {
	if m.K == 0 {
		return m.Kind
	}
	return m.Kind + "@" + strconv.Itoa(m.K)
}

// Of computes the metric. It is 0 if there is no relevant document, and NaN for a metric
// that does not exist.
func (m Metric) Of(s *Scored) float64 {
	for i := range kinds {
		if kinds[i].name == m.Kind {
			return kinds[i].of(s, m.K)
		}
	}
	return math.NaN()
}

// first returns the grades of the first k documents.
func (s *Scored) first(k int) []int {
	if k == 0 {
		return s.grades
	}
	return s.grades[:min(k, len(s.grades))]
}

// relevant returns the number of relevant documents among grades.
func relevant(grades []int) (n float64) {
	for _, grade := range grades {
		if grade > 0 {
			n++
		}
	}
	return n
}

// ratio returns a / b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func recall(s *Scored, k int) float64 {
	return ratio(relevant(s.first(k)), float64(len(s.ideal)))
}

func precision(s *Scored, k int) float64 { return ratio(relevant(s.first(k)), float64(k)) }

func hit(s *Scored, k int) float64 { return min(1, relevant(s.first(k))) }

func ndcg(s *Scored, k int) float64 {
	return ratio(discountedGain(s.first(k)), discountedGain(s.ideal[:min(k, len(s.ideal))]))
}

func discountedGain(grades []int) (sum float64) {
	for i, grade := range grades {
		sum += float64(grade) / math.Log2(float64(i+2))
	}
	return sum
}

func reciprocalRank(s *Scored, k int) float64 {
	for i, grade := range s.first(k) {
		if grade > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func averagePrecision(s *Scored, k int) float64 {
	found, sum := 0.0, 0.0
	for i, grade := range s.first(k) {
		if grade > 0 {
			found++
			sum += found / float64(i+1)
		}
	}
	return ratio(sum, float64(len(s.ideal)))
}

func binaryPrecision(s *Scored, k int) float64 {
	first := s.first(k)
	return ratio(relevant(first), float64(len(first)))
}

func binaryF1(s *Scored, k int) float64 {
	p, r := binaryPrecision(s, k), recall(s, k)
	return ratio(2*p*r, p+r)
}

func binaryNDCG(s *Scored, k int) float64 {
	first := s.first(k)
	binary := make([]int, len(first))
	for i, grade := range first {
		binary[i] = min(1, grade)
	}
	ideal := slices.Repeat([]int{1}, min(len(s.ideal), len(first)))
	return ratio(discountedGain(binary), discountedGain(ideal))
}
