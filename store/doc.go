// Package store keeps records durably: the turns of a conversation, the facts of a
// memory, the frames of an agent run. It does not interpret them.
//
// A record belongs to a [Key]: tenant, kind and stream. Each record of a key has a sequence
// number and an ID. The store assigns the numbers in order and never assigns one twice.
// There are two kinds of [Store], which pass the same contract tests (package storetest):
// [NewMemory] keeps records until the process ends, and package sqlite keeps them in a file.
//
//	s := store.NewMemory() // or sqlite.Open(ctx, path, sqlite.Options{})
//	defer s.Close()
//	key := store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "conversation-1"}
//	first, err := s.Append(ctx, key, store.Record{Data: json.RawMessage(`{"role":"user","text":"hi"}`)})
//	…
//	newest, err := s.Last(ctx, key, 50)
//
// # What a caller may rely on
//
// A call that writes and returns no error is durable, as far as the store can ensure it.
// It is also atomic: no reader, in this process or after a crash, sees a part of one Append,
// Put, Delete, Clear or Apply. A call that returns an error wrote nothing, with one
// exception: [ErrUnknown] means that the write had begun, and that the store does not know
// whether it succeeded.
//
// # Identity
//
// A record that is appended without an ID gets the ID "#" followed by its sequence number.
// IDs that begin with # are reserved for the store: [Store.Append] refuses them, so that no
// record can take the ID of a later one.
package store
