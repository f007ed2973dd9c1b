package kv

import (
	"context"
	"strings"
	"sync"
)

// turns let at most one change at a time be made to what belongs to each owner of a store of
// the embedder, so that two cannot both take the last room of a quota.
type turns struct {
	mu   sync.Mutex
	busy map[Owner]*turn
}

// turn has room for the one that changes something. waiting are all who want to.
type turn struct {
	room    chan struct{}
	waiting int
}

// enter waits until nobody else changes what belongs to an owner. The caller calls leave.
func (s *turns) enter(ctx context.Context, at Owner) (leave func(), err error) {
	s.mu.Lock()
	t := s.busy[at]
	if t == nil {
		t = &turn{room: make(chan struct{}, 1)}
		if s.busy == nil {
			s.busy = map[Owner]*turn{}
		}
		at.Tenant = strings.Clone(at.Tenant) // it may be a part of a longer text
		s.busy[at] = t
	}
	t.waiting++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(s.busy, at)
		}
	}
	select {
	case t.room <- struct{}{}:
		return func() { <-t.room; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// set stores a value within the quota, or removes the key of an empty one.
func (s *turns) set(ctx context.Context, in Store, at Owner, quota int64, key string, value []byte) error {
	leave, err := s.enter(ctx, at)
	if err != nil {
		return err
	}
	defer leave()
	if len(value) == 0 {
		return in.Delete(ctx, at, key)
	}
	keys, used, err := in.Usage(ctx, at)
	if err != nil {
		return err
	}
	if over := entrySize(key, value) - (quota - used - entryOverhead*keys); over > 0 {
		old, err := in.Get(ctx, at, key)
		if err != nil {
			return err
		}
		if len(old) == 0 || over > entrySize(key, old) {
			return ErrQuota
		}
	}
	return in.Set(ctx, at, key, value)
}
