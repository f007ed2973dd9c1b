package kv

import (
	"bytes"
	"strings"
	"sync"
)

// memory are the stores of all owners, in memory.
type memory struct {
	mu sync.Mutex
	// stores are those that are not empty.
	stores map[Owner]*entries
	// used is the size of all stores together, at most limit, in bytes.
	used, limit int64
}

// entries are what one owner stored.
type entries struct {
	used   int64
	values map[string][]byte
}

// get returns a value, which nobody changes, nil if there is none.
func (s *memory) get(key Owner, name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, there := s.stores[key]
	if !there {
		return nil
	}
	return st.values[name]
}

// set stores a copy of value, or deletes the name if value is empty. If the value does not
// fit, nothing changes.
func (s *memory) set(key Owner, quota int64, name string, value []byte) error {
	if len(value) == 0 {
		s.remove(key, name)
		return nil
	}
	more, own := entrySize(name, value), int64(0)
	if more > quota {
		return ErrQuota
	}
	value = bytes.Clone(value) // before locking, so that nobody waits for the copy
	s.mu.Lock()
	defer s.mu.Unlock()
	st, there := s.stores[key]
	if !there {
		st, own = &entries{values: map[string][]byte{}}, storeSize(key)
	}
	if old, had := st.values[name]; had {
		more -= entrySize(name, old)
	}
	switch {
	case st.used+more > quota:
		return ErrQuota
	case more+own > s.limit-s.used:
		return ErrFull
	}
	st.values[name] = value
	st.used += more
	s.used += more + own
	if !there {
		// The tenant's name may be part of a longer text, which must not stay in memory.
		s.stores[Owner{Plugin: key.Plugin, Tenant: strings.Clone(key.Tenant)}] = st
	}
	return nil
}

// remove deletes a name, and the store if it is then empty.
func (s *memory) remove(key Owner, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, there := s.stores[key]
	if !there {
		return
	}
	if old, had := st.values[name]; had {
		delete(st.values, name)
		st.used -= entrySize(name, old)
		s.used -= entrySize(name, old)
	}
	if len(st.values) == 0 {
		s.drop(key, st)
	}
}

// forget drops the stores of a tenant.
func (s *memory) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, st := range s.stores {
		if key.Tenant == tenant {
			s.drop(key, st)
		}
	}
}

// size is the size of all stores together, in bytes.
func (s *memory) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// drop removes a store. s.mu is held.
func (s *memory) drop(key Owner, st *entries) {
	delete(s.stores, key)
	s.used -= st.used + storeSize(key)
}

const (
	// entryOverhead is what an entry counts besides its bytes, so that many tiny entries
	// cannot take far more than the quota.
	entryOverhead = 64
	// storeOverhead is what a store counts besides its entries, so that many tenants with
	// little data cannot take far more than the limit.
	storeOverhead = 512
)

func entrySize(name string, value []byte) int64 {
	return int64(len(name)+len(value)) + entryOverhead
}

func storeSize(key Owner) int64 { return int64(len(key.Plugin)+len(key.Tenant)) + storeOverhead }
