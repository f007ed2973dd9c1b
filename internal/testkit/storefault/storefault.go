// Package storefault has a store of which one call fails, so that tests can try each place at which work that takes
// several calls may break.
package storefault

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/anchor-host/anchor-host/store"
)

// Store is a store of which one call fails, as if its server were gone.
type Store struct {
	store.Store
	mu    sync.Mutex
	calls int // that still succeed before the one that fails
	broke bool
}

func (b *Store) call() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls--; b.calls != -1 {
		return nil
	}
	b.broke = true
	return fmt.Errorf("%w: the connection broke", store.ErrBusy)
}

// New returns the store, of which no call fails yet.
func New(s store.Store) *Store { return &Store{Store: s, calls: math.MaxInt} }

// After lets so many calls succeed before one that fails, none with -1. It reports whether one has failed since After
// was called last.
func (b *Store) After(calls int) (failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed = b.broke
	if b.calls, b.broke = calls, false; calls < 0 {
		b.calls = math.MaxInt
	}
	return failed
}

// Append implements [store.Store].
func (b *Store) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Append(ctx, key, recs...)
}

// Read implements [store.Store].
func (b *Store) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Read(ctx, key, after, limit)
}

// Last implements [store.Store].
func (b *Store) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Last(ctx, key, n)
}

// Put implements [store.Store].
func (b *Store) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.Store.Put(ctx, key, rec)
}

// Get implements [store.Store].
func (b *Store) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	if err := b.call(); err != nil {
		return store.Record{}, err
	}
	return b.Store.Get(ctx, key, id)
}

// Delete implements [store.Store].
func (b *Store) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Delete(ctx, key, ids...)
}

// Clear implements [store.Store].
func (b *Store) Clear(ctx context.Context, key store.Key) (int, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.Store.Clear(ctx, key)
}

// Apply implements [store.Store].
func (b *Store) Apply(ctx context.Context, changes ...store.Change) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.Store.Apply(ctx, changes...)
}

// Keys implements [store.Store].
func (b *Store) Keys(ctx context.Context, tenant, kind string) ([]store.Key, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Keys(ctx, tenant, kind)
}
