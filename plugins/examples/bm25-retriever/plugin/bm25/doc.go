// Package bm25 is a small full-text index in memory. It finds the documents that match a
// query best, ranked by BM25 in the form that Lucene uses.
//
//	b := bm25.NewBuilder(bm25.Options{K1: 0.9, B: 0.4, Analyzer: analysis.New(analysis.Options{Stem: true})})
//	b.Add("flag", "Package flag implements command-line flag parsing.")
//	hits := b.Build().Search("parse flags", 10)
//
// The score of a document is the sum over the terms of the query of
//
//	idf * tf / (tf + k1*(1 - b + b*length/averageLength))
//	idf = ln(1 + (N - n + 0.5)/(n + 0.5))
//
// where N counts all documents and n those with the term. Documents of equal
// score come in the order in which they were added.
//
// With Options.Feedback, a search adds terms of the best documents to the query and searches
// again.
//
// The index is made for guests. Even a few million words need few allocations, because every
// surface form is stemmed only once and postings are kept in flat arrays.
package bm25
