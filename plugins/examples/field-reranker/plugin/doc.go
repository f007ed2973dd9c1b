// Package plugin rates items by how well their words match the query. It is more precise than
// a retriever, which must search a whole collection. The rating of an item is the sum of four
// parts, each in the unit of BM25:
//
//	words      BM25 over title and text together
//	title      BM25 over the title alone
//	proximity  how close words of the query stand to one another (Büttcher's BM25TP, by 1/distance)
//	grams      BM25 over runs of four characters, which relate word forms that the stemmer does not
//
// Statistics give the rarity of words and the average length of texts. They come from the
// collection, or only from the items of the request.
package plugin
