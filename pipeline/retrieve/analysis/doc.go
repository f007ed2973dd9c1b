// Package analysis turns text into the terms that an index of words keeps: lower-case words
// without stop words, reduced to their stem, and the parts of names of source code.
//
//	a := analysis.New(analysis.Options{Stop: analysis.LuceneStopWord, Stem: true})
//	a.Terms("Parsing the flags") // pars, flag
//
// Queries and documents must be analyzed in the same way. Guests may import this package.
package analysis
