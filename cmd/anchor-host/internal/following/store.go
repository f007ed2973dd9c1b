package following

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/store"
)

// shared is the store of a cluster, which is opened when it is first used: a host can begin without it. It has
// what package cluster calls.
type shared struct {
	store.Store // nil: the other methods are not called
	loaded      *config.Loaded

	mu   sync.Mutex
	open store.Store
}

func (s *shared) get(ctx context.Context) (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		opened, err := agentstore.Open(ctx, s.loaded.StorePath(), s.loaded.Store.Synchronous)
		if err != nil {
			return nil, err
		}
		s.open = opened
	}
	return s.open, nil
}

func (s *shared) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	to, err := s.get(ctx)
	if err != nil {
		return store.Record{}, err
	}
	return to.Get(ctx, key, id)
}

func (s *shared) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	to, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	return to.Read(ctx, key, after, limit)
}

func (s *shared) Put(ctx context.Context, key store.Key, rec store.Record) error {
	to, err := s.get(ctx)
	if err != nil {
		return err
	}
	return to.Put(ctx, key, rec)
}

func (s *shared) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	to, err := s.get(ctx)
	if err != nil {
		return 0, err
	}
	return to.Delete(ctx, key, ids...)
}

func (s *shared) Apply(ctx context.Context, changes ...store.Change) error {
	to, err := s.get(ctx)
	if err != nil {
		return err
	}
	return to.Apply(ctx, changes...)
}

func (s *shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil
	}
	return s.open.Close()
}
