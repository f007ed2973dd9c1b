package analysis

import (
	"github.com/kljensen/snowball/english"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// LuceneStopWord reports whether a token is one of the 33 words that Lucene's English
// analyzer leaves out: articles, prepositions and forms of "to be". Most published figures
// for BM25 were measured with this list.
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

// EnglishStopWord reports whether a token is one of about 150 words, including question words
// and auxiliary verbs. The list suits questions in whole sentences better.
func EnglishStopWord(token string) bool { return english.IsStopWord(token) }

// StopList makes a stop function of a list of words, which are folded as texts are.
func StopList(list []string) func(token string) bool {
	set := make(map[string]struct{}, len(list))
	for _, w := range list {
		for s := (words.Scanner{Text: w}); s.Next(); {
			set[string(s.Word())] = struct{}{}
		}
	}
	return func(token string) bool {
		_, ok := set[token]
		return ok
	}
}
