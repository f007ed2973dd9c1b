// Package plugin rates items by how well their words fit the query, more
// closely than a retriever can that looks at a whole collection. The rating of
// an item is the sum of four parts, each in the unit of BM25:
//
//	words      BM25 over title and text together
//	title      BM25 over the title alone
//	proximity  how close words of the query stand to one another (Büttcher's BM25TP, by 1/distance)
//	grams      BM25 over runs of four characters, which relate word forms that the stemmer does not
//
// How rare a word is, and how long texts are, comes from Statistics: of the
// collection, or of nothing but the items at hand.
package plugin
