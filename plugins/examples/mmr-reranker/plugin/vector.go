package plugin

import (
	"cmp"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// maxWords bounds the work on one text. That many words are enough to show its topic.
const maxWords = 5_000

// entry is a word of a text with its weight there.
type entry struct {
	word   uint32
	weight float64
}

// vector is a text as a list of weighted words. Its length is 1. It is empty for a text
// without words.
type vector []entry

// vectorize returns a vector for each text, and the number of distinct words. The weight of a
// word is (1 + ln tf) * ln(1 + N/df).
func vectorize(texts []string) ([]vector, int) {
	vocabulary := make(map[string]uint32)
	var df []int
	vectors := make([]vector, len(texts))
	for i, text := range texts {
		vectors[i] = count(text, vocabulary)
		df = append(df, make([]int, len(vocabulary)-len(df))...)
		for _, e := range vectors[i] {
			df[e.word]++
		}
	}
	for _, v := range vectors {
		sum := 0.0
		for i, e := range v {
			w := (1 + math.Log(e.weight)) * math.Log1p(float64(len(texts))/float64(df[e.word]))
			v[i].weight = w
			sum += w * w
		}
		for i := range v {
			v[i].weight /= math.Sqrt(sum)
		}
	}
	return vectors, len(df)
}

// count returns the distinct words of a text with their frequencies, and adds
// new words to the vocabulary.
func count(text string, vocabulary map[string]uint32) vector {
	var found []uint32
	for s := (words.Scanner{Text: text}); s.Next() && len(found) < maxWords; {
		word, known := vocabulary[string(s.Word())]
		if !known {
			word = uint32(len(vocabulary))
			vocabulary[string(s.Word())] = word
		}
		found = append(found, word)
	}
	slices.SortFunc(found, cmp.Compare[uint32])
	var v vector
	for _, word := range found {
		if n := len(v); n > 0 && v[n-1].word == word {
			v[n-1].weight++
		} else {
			v = append(v, entry{word, 1})
		}
	}
	return v
}
