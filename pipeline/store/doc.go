// Package store keeps records durably: the turns of a conversation, the facts of a
// memory, the frames of an agent run. It knows nothing of what they mean.
//
// A record belongs to a [Key]: tenant, kind and stream. Within a key records have
// an order, their sequence number, which the store gives and never gives twice, and
// an identity, their ID. A [Store] has two forms that one contract test holds equal
// (package storetest): [NewMemory], which forgets, and package sqlite, which does not.
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
// A call that writes and returns no error is durable as far as the store can make
// it, and all of it is: no reader, in this process or after a crash, sees a part of
// one Append, Put, Delete, Clear or Apply. A call that returns an error wrote
// nothing, with one exception: an error that is [ErrUnknown] says that the write
// was begun and its end was not seen.
//
// # Identity
//
// A record that is appended without an ID gets "#" and its sequence number. IDs that
// begin with # are the store's: [Store.Append] refuses them from a caller, so that
// none can take the place of a record that is yet to come.
package store
