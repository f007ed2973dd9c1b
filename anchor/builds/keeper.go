package builds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// Bounds of what waits to be written.
const (
	queueBuilds = 256
	queueBytes  = 64 << 20
)

// batch is the largest number of builds in one write.
const batch = 64

// Limits say how long records are kept.
type Limits struct {
	// Keep is the age at which a record is deleted.
	Keep time.Duration
	// MaxSize is the size of all records of all tenants, in bytes. Beyond it the oldest records of
	// the tenant with the largest ones are deleted. What was written since the last look, within a
	// minute, may exceed it.
	MaxSize int64
}

// Stats are what a keeper has done so far, in builds.
type Stats struct {
	// Kept were written. Dropped were not, because too many waited. Failed were not, because they could
	// not be encoded, the store refused them, other processes kept writing, or Close could not wait.
	Kept, Dropped, Failed int64
	// Deleted were removed for their age or their size.
	Deleted int64
	// Waiting are still to be written.
	Waiting int64
}

// Keeper writes records of builds. Its methods are safe for concurrent use.
type Keeper struct {
	open func(context.Context) (store.Store, error)
	log  *slog.Logger
	now  func() time.Time
	// patience is how long a batch is written again while other processes write.
	patience time.Duration

	limits atomic.Pointer[Limits]
	queue  chan *Build
	begun  atomic.Bool  // a goroutine writes
	held   atomic.Int64 // bytes in the queue
	stats  struct{ kept, dropped, failed, deleted, waiting atomic.Int64 }

	mu     sync.RWMutex // guards closed against sends
	closed bool
	done   chan struct{}
	cancel context.CancelFunc

	// Of the goroutine that writes:
	said  time.Time // when a failure was logged
	swept time.Time
	fresh bool // something was written since
}

// NewKeeper returns a keeper that writes into the store that open returns. It opens the store for
// the first record, and does nothing before. Close the keeper before the store.
func NewKeeper(open func(context.Context) (store.Store, error), limits Limits, log *slog.Logger) *Keeper {
	k := &Keeper{open: open, log: log, now: time.Now, patience: patience, queue: make(chan *Build, queueBuilds), done: make(chan struct{})}
	k.limits.Store(&limits)
	return k
}

// SetLimits replaces the limits.
func (k *Keeper) SetLimits(l Limits) { k.limits.Store(&l) }

// Add takes a build, to write it later. It never waits: if too many builds wait already, or the
// keeper is closed, it counts the build as dropped.
func (k *Keeper) Add(b *Build) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	n := b.size()
	if !k.closed && k.begun.CompareAndSwap(false, true) {
		var ctx context.Context
		ctx, k.cancel = context.WithCancel(context.Background())
		go k.run(ctx)
	}
	if !k.closed && k.held.Add(n) <= queueBytes {
		k.stats.waiting.Add(1)
		select {
		case k.queue <- b:
			return
		default:
			k.stats.waiting.Add(-1)
		}
	}
	if !k.closed {
		k.held.Add(-n)
	}
	k.stats.dropped.Add(1)
}

// Stats returns what the keeper has done so far.
func (k *Keeper) Stats() Stats {
	s := &k.stats
	return Stats{Kept: s.kept.Load(), Dropped: s.dropped.Load(), Failed: s.failed.Load(), Deleted: s.deleted.Load(), Waiting: s.waiting.Load()}
}

// Flush waits until the builds that were added so far are written, or failed to be.
func (k *Keeper) Flush(ctx context.Context) error {
	if !k.begun.Load() {
		return nil
	}
	mark := &Build{reached: make(chan struct{})}
	if err := k.send(ctx, mark); err != nil {
		return err
	}
	select {
	case <-mark.reached:
		return nil
	case <-k.done: // it was closed
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send puts a mark into the queue, as soon as there is room.
func (k *Keeper) send(ctx context.Context, mark *Build) error {
	for {
		k.mu.RLock()
		if k.closed {
			k.mu.RUnlock()
			return nil
		}
		select {
		case k.queue <- mark:
			k.mu.RUnlock()
			return nil
		default:
		}
		k.mu.RUnlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// Close writes what waits and ends the keeper. If ctx ends first, what still waits is not written.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.queue)
	}
	k.mu.Unlock()
	if !k.begun.Load() {
		return nil
	}
	select {
	case <-k.done:
		return nil
	case <-ctx.Done():
		k.cancel()
		<-k.done
		return ctx.Err()
	}
}

// run writes what comes, until the queue is closed.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	defer k.cancel()
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case b, open := <-k.queue:
			if !open {
				return
			}
			list, reached := k.gather(b)
			if k.write(ctx, list); reached != nil {
				close(reached)
			}
			k.fresh = k.fresh || len(list) > 0
		case <-tick.C:
		}
		every := sweepEvery
		if !k.fresh {
			every = time.Hour // only their age can have changed
		}
		if passed(k.swept, k.now(), every) {
			k.sweep(ctx)
		}
	}
}

// passed reports whether a time has passed since a moment, or the clock was set back, so that nobody
// can tell. What is due is then done early rather than an hour late.
func passed(since, now time.Time, d time.Duration) bool {
	return now.Before(since) || now.Sub(since) >= d
}

// gather takes what waits beside a first build, up to a batch or a mark, grouped by tenant.
func (k *Keeper) gather(b *Build) (by map[string][]*Build, reached chan struct{}) {
	by = map[string][]*Build{}
	for n := 0; ; n++ {
		if b.reached != nil {
			return by, b.reached
		}
		by[b.Tenant] = append(by[b.Tenant], b)
		if n == batch {
			return by, nil
		}
		select {
		case next, open := <-k.queue:
			if !open {
				return by, nil // the next receive sees it as well
			}
			b = next
		default:
			return by, nil
		}
	}
}

// write writes builds of each tenant together.
func (k *Keeper) write(ctx context.Context, by map[string][]*Build) {
	until := time.Now().Add(k.patience)
	for tenant, list := range by {
		kept, err := k.writeTenant(ctx, tenant, list, until)
		k.stats.kept.Add(int64(kept))
		k.stats.failed.Add(int64(len(list) - kept))
		k.stats.waiting.Add(-int64(len(list)))
		for _, b := range list {
			k.held.Add(-b.size())
		}
		if err != nil {
			k.complain("records of builds are not written", err)
		}
	}
}

// complain logs an error, at most once a minute.
func (k *Keeper) complain(what string, err error) {
	if now := k.now(); k.said.IsZero() || passed(k.said, now, time.Minute) {
		k.said = now
		k.log.Warn(what, "error", err, "failed", k.stats.failed.Load(), "dropped", k.stats.dropped.Load())
	}
}

// writeTenant writes builds of one tenant, and returns how many. Builds whose records cannot be
// made are left out.
func (k *Keeper) writeTenant(ctx context.Context, tenant string, list []*Build, until time.Time) (int, error) {
	s, err := k.open(ctx)
	if err != nil {
		return 0, err
	}
	var failed error
	kept := 0
	for len(list) > 0 {
		var records []written
		size := int64(0)
		for len(list) > 0 && size < store.MaxBatchData/4 {
			r := written{marked: marked{list[0].summary(), list[0].marks()}}
			var err error
			r.doc, err = list[0].encode()
			list = list[1:]
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			r.Bytes = int64(len(r.doc))
			size += r.Bytes
			records = append(records, r)
		}
		if err := put(ctx, s, tenant, records, until); err != nil {
			return kept, errors.Join(failed, err)
		}
		kept += len(records)
	}
	return kept, failed
}

// Records are written again while other processes write: those of one batch for as long as patience
// says, because a batch that waits holds up all others and the end of the process, but each tenant's
// at least so many times, because one tenant may use that time up.
const (
	patience = time.Second
	attempts = 10
)

// longestPause is the longest wait before the next attempt.
const longestPause = 50 * time.Millisecond

// pause waits after n failed attempts. The time is random: processes that wait equally long would
// meet again, and the same one would lose each time.
func pause(ctx context.Context, n int) error {
	longest := min(time.Millisecond<<min(n, 10), longestPause)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(longest)):
		return nil
	}
}

// written is a record as it is written: the detail is encoded.
type written struct {
	marked
	doc json.RawMessage
}

// put writes records after those that are there. It tries again until the time until.
func put(ctx context.Context, s store.Store, tenant string, records []written, until time.Time) error {
	summaries, details := store.Key{Tenant: tenant, Kind: KindSummary}, store.Key{Tenant: tenant, Kind: KindDetail}
	for n := 1; ; n++ {
		var newest, sum int64
		last, err := lastSummary(ctx, s, tenant)
		if err != nil {
			return err
		}
		if last != nil {
			newest, sum = last.seq, last.Until
		}
		first, second := store.Change{Key: summaries, IfNewest: &newest}, store.Change{Key: details}
		for i := range records {
			r := &records[i]
			sum += r.Bytes
			r.Until = sum
			doc, err := json.Marshal(&r.marked)
			if err != nil {
				return fmt.Errorf("build %s: %w", r.ID, err)
			}
			first.Put = append(first.Put, store.Record{ID: r.ID, Time: r.Time, Data: doc})
			second.Put = append(second.Put, store.Record{ID: r.ID, Time: r.Time, Data: r.doc})
		}
		if err = s.Apply(ctx, first, second); !errors.Is(err, store.ErrConflict) {
			return err
		}
		ended := pause(ctx, n)
		if ended != nil || n >= attempts && time.Now().After(until) {
			return fmt.Errorf("write records of builds: other processes wrote %d times meanwhile: %w", n, errors.Join(err, ended))
		}
	}
}
