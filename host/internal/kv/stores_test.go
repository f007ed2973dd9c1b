package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// mapStore is a store of an embedder.
type mapStore struct {
	mu     sync.Mutex
	values map[Owner]map[string][]byte
	err    error
}

func (m *mapStore) Get(_ context.Context, at Owner, key string) ([]byte, error) {
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[at][key], m.err
}

func (m *mapStore) Set(_ context.Context, at Owner, key string, value []byte) error {
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[at] == nil {
		m.values[at] = map[string][]byte{}
	}
	m.values[at][key] = value
	return m.err
}

func (m *mapStore) Delete(_ context.Context, at Owner, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values[at], key)
	return m.err
}

func (m *mapStore) Usage(_ context.Context, at Owner) (keys, bytes int64, err error) {
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, value := range m.values[at] {
		bytes += int64(len(key) + len(value))
	}
	return int64(len(m.values[at])), bytes, m.err
}

func (m *mapStore) Forget(_ context.Context, tenant string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.values, func(at Owner, _ map[string][]byte) bool { return at.Tenant == tenant })
	return m.err
}

// Both kinds of stores answer the same: values are copies, one takes the place of another
// within the quota, and an empty one deletes.
func TestStores(t *testing.T) {
	ask := func(_ string, f func(context.Context) ([]byte, error)) ([]byte, error) { return f(t.Context()) }
	for name, s := range map[string]*Stores{"memory": New(1<<20, nil), "given": New(0, &mapStore{values: map[Owner]map[string][]byte{}})} {
		a, b := Owner{"p", "a"}, Owner{"p", "b"}
		set := func(at Owner, key, value string, want error) {
			t.Helper()
			v := []byte(value)
			if err := s.Set(ask, at, 200, key, v); !errors.Is(err, want) {
				t.Errorf("%s: set %s: %v, want %v", name, key, err, want)
			}
			clear(v)
		}
		get := func(at Owner, key, want string) {
			t.Helper()
			if v, err := s.Get(ask, at, key); err != nil || string(v) != want {
				t.Errorf("%s: get %s: %q, %v, want %q", name, key, v, err, want)
			}
		}
		long := strings.Repeat("x", 100)
		get(a, "k", "")
		set(a, "k", "one", nil)
		set(b, "k", "two", nil)
		set(a, "k", long, nil)
		set(a, "l", long, ErrQuota)
		set(a, "k", long+long, ErrQuota)
		get(a, "k", long)
		get(b, "k", "two")
		set(a, "k", "", nil)
		set(a, "l", long, nil)
		get(a, "k", "")
		if err := s.Forget(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		get(a, "l", "")
		get(b, "k", "two")
	}
}

// Callers of one owner cannot take the last room of its quota twice, and leave no turn behind.
func TestQuotaAtOnce(t *testing.T) {
	kept, at := &mapStore{values: map[Owner]map[string][]byte{}}, Owner{"p", "a"}
	s := New(0, kept)
	ask := func(_ string, f func(context.Context) ([]byte, error)) ([]byte, error) { return f(t.Context()) }
	var all sync.WaitGroup
	var stored atomic.Int32
	for i := range 32 {
		all.Go(func() {
			err := s.Set(ask, at, 1000, fmt.Sprintf("%02d", i), make([]byte, 34)) // 100 bytes
			if err == nil {
				stored.Add(1)
			} else if !errors.Is(err, ErrQuota) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if keys, bytes, _ := kept.Usage(t.Context(), at); keys != 10 || stored.Load() != 10 || bytes+64*keys > 1000 || len(s.turns.busy) != 0 {
		t.Errorf("%d keys with %d bytes, %d calls were good, %d turns are left", keys, bytes, stored.Load(), len(s.turns.busy))
	}
}

// One who waits for a turn goes away when the time is over, and an error of the store is that
// of the call.
func TestTurnsEnd(t *testing.T) {
	kept, at := &mapStore{err: errors.New("the disk is gone")}, Owner{"p", "a"}
	s := New(0, kept)
	leave, err := s.turns.enter(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.turns.set(over, kept, at, 1000, "k", []byte("v")); !errors.Is(err, context.Canceled) {
		t.Errorf("while another has the turn: %v", err)
	}
	leave()
	if err := s.turns.set(t.Context(), kept, at, 1000, "k", []byte("v")); !errors.Is(err, kept.err) || len(s.turns.busy) != 0 {
		t.Errorf("%v, %d turns are left", err, len(s.turns.busy))
	}
}
