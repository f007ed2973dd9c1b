// Package retrieve has what a source of context is made of: documents in chunks, an index
// that finds chunks by words, by vectors or by both, the models that make vectors, and the
// fusion of ranked lists.
//
//	docs := retrieve.Collection{Tenant: store.DefaultTenant, Name: "docs"}
//	err := index.Create(ctx, docs, retrieve.Settings{})
//	…
//	err = index.Upsert(ctx, docs, retrieve.Document{
//		ID:     "guide.md",
//		Hash:   "sha256:…",
//		Title:  "Guide",
//		Chunks: []retrieve.Chunk{{Text: "Package flag parses flags.", Lines: retrieve.Lines{From: 1, To: 3}}},
//	})
//	…
//	hits, err := index.Search(ctx, docs, retrieve.Query{Text: "parse flags", K: 10})
//
// [Prepare] decides how a question is searched if nobody says it, and makes its vector. A
// [Retriever] does all of this for the questions of a pipeline.
//
// The index of package sqlite lies in the file of the records. Package words cuts text into
// words, package analysis makes terms of them, and package segment is the form in which
// terms and vectors are stored.
//
// [Fuse] with weights merges by scores, which say how far an item is ahead of the next. By ranks,
// the first item of a weak source counts as much as the first of a strong one.
package retrieve
