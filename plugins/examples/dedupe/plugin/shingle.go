package plugin

import (
	"cmp"
	"slices"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/words"
)

// maxWords bounds the work on one text: texts that agree in so many words are
// duplicates, whatever comes after.
const maxWords = 20_000

// FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// shingleSets returns per row the set of its shingles as numbers, ascending.
// Numbers are given by rarity: the smaller the number, the fewer texts have the
// shingle.
func shingleSets(rows Rows, size int) [][]uint32 {
	hashes := make([][]uint64, rows.Len())
	frequency := make(map[uint64]uint32)
	for i := range hashes {
		hashes[i] = shingles(rows.Text(i), size)
		for _, h := range hashes[i] {
			frequency[h]++
		}
	}
	all := make([]uint64, 0, len(frequency))
	for h := range frequency {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(frequency[a], frequency[b]), cmp.Compare(a, b))
	})
	for number, h := range all {
		frequency[h] = uint32(number)
	}
	sets := make([][]uint32, len(hashes))
	for i, hs := range hashes {
		sets[i] = make([]uint32, len(hs))
		for j, h := range hs {
			sets[i][j] = frequency[h]
		}
		slices.Sort(sets[i])
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
