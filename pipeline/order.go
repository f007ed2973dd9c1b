package pipeline

import (
	"cmp"
	"math"
	"slices"
)

// smallOrder is the length up to which insertion sort beats the radix sort.
const smallOrder = 48

// sortRow is what an item weighs in the order of the window.
type sortRow struct {
	key      uint64 // descending score as an ascending integer
	priority int
	index    int32
}

// less orders by priority, highest first, then by score, highest first.
func (a sortRow) compare(b sortRow) int {
	if c := cmp.Compare(b.priority, a.priority); c != 0 {
		return c
	}
	return cmp.Compare(a.key, b.key)
}

// sortByPriority sorts the given indices of items by priority and score, both
// descending. Ties keep the order of the indices.
func sortByPriority(items []Item, indices []int32) {
	rows := make([]sortRow, len(indices))
	sorted, small := true, true
	for i, index := range indices {
		it := &items[index]
		rows[i] = sortRow{key: descending(it.Score), priority: it.Priority, index: index}
		sorted = sorted && (i == 0 || rows[i-1].compare(rows[i]) <= 0)
		small = small && uint(it.Priority) <= math.MaxUint8
	}
	switch {
	case sorted:
		return
	case len(rows) <= smallOrder:
		insertionSort(rows)
	case !small:
		slices.SortStableFunc(rows, sortRow.compare)
	default:
		rows = radixSort(rows)
	}
	for i := range rows {
		indices[i] = rows[i].index
	}
}

// descending maps a score to an integer that grows as the score falls. NaN
// counts as the lowest score.
func descending(score float64) uint64 {
	if math.IsNaN(score) {
		return math.MaxUint64
	}
	bits := math.Float64bits(score + 0) // + 0 makes -0 equal to 0
	if bits>>63 != 0 {
		return bits
	}
	return ^(bits | 1<<63)
}

func insertionSort(rows []sortRow) {
	for i := 1; i < len(rows); i++ {
		row, j := rows[i], i
		for ; j > 0 && row.compare(rows[j-1]) < 0; j-- {
			rows[j] = rows[j-1]
		}
		rows[j] = row
	}
}

// radixSort sorts by the eight bytes of the key and then by priority, least
// significant first, each pass stable. It needs no comparisons, and a byte that
// all rows share costs no pass.
func radixSort(rows []sortRow) []sortRow {
	spare := make([]sortRow, len(rows))
	for shift := 0; shift < 64; shift += 8 {
		rows, spare = radixPass(rows, spare, func(r *sortRow) uint8 { return uint8(r.key >> shift) })
	}
	rows, _ = radixPass(rows, spare, func(r *sortRow) uint8 { return math.MaxUint8 - uint8(r.priority) })
	return rows
}

func radixPass(rows, spare []sortRow, digit func(*sortRow) uint8) (sorted, free []sortRow) {
	var counts [256]int32
	for i := range rows {
		counts[digit(&rows[i])]++
	}
	if counts[digit(&rows[0])] == int32(len(rows)) {
		return rows, spare
	}
	var sum int32
	for i, n := range counts {
		counts[i], sum = sum, sum+n
	}
	for i := range rows {
		d := digit(&rows[i])
		spare[counts[d]] = rows[i]
		counts[d]++
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
