// Package builtin makes vectors of texts with a table that is part of the program: it needs no file,
// no server and no network, and nothing is read before the first text.
//
//	vectors, err := builtin.Embedder().Embed(ctx, retrieve.SideDocument, texts)
//
// The table is made by tools/retrieve/table from the token vectors of the Python package wordllama (MIT, see
// LICENSE.wordllama): the first 128 dimensions, 8 bits each, of the tokens that folded words can have.
// The vector of a text is the sum of those of its words, each times the root of its count.
package builtin
