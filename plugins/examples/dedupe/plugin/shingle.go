package plugin

import (
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/dense"
)

// maxWords bounds the work on one text: texts that agree in that many words count as
// duplicates, whatever follows.
const maxWords = 20_000

// FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// buckets is the size of the table in which shingles are counted.
const buckets = 1 << 16

// Rows are the items to compare; a batch is one.
type Rows interface {
	dense.Rows
	Text(i int) string
	Score(i int) float64
}

// shingleSets returns for each row the set of its shingles, ascending. Equal shingles have
// the same number in every row, and rare shingles have smaller numbers: the upper 16 bits are
// the number of shingles in the same bucket, and the lower 48 bits are the hash.
func shingleSets(rows Rows, size int) [][]uint64 {
	sets := make([][]uint64, rows.Len())
	var counts [buckets]uint16
	for i := range sets {
		sets[i] = shingles(rows.Text(i), size)
		for _, h := range sets[i] {
			if bucket := &counts[h%buckets]; *bucket < math.MaxUint16 {
				*bucket++
			}
		}
	}
	for _, set := range sets {
		for j, h := range set {
			set[j] = uint64(counts[h%buckets])<<48 | h>>16
		}
		slices.Sort(set)
	}
	return sets
}

// shingles returns the hashes of the runs of size words, each once. A shorter
// text is one shingle.
func shingles(text string, size int) []uint64 {
	hs := wordHashes(text)
	if len(hs) == 0 {
		return nil
	}
	size = min(size, len(hs))
	set := make([]uint64, 0, len(hs)-size+1)
	for i := range len(hs) - size + 1 {
		h := uint64(fnvOffset)
		for _, word := range hs[i : i+size] {
			h = (h ^ word) * fnvPrime
		}
		set = append(set, h)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

func wordHashes(text string) []uint64 {
	var hs []uint64
	for s := (words.Scanner{Text: text}); s.Next() && len(hs) < maxWords; {
		h := uint64(fnvOffset)
		for _, c := range s.Word() {
			h = (h ^ uint64(c)) * fnvPrime
		}
		hs = append(hs, h)
	}
	return hs
}
