// Package postgres implements a [store.Store] that many hosts share: one PostgreSQL database,
// version 14 or later.
//
//	s, err := postgres.Open(ctx, "postgres://anchor@db.example/anchor", postgres.Options{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//
// # Durability and order
//
// Each call that writes is one transaction. An append is one round trip: it raises the last number
// of its key with UPDATE … RETURNING, which also locks the key until the commit. Numbers thus have
// no gaps and no repeats, with any number of hosts. A call whose connection breaks while the
// server commits returns [store.ErrUnknown].
//
// # Faults
//
// Serialization failures and deadlocks are tried again a few times. While the server is away, calls
// fail at once with [store.ErrBusy], except for one that tries from time to time.
//
// # Tenants
//
// Every table with content has a policy: a transaction sees the rows of the tenant that it has set in
// anchor.tenant, and no row without one. This is a fence behind the conditions of the queries. It holds
// for owners too, but not for superusers and roles with BYPASSRLS, so give the program a plain role.
//
// # Search
//
// Collections and facts are searched by the code that searches them in SQLite, over segments that are
// rows here. So both find the same in the same order. Full-text search and pgvector would each have
// their own analysis, scores and order, and pgvector has to be installed.
package postgres
