package shadow

import (
	"hash/maphash"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/internal/sequential"
	"github.com/anchor-host/anchor-host/pipeline"
)

// reportError is the probability with which any interval of a report is ever wrong.
const reportError = 0.05

// intervals is the number of intervals of a report, which share its error.
const intervals = 6

// outcome is what a version has returned, and what it took.
type outcome struct {
	keys   []uint64 // of the texts, in their order
	tokens int64
	took   time.Duration
	fuel   int64
	// found has what the first version found for a judged question, and ndcg is how good it is.
	found []pipeline.Item
	ndcg  float64
}

var seed = maphash.MakeSeed()

// maxKeys bounds the items that are compared, the first ones.
const maxKeys = 500

func keysOf(items []pipeline.Item) []uint64 {
	keys := make([]uint64, 0, min(len(items), maxKeys))
	for i := range items[:min(len(items), maxKeys)] {
		keys = append(keys, maphash.String(seed, items[i].Content))
	}
	return keys
}

// bytesPerToken is the estimate for items that are not counted yet.
const bytesPerToken = 4

func tokensOf(items []pipeline.Item) (n int64) {
	for i := range items {
		if n += int64(items[i].TokenCount); items[i].TokenCount == 0 {
			n += int64(len(items[i].Content) / bytesPerToken)
		}
	}
	return n
}

// sums are what reports are made of.
type sums struct {
	offered, calls, failed, both, ordered int64
	dropped                               shadows.Dropped
	overlap, order, changed, slower       float64
	first, second                         totals
	lastError                             string
	quality                               qualities
}

type totals struct{ seconds, tokens, fuel float64 }

func (t *totals) add(o *outcome) {
	t.seconds += o.took.Seconds()
	t.tokens += float64(o.tokens)
	t.fuel += float64(o.fuel)
}

func (t *totals) side(n int64) shadows.Side {
	of := float64(max(1, n))
	return shadows.Side{Milliseconds: 1000 * t.seconds / of, Tokens: t.tokens / of, Fuel: t.fuel / of}
}

// maxError bounds the text of an error, in bytes.
const maxError = 500

// add counts a call. q is the judged question that it asked, or nil.
func (s *sums) add(first, second *outcome, q *question, err error) {
	s.calls++
	if err != nil {
		text := err.Error()
		s.failed, s.lastError = s.failed+1, text[:min(len(text), maxError)]
		return
	}
	s.both++
	s.first.add(first)
	s.second.add(second)
	overlap, order, ranked := compare(first.keys, second.keys)
	s.overlap += overlap
	if ranked {
		s.ordered++
		s.order += order
	}
	if overlap < 1 || ranked && order < 1 {
		s.changed++
	}
	if second.took > first.took {
		s.slower++
	}
	if q != nil {
		s.quality.add(q, first.ndcg, second.ndcg)
	}
}

func mean(sum float64, n int64) shadows.Mean {
	low, high := sequential.Mean(sum, n, reportError/intervals)
	return shadows.Mean{Mean: sum / float64(max(1, n)), Low: low, High: high}
}

func (s *sums) report(step, use string) shadows.Comparison {
	return shadows.Comparison{
		Step: step, Use: use, Calls: s.calls, Dropped: s.dropped, Failures: mean(float64(s.failed), s.calls), LastError: s.lastError,
		Overlap: mean(s.overlap, s.both), Order: mean(s.order, s.ordered), Changed: mean(s.changed, s.both), Slower: mean(s.slower, s.both),
		First: s.first.side(s.both), Second: s.second.side(s.both),
	}
}

// compare returns the overlap of two lists (common items by all items), and Kendall's tau of the common items, scaled to 0 to
// 1. ranked is false with fewer than two of them.
func compare(a, b []uint64) (overlap, order float64, ranked bool) {
	place := make(map[uint64]int, len(b))
	for i, key := range b {
		if _, twice := place[key]; !twice {
			place[key] = i
		}
	}
	var common []int // places in b, in the order of a
	seen := make(map[uint64]bool, len(a))
	for _, key := range a {
		if at, ok := place[key]; ok && !seen[key] {
			common = append(common, at)
		}
		seen[key] = true
	}
	all := len(seen) + len(place) - len(common)
	if all == 0 {
		return 1, 0, false
	}
	overlap = float64(len(common)) / float64(all)
	n := len(common)
	if n < 2 {
		return overlap, 0, false
	}
	same := 0
	for i := range common {
		for _, later := range common[i+1:] {
			if common[i] < later {
				same++
			}
		}
	}
	return overlap, float64(same) / float64(n*(n-1)/2), true
}
