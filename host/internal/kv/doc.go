// Package kv keeps what plugins store under keys: in memory, or in a store of the embedder.
// It holds each owner, one plugin for one tenant, to its quota. [Stores] in memory also have
// a bound for all owners together.
//
// A store of the embedder is asked by way of an [Ask], so that this package need not know
// how a call of a guest waits.
//
// The quota is the package's, so that each store need not define its own. If several hosts share a
// store, each can exceed the quota by one value at the same moment.
package kv
