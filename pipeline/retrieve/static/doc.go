// Package static embeds texts with a table that has one vector for each token. The vector of a text
// is the mean of those of its tokens, so it needs no server and little time.
//
//	e, err := static.Open(static.Options{Table: "model.safetensors", Tokenizer: "tokenizer.json"})
//	…
//	vectors, err := retrieve.Embed(ctx, e, retrieve.SideDocument, texts)
//
// It reads the tables of WordLlama and of Model2Vec: a safetensors file with one matrix of F32, F16
// or BF16. A tensor "weights" has a factor for each token, and a tensor "mapping" the row of each
// token. Unknown tokens are left out.
//
// A file is not trusted: every size is checked before memory is reserved, and a table has at most
// 1 GiB in memory, 4 bytes for each number.
package static
