package host

import "sync"

// kvStore is the key-value store of one plugin and tenant. It lives in the
// host, so it outlives instances. Safe for concurrent use.
type kvStore struct {
	mu     sync.Mutex
	quota  int64
	used   int64
	values map[string][]byte
}

// kvKey names a store. The tenant is empty where there is only one.
type kvKey struct{ plugin, tenant string }

// kvStores are the stores of a host.
type kvStores struct {
	mu     sync.Mutex
	stores map[kvKey]*kvStore
}

// open returns the store of a plugin, with a new quota if it exists already.
func (s *kvStores) open(key kvKey, quota int64) *kvStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores == nil {
		s.stores = map[kvKey]*kvStore{}
	}
	store := s.stores[key]
	if store == nil {
		store = &kvStore{values: map[string][]byte{}}
		s.stores[key] = store
	}
	store.mu.Lock()
	store.quota = quota
	store.mu.Unlock()
	return store
}

// get returns a value that nobody changes.
func (s *kvStore) get(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return v, ok
}

// set stores a copy of value, or deletes the key when value is empty, and
// reports whether the quota has room. A store that does not change when it has
// none stays as it was.
func (s *kvStore) set(key string, value []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.values[key]
	used := s.used
	if had {
		used -= entrySize(key, old)
	}
	if len(value) == 0 {
		delete(s.values, key)
		s.used = used
		return true
	}
	used += entrySize(key, value)
	if used > s.quota {
		return false
	}
	s.values[key], s.used = append([]byte(nil), value...), used
	return true
}

// entryOverhead is what an entry costs the host beside its bytes, so that many
// tiny ones cannot take far more than the quota.
const entryOverhead = 64

func entrySize(key string, value []byte) int64 {
	return int64(len(key)+len(value)) + entryOverhead
}
