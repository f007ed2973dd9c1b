package kv

import (
	"bytes"
	"context"
)

// Ask runs f, which asks the embedder's store, within the time of a call and returns what f
// returns. what is "get" or "set". It may return an error before f has returned.
type Ask func(what string, f func(context.Context) ([]byte, error)) ([]byte, error)

// Stores keep values for all owners. They are safe for concurrent use.
type Stores struct {
	memory memory
	given  Store // nil: memory
	turns  turns
}

// New returns stores in given or, if it is nil, in at most limit bytes of memory.
func New(limit int64, given Store) *Stores {
	return &Stores{memory: memory{stores: map[Owner]*entries{}, limit: limit}, given: given}
}

// Get returns the value of a key, empty where there is none. Nobody changes it. Errors are
// those of ask.
func (s *Stores) Get(ask Ask, at Owner, key string) ([]byte, error) {
	if s.given == nil {
		return s.memory.get(at, key), nil
	}
	return ask("get", func(ctx context.Context) ([]byte, error) { return s.given.Get(ctx, at, key) })
}

// Set stores a copy of value if the owner then has at most quota bytes. An empty value deletes
// the key. If the value does not fit, nothing changes. Errors: [ErrQuota], [ErrFull], and those
// of ask.
func (s *Stores) Set(ask Ask, at Owner, quota int64, key string, value []byte) error {
	if s.given == nil {
		return s.memory.set(at, quota, key, value)
	}
	value = bytes.Clone(value) // the guest's memory may change while the store has it
	_, err := ask("set", func(ctx context.Context) ([]byte, error) {
		return nil, s.turns.set(ctx, s.given, at, quota, key, value)
	})
	return err
}

// Forget removes all that plugins stored for a tenant. Errors are those of the embedder's
// store.
func (s *Stores) Forget(ctx context.Context, tenant string) error {
	if s.given == nil {
		s.memory.forget(tenant)
		return nil
	}
	return s.given.Forget(ctx, tenant)
}

// Size is what the stores take of the memory, in bytes: 0 if they are the embedder's.
func (s *Stores) Size() int64 { return s.memory.size() }
