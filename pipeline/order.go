package pipeline

import (
	"cmp"
	"slices"
	"sync"
)

const (
	// smallOrder is the length up to which insertion sort beats the radix sort.
	smallOrder = 64
	// shortRun is the same for items of one bucket.
	shortRun = 16
	// shortRadix is the length up to which two bytes of a bucket tell most rows apart.
	shortRadix = 1 << 12
	// scoreSteps is the number of steps that a bucket tells scores apart by. With
	// the priority above them, a bucket number fills 24 bits, three radix passes.
	scoreSteps = 1<<20 - 1
)

// sortRow is what an item weighs in the order of the window. Rows of ascending
// bucket and, in one bucket, of descending score are in order.
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

// longestScratch is the number of items up to which memory is kept for the next build.
const longestScratch = 1 << 14

func (s *sortScratch) rowsFor(n int) []sortRow  { return scratchNumbers(&s.rows, n) }
func (s *sortScratch) spareFor(n int) []sortRow { return scratchNumbers(&s.spare, n) }

// sortByPriority sorts the given indices of items by priority and score, both
// descending. Ties keep the order of the indices.
func sortByPriority(items []Item, indices []int32) {
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
	switch {
	case sorted:
		return
	case len(rows) <= smallOrder:
		insertionSort(rows)
	default:
		rows = radixSort(rows, scratch.spareFor(len(rows)))
	}
	for i := range rows {
		indices[i] = rows[i].index
	}
}

// sortAnyByPriority does the same for items that were never validated. NaN counts
// as the lowest score.
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

// radixSort sorts by the three bytes of the bucket, least significant first, each
// pass stable, and then the rows of each bucket by their scores. Short lists do
// without the first byte: few of their rows share the other two.
func radixSort(rows, spare []sortRow) []sortRow {
	low := 0
	if len(rows) <= shortRadix {
		low = 8
	}
	for shift := low; shift < 24; shift += 8 {
		rows, spare = radixPass(rows, spare, shift)
	}
	for first := 0; first < len(rows); {
		end := first + 1
		for end < len(rows) && rows[end].bucket>>low == rows[first].bucket>>low {
			end++
		}
		if run := rows[first:end]; len(run) <= shortRun {
			insertionSort(run)
		} else {
			slices.SortStableFunc(run, func(a, b sortRow) int { return cmp.Compare(b.score, a.score) })
		}
		first = end
	}
	return rows
}

// radixPass sorts by one byte; the result is first, the other list second.
func radixPass(rows, spare []sortRow, shift int) (sorted, free []sortRow) {
	var places [256]int32
	for i := range rows {
		places[uint8(rows[i].bucket>>shift)]++
	}
	if places[uint8(rows[0].bucket>>shift)] == int32(len(rows)) {
		return rows, spare // all the same: nothing to move
	}
	var sum int32
	for i, n := range places {
		places[i], sum = sum, sum+n
	}
	for i := range rows {
		place := &places[uint8(rows[i].bucket>>shift)]
		spare[*place] = rows[i]
		*place++
	}
	return spare, rows
}

// allIndices returns 0 to n-1.
func allIndices(n int) []int32 {
	indices := make([]int32, n)
	for i := range indices {
		indices[i] = int32(i)
	}
	return indices
}
