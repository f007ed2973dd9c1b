package core

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

const (
	// shortRun is the length up to which insertion sort is the fastest.
	shortRun = 16
	// maxBins is the largest number of bins in one pass.
	maxBins = 1 << 10
	// scoreSteps is the number of different scores that a bucket number can hold. Together
	// with the priority, a bucket number has 24 bits.
	scoreSteps = 1<<20 - 1
)

// sortRow is the sort key of an item. Rows are in order if their buckets ascend, and their
// scores descend within a bucket.
type sortRow struct {
	score  float64
	bucket uint32
	index  int32
}

func (a *sortRow) before(b *sortRow) bool {
	return a.bucket < b.bucket || a.bucket == b.bucket && a.score > b.score
}

// sortScratch is the memory of a sort, kept for the next one.
type sortScratch struct{ rows, spare []sortRow }

var sortScratches = sync.Pool{New: func() any { return new(sortScratch) }}

func (s *sortScratch) rowsFor(n int) []sortRow  { return values.Numbers(&s.rows, n) }
func (s *sortScratch) spareFor(n int) []sortRow { return values.Numbers(&s.spare, n) }

// SortByPriority sorts the given indices of items by priority and score, both
// descending. Ties keep the order of the indices.
func SortByPriority(items []Item, indices []int32) {
	scratch := sortScratches.Get().(*sortScratch)
	defer sortScratches.Put(scratch)
	rows := scratch.rowsFor(len(indices))
	sorted := true
	for i, index := range indices {
		it := &items[index]
		if !(it.Score >= 0 && it.Score <= 1) || it.Priority < MinPriority || it.Priority > MaxPriority {
			sortAnyByPriority(items, indices)
			return
		}
		bucket := uint32(MaxPriority-it.Priority)<<20 | uint32((1-it.Score)*scoreSteps)
		rows[i] = sortRow{score: it.Score, bucket: bucket, index: index}
		sorted = sorted && (i == 0 || !rows[i].before(&rows[i-1]))
	}
	if sorted {
		return
	}
	sortRows(rows, scratch.spareFor(len(rows)))
	for i := range rows {
		indices[i] = rows[i].index
	}
}

// sortAnyByPriority is SortByPriority for items that were not validated. NaN counts as the
// lowest score.
func sortAnyByPriority(items []Item, indices []int32) {
	slices.SortStableFunc(indices, func(a, b int32) int {
		if c := cmp.Compare(items[b].Priority, items[a].Priority); c != 0 {
			return c
		}
		return cmp.Compare(items[b].Score, items[a].Score)
	})
}

func insertionSort(rows []sortRow) {
	for i := 1; i < len(rows); i++ {
		row, j := rows[i], i
		for ; j > 0 && row.before(&rows[j-1]); j-- {
			rows[j] = rows[j-1]
		}
		rows[j] = row
	}
}

// sortRows is a bucket sort. It distributes the rows over about as many bins as there are
// rows, by the place of their bucket between the lowest and the highest, and then sorts
// each bin. Evenly spread scores give bins of one or two rows. A bin with many rows is
// distributed again, at most five times: each time the range of the buckets in a bin
// shrinks to a 32nd or less.
func sortRows(rows, spare []sortRow) {
	if len(rows) <= shortRun {
		insertionSort(rows)
		return
	}
	least, greatest := rows[0].bucket, rows[0].bucket
	for i := range rows {
		least, greatest = min(least, rows[i].bucket), max(greatest, rows[i].bucket)
	}
	if least == greatest {
		slices.SortStableFunc(rows, func(a, b sortRow) int { return cmp.Compare(b.score, a.score) })
		return
	}
	var ends [maxBins]int32
	shift := binShift(greatest-least, min(len(rows), maxBins))
	deal(rows, spare, ends[:(greatest-least)>>shift+1], least, shift)
	copy(rows, spare)
	first := int32(0)
	for _, end := range ends[:(greatest-least)>>shift+1] {
		if end-first > 1 {
			sortRows(rows[first:end], spare[first:end])
		}
		first = end
	}
}

// binShift returns the right shift that turns distances up to span into bin numbers. There
// are at most as many bins as the next power of two from n, and at most maxBins.
func binShift(span uint32, n int) int {
	return max(0, bits.Len32(span)-bits.Len(uint(n-1)))
}

// deal writes the rows into spare, bin by bin and stable, and the end of each bin into
// ends. All ends must be 0 before the call.
func deal(rows, spare []sortRow, ends []int32, least uint32, shift int) {
	for i := range rows {
		ends[(rows[i].bucket-least)>>shift]++
	}
	sum := int32(0)
	for i, n := range ends {
		ends[i], sum = sum, sum+n
	}
	for i := range rows {
		place := &ends[(rows[i].bucket-least)>>shift]
		spare[*place] = rows[i]
		*place++
	}
}
