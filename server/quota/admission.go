package quota

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/server"
)

// Options are what an [Admission] is made of.
type Options struct {
	// Limits returns the limits of the tenant of a principal, and those of its key alone. nil: there
	// are none.
	Limits func(server.Principal) (tenant, key Limits)
	// Stored returns how many records the store has of a tenant, and their bytes. nil: the limits
	// of the memory do not hold.
	Stored func(ctx context.Context, tenant string) (records, bytes int64, err error)
	// Collected returns how many bytes the collections of a tenant take. nil: the limit of the collections
	// does not hold.
	Collected func(ctx context.Context, tenant string) (bytes int64, err error)
	// Spent returns what a tenant has spent today with all of its keys, and with one, in US dollars. The day begins
	// at midnight in UTC. nil: the limits of money do not hold.
	Spent func(ctx context.Context, tenant, key string) (byTenant, byKey float64, err error)
	// Spend is called with what a request has used of models and other services. It may be nil.
	Spend func(tenant, key string, services []ledger.Line)
	// Queue are the bounds of the queue in front of the builds.
	Queue QueueOptions
}

// Admission holds the tenants of a service to their limits, and shares the builds among them. It is
// a [server.Admission]. Requests whose route needs the scope build are builds. Those that end
// within the time of a look-up, such as reading facts, do not wait.
type Admission struct {
	options Options
	limiter *Limiter
	queue   *Queue

	mu       sync.Mutex
	stocks   map[string]*stock
	exchange *exchange // nil unless the limits are shared with other hosts
}

// stock is how much the store had of a tenant lately, with what was added since.
type stock struct {
	mu             sync.Mutex
	read           time.Time
	records, bytes int64
}

const (
	// stockAge is how long a count of records is good for.
	stockAge = 10 * time.Second
	// maxStocks is how many counts are kept; then all are dropped.
	maxStocks = 4096
)

// New makes an admission.
func New(o Options) *Admission {
	if o.Limits == nil {
		o.Limits = func(server.Principal) (tenant, key Limits) { return }
	}
	return &Admission{options: o, limiter: NewLimiter(o.Limits), queue: NewQueue(o.Queue), stocks: map[string]*stock{}}
}

// Enter implements [server.Admission]: it counts a request.
func (a *Admission) Enter(p server.Principal, c server.Cost) error {
	_, err := a.limiter.admit(p, false, 1, c.Answer) // what no build uses needs no end
	return err
}

// Admit implements [server.Admission]: it gives a build its place.
func (a *Admission) Admit(ctx context.Context, p server.Principal, c server.Cost) (func(server.Usage), error) {
	isBuild := c.Scope == server.ScopeBuild && !quick(c.Action)
	enter, err := a.limiter.admit(p, isBuild, 0, c.Answer)
	if err != nil {
		return nil, err
	}
	settle := func(u server.Usage) {
		enter(u)
		if a.options.Spend != nil && len(u.Services) > 0 {
			a.options.Spend(p.Tenant, p.KeyID, u.Services)
		}
	}
	if err := a.check(ctx, p, c, isBuild); err != nil {
		settle(server.Usage{})
		return nil, err
	}
	if !isBuild {
		return settle, nil
	}
	leave, err := a.queue.Wait(ctx, p.Tenant, c.Bytes)
	if err != nil {
		settle(server.Usage{})
		return nil, err
	}
	release := func(u server.Usage) {
		leave()
		settle(u)
	}
	if err := a.checkMoney(ctx, p, nil); err != nil { // of those that waited, the first may have spent all
		release(server.Usage{})
		return nil, err
	}
	return release, nil
}

// quick reports whether an action only looks something up.
func quick(action string) bool {
	return strings.HasPrefix(action, "list") || strings.HasPrefix(action, "get") || strings.HasPrefix(action, "cancel")
}

// frees reports whether an action only removes records. It is allowed when the memory is full.
func frees(action string) bool {
	return strings.HasPrefix(action, "delete") || strings.HasPrefix(action, "forget")
}

// check refuses a request of a tenant that has no money or no room left for it.
func (a *Admission) check(ctx context.Context, p server.Principal, c server.Cost, isBuild bool) error {
	adds := c.Scope == server.ScopeCollectionsWrite && !frees(c.Action) && !quick(c.Action) // its vectors may cost something
	if isBuild || adds {
		if err := a.checkMoney(ctx, p, c.Answer); err != nil {
			return err
		}
	}
	switch {
	case adds:
		return a.checkCollections(ctx, p, c.Bytes)
	case c.Scope == server.ScopeMemoryWrite && !frees(c.Action):
		return a.checkMemory(ctx, p, c.Bytes)
	}
	return nil
}

// checkCollections refuses documents that do not fit beside what the collections of a tenant take. Those that
// wait or are being read do not count yet, and an index may be larger than its texts. So a tenant can get a
// little over its limit, and never much.
func (a *Admission) checkCollections(ctx context.Context, p server.Principal, size int64) error {
	tenant, key := a.options.Limits(p)
	limit := least(int64(tenant.CollectionBytes), int64(key.CollectionBytes))
	if a.options.Collected == nil || limit == 0 {
		return nil
	}
	has, err := a.options.Collected(ctx, p.Tenant)
	if err != nil {
		return fmt.Errorf("quota: size of the collections: %w", err)
	}
	if has+size <= limit {
		return nil
	}
	return &server.Refusal{
		Status: http.StatusForbidden, Reason: "collections_full", Message: fmt.Sprintf("the collections of the tenant have %d bytes, and may have %d", has, limit),
		Remedy: "delete documents, or ask the operator for more (quota collection_bytes)",
	}
}

// checkMemory refuses a request that adds to a memory that is full. What the records of the request
// are is not known; it counts as one record of its size. A count is good for some seconds, in which
// only what this host adds is known. So a tenant can get a little over its limit, and never much.
func (a *Admission) checkMemory(ctx context.Context, p server.Principal, size int64) error {
	tenant, key := a.options.Limits(p)
	records, bytes := least(tenant.MemoryRecords, key.MemoryRecords), least(int64(tenant.MemoryBytes), int64(key.MemoryBytes))
	if a.options.Stored == nil || records == 0 && bytes == 0 {
		return nil
	}
	s := a.stock(p.Tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) > stockAge {
		var err error
		if s.records, s.bytes, err = a.options.Stored(ctx, p.Tenant); err != nil {
			return fmt.Errorf("quota: size of the memory: %w", err)
		}
		s.read = time.Now()
	}
	full := func(what string, limit int64) error {
		s.read = time.Time{} // what was removed meanwhile counts for the next request
		return &server.Refusal{
			Status: http.StatusForbidden, Reason: "memory_full", Message: fmt.Sprintf("the memory of the tenant is full: it may have %d %s", limit, what),
			Remedy: "delete facts, conversations or runs, or ask the operator for more",
		}
	}
	switch {
	case records > 0 && s.records+1 > records:
		return full("records", records)
	case bytes > 0 && s.bytes+size > bytes:
		return full("bytes", bytes)
	}
	s.records, s.bytes = s.records+1, s.bytes+size
	return nil
}

// least returns the smaller of two limits, of which 0 means none.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (a *Admission) stock(tenant string) *stock {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stocks[tenant]
	if s == nil {
		if len(a.stocks) >= maxStocks {
			clear(a.stocks)
		}
		s = &stock{}
		a.stocks[tenant] = s
	}
	return s
}
