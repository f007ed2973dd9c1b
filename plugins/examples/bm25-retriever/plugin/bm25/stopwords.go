package bm25

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// LuceneStopWord knows the 33 words that Lucene's English analyzer leaves out:
// articles, prepositions and forms of "to be". Published figures for BM25
// mostly stand on this list.
func LuceneStopWord(token string) bool {
	switch token {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if",
		"in", "into", "is", "it", "no", "not", "of", "on", "or", "such",
		"that", "the", "their", "then", "there", "these", "they", "this",
		"to", "was", "will", "with":
		return true
	}
	return false
}

// EnglishStopWord knows some 150 words, question words and auxiliary verbs
// among them: better for questions in whole sentences.
func EnglishStopWord(token string) bool { return english.IsStopWord(token) }

// StopList makes a stop function of a list of words.
func StopList(words []string) func(token string) bool {
	set := make(map[string]struct{}, len(words))
	for _, w := range words {
		set[strings.ToLower(w)] = struct{}{}
	}
	return func(token string) bool {
		_, ok := set[token]
		return ok
	}
}
