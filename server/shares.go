package server

import (
	"sync"
	"sync/atomic"
)

// shares counts what tenants have of something that all of them share, such as bytes in memory. A
// tenant may have as much as is left. So one alone has half, and however many take what they can,
// something is left for the next.
type shares struct {
	limit int64
	used  atomic.Int64 // changes under mu

	mu      sync.Mutex
	tenants map[string]int64
}

func newShares(limit int64) *shares { return &shares{limit: limit, tenants: map[string]int64{}} }

// take takes some for a tenant, and reports whether it may have it.
func (s *shares) take(tenant string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants[tenant]+n > s.limit-s.used.Load() {
		return false
	}
	s.add(tenant, n)
	return true
}

// takeOne is take for those of which a tenant may always have one.
func (s *shares) takeOne(tenant string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.tenants[tenant]; own > 0 && own+n > s.limit-s.used.Load() {
		return false
	}
	s.add(tenant, n)
	return true
}

// add counts some for a tenant. The caller holds mu.
func (s *shares) add(tenant string, n int64) {
	s.used.Add(n)
	s.tenants[tenant] += n
}

// give gives some back.
func (s *shares) give(tenant string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(-n)
	if s.tenants[tenant] -= n; s.tenants[tenant] <= 0 {
		delete(s.tenants, tenant)
	}
}
