// Package ingest reads files, folders and pages into a collection of an index, and keeps the
// collection as they are: unchanged files cost a look at their size and time, changed ones are
// replaced, and documents of deleted files are deleted. Pages are asked for each time; a server
// that says when a page changed sends it again only if it did.
//
//	report, err := ingest.Run(ctx, index, []ingest.Source{{Path: "docs"}}, ingest.Options{
//		Collection: retrieve.Collection{Tenant: store.DefaultTenant, Name: "docs"},
//	})
//
// A run that was interrupted, also by kill -9, goes on where it was when it is started again. What
// is in the index is complete for each document at any time. Package parse reads the formats, and
// package chunk cuts documents.
//
// A document has the name of its folder and its path in it, so that neither home folders nor the
// current folder get into names, and a folder that moved keeps its documents. A model that does
// not answer ends the run, because it would fail for every file; a text that a model refuses costs
// its own file only. Contexts have a budget for each run, since one run asks thousands of times.
package ingest
