// Command lexical-rerank is a plugin that rates items by the words of the query
// that they contain.
package main

import (
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

// maxTerms bounds the words of the query that count.
const maxTerms = 32

func init() { rerank.Handle(rate) }

func rate(r *pdk.Request, _ *struct{}, c *pdk.Changes) error {
	terms := queryTerms(r.Query().Text)
	n := r.Items.Len()
	counts := make([]uint32, n*len(terms)) // of each term in each item
	lengths := make([]uint32, n)
	total := 0
	for i := range n {
		lengths[i] = count(r.Items.Text(i), terms, counts[i*len(terms):])
		total += int(lengths[i])
	}
	if len(terms) == 0 || total == 0 {
		return pdk.ErrNoChange
	}
	weights, sum := weigh(counts, n, len(terms))
	average := float64(total) / float64(n)
	for i := range n {
		norm := 1.2 * (0.25 + 0.75*float64(lengths[i])/average)
		var score float64
		for t, w := range weights {
			tf := float64(counts[i*len(terms)+t])
			score += w * tf / (tf + norm)
		}
		c.SetScore(i, score/sum)
	}
	return nil
}

// weigh returns the weights of the terms, which are higher for rarer terms, and their sum.
func weigh(counts []uint32, n, terms int) (weights []float64, sum float64) {
	weights = make([]float64, terms)
	for t := range weights {
		holding := 0
		for i := range n {
			if counts[i*terms+t] > 0 {
				holding++
			}
		}
		weights[t] = 1 - float64(holding)/float64(n+1)
		sum += weights[t]
	}
	return weights, sum
}

// queryTerms returns the distinct words of the query in the order in which they first occur.
func queryTerms(query string) (terms []string) {
	for word, rest := next(query); word != "" && len(terms) < maxTerms; word, rest = next(rest) {
		if find(word, terms) < 0 {
			terms = append(terms, word)
		}
	}
	return terms
}

// count adds the occurrences of each term in a text to counts. It returns the number of words.
func count(text string, terms []string, counts []uint32) (length uint32) {
	for word, rest := next(text); word != ""; word, rest = next(rest) {
		length++
		if t := find(word, terms); t >= 0 {
			counts[t]++
		}
	}
	return length
}

// find returns the index of the term that equals the word, ignoring ASCII case, or -1.
func find(word string, terms []string) int {
	for t, term := range terms {
		if len(term) == len(word) && equal(term, word) {
			return t
		}
	}
	return -1
}

// equal compares words of the same length.
func equal(a, b string) bool {
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// next returns the first word of a text and the text after it. A word consists of ASCII
// letters and digits, and of all bytes outside of ASCII.
func next(text string) (word, rest string) {
	start := 0
	for start < len(text) && !inWord(text[start]) {
		start++
	}
	end := start
	for end < len(text) && inWord(text[end]) {
		end++
	}
	return text[start:end], text[end:]
}

func inWord(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func main() {}
