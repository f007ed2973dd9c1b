// Package abi is the contract between anchor-host and its guests, version 1: the names and
// signatures of functions, the documents of the JSON lane, the layout of the batch lane, statuses
// and reasons. The normative text is ABI.md in this folder; a test compares it with the tables of
// this package. Package abi/manifest reads manifests, and package abi/schemas has the JSON
// Schemas of the documents.
//
// Hosts write a request and read changes; m is the plugin's manifest:
//
//	var w abi.BatchWriter
//	size, err := w.Plan(rows, m.Reads(op), &abi.Envelope{Query: query})
//	// ask the guest for size bytes, as dst
//	err = w.Write(dst)
//	// call the guest
//	changes, err := abi.DecodeChanges(out)
//	err = changes.Check(rows.Len(), grant)
//
// Guests do the opposite with [OpenBatch] and [AppendChanges]. In the JSON lane
// [AppendItemsRequest], [DecodeItemsRequest] with [BatchOf], [AppendChangesJSON] and
// [DecodeChangesJSON] replace these functions.
//
// # Ownership
//
// A [Batch] reads its buffer in place: its strings and slices alias the buffer. The
// results of the decoders of change sets and documents never alias their input.
//
// # Guests are hostile
//
// Every decoder returns a value or an error, allocates in proportion to its
// input, and never panics. Decoders check the form of a change set, and [Changes.Check]
// alone checks its meaning. A change set that passes both can be applied.
//
// The package and its internal ones import the standard library only, since guests compile
// them too. Reading batches and writing change sets uses neither encoding/json nor
// reflection.
//
// Requests grow within version 1, so a guest skips members that it does not know. An unknown
// member of an answer stands for an effect that would not happen, so the answer is refused. An
// empty output is an error, so that a guest that forgets its answer does not pass for one that
// changes nothing. Changes name rows, because ids of items need not be unique.
package abi
