// Package segment is the form in which an index keeps documents: immutable pieces that hold
// the terms, lengths, vectors and metadata of the chunks of some documents. Texts are kept
// elsewhere.
//
// A [Builder] makes the segment of a batch of documents, [Merge] makes one of several, and
// [Decode] reads one. Segments come from files and are not trusted: whatever the bytes are,
// reading and searching returns an error that wraps [ErrCorrupt] at worst.
//
// A [View] is a list of segments of which some documents are dead. It finds the chunks that
// match best, by words and by vectors. Its statistics count only what is alive, so results
// depend neither on the order in which documents came nor on how segments were merged.
//
// # Words
//
// The score of a chunk is BM25 in the form that Lucene uses, the sum over the terms of the
// query of
//
//	idf * tf / (tf + k1*(1 - b + b*length/averageLength))
//	idf = ln(1 + (N - n + 0.5)/(n + 0.5))
//
// where N counts all chunks and n those with the term.
//
// # Vectors
//
// Vectors have length 1, and every one is compared with the query. In the form f32 a search
// multiplies numbers one by one. In the form int8 numbers are rounded to 7 bits, so that one
// multiplication of 64 bits sums four products without overflow.
package segment
