// Package shares counts what tenants have of something that all of them share.
package shares

import (
	"sync"
	"sync/atomic"
)

// Shares counts what tenants have of something that all of them share, such as bytes in memory. A
// tenant may have as much as is left. So one alone has half, and however many take what they can,
// something is left for the next.
type Shares struct {
	limit int64
	used  atomic.Int64 // changes under mu

	mu      sync.Mutex
	tenants map[string]int64
}

// New returns shares of limit units, none of which is taken.
func New(limit int64) *Shares { return &Shares{limit: limit, tenants: map[string]int64{}} }

// Take takes some for a tenant, and reports whether it may have it.
func (s *Shares) Take(tenant string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants[tenant]+n > s.limit-s.used.Load() {
		return false
	}
	s.add(tenant, n)
	return true
}

// TakeOne is Take for those of which a tenant may always have one.
func (s *Shares) TakeOne(tenant string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.tenants[tenant]; own > 0 && own+n > s.limit-s.used.Load() {
		return false
	}
	s.add(tenant, n)
	return true
}

// add counts some for a tenant. The caller holds mu.
func (s *Shares) add(tenant string, n int64) {
	s.used.Add(n)
	s.tenants[tenant] += n
}

// Give gives some back.
func (s *Shares) Give(tenant string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(-n)
	if s.tenants[tenant] -= n; s.tenants[tenant] <= 0 {
		delete(s.tenants, tenant)
	}
}

// Used returns how much is taken, of all tenants.
func (s *Shares) Used() int64 { return s.used.Load() }
