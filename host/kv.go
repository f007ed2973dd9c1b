package host

import (
	"bytes"
	"errors"
	"strings"
	"sync"
)

// kvStores are the key-value stores of a host without a Config.KVStore, in memory. They
// outlive instances and plugins. They are safe for concurrent use.
type kvStores struct {
	mu sync.Mutex
	// stores are those that are not empty.
	stores map[KVOwner]*kvStore
	// used is the size of all stores together, at most limit, in bytes.
	used, limit int64
}

// kvStore is what one plugin stored for one tenant.
type kvStore struct {
	used   int64
	values map[string][]byte
}

// The reasons for refusing a value: the store has reached its quota, or all stores together
// their limit.
var (
	errKVQuota = errors.New("the quota has no room")
	errKVFull  = errors.New("the key-value stores of the host have no room (raise its KVMemory, or forget tenants)")
)

// get returns a value, which nobody changes.
func (s *kvStores) get(key KVOwner, name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, there := s.stores[key]
	if !there {
		return nil, false
	}
	v, ok := st.values[name]
	return v, ok
}

// set stores a copy of value, or deletes the name if value is empty. If the value does not
// fit, nothing changes.
func (s *kvStores) set(key KVOwner, quota int64, name string, value []byte) error {
	if len(value) == 0 {
		s.remove(key, name)
		return nil
	}
	more, own := entrySize(name, value), int64(0)
	if more > quota {
		return errKVQuota
	}
	value = bytes.Clone(value) // before locking, so that nobody waits for the copy
	s.mu.Lock()
	defer s.mu.Unlock()
	st, there := s.stores[key]
	if !there {
		st, own = &kvStore{values: map[string][]byte{}}, storeSize(key)
	}
	if old, had := st.values[name]; had {
		more -= entrySize(name, old)
	}
	switch {
	case st.used+more > quota:
		return errKVQuota
	case more+own > s.limit-s.used:
		return errKVFull
	}
	st.values[name] = value
	st.used += more
	s.used += more + own
	if !there {
		// The tenant's name may be part of a longer text, which must not stay in memory.
		s.stores[KVOwner{Plugin: key.Plugin, Tenant: strings.Clone(key.Tenant)}] = st
	}
	return nil
}

// remove deletes a name, and the store if it is then empty.
func (s *kvStores) remove(key KVOwner, name string) {
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
func (s *kvStores) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, st := range s.stores {
		if key.Tenant == tenant {
			s.drop(key, st)
		}
	}
}

// size is the size of all stores together, in bytes.
func (s *kvStores) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// drop removes a store. s.mu is held.
func (s *kvStores) drop(key KVOwner, st *kvStore) {
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

func storeSize(key KVOwner) int64 { return int64(len(key.Plugin)+len(key.Tenant)) + storeOverhead }
