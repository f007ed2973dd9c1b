package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// guest is an instance of an owner: n bytes that were last used at a time.
type guest struct {
	used time.Duration
	n    int64
}

// owner has a pool of guests, each of which takes a place and some bytes.
type owner struct {
	*Share
	pool *pool.Pool[*guest]
}

// since is a clock that began at a time.
func since(began time.Time) func() time.Duration {
	return func() time.Duration { return time.Since(began) }
}

var errFull = fmt.Errorf("full: %w", pool.ErrNoRoom)

func (r *Room) open(t *testing.T, most int, size int64, idle time.Duration) *owner {
	t.Helper()
	o := &owner{Share: r.NewShare(idle)}
	if !o.Reserve() {
		t.Fatal("no place for an owner")
	}
	o.pool = pool.New(pool.Options[*guest]{Max: most,
		Make: func(context.Context) (*guest, error) {
			if r.Waiting() > 0 && o.Pooled() || !o.Enter(false) {
				return nil, errFull
			}
			if o.Charge(size) != NotRefused {
				o.Leave(false)
				return nil, errFull
			}
			return &guest{r.clock(), size}, nil
		},
		Close: func(g *guest) { o.Charge(-g.n); o.Leave(false) },
		Stamp: func(g *guest) time.Duration { return g.used },
	})
	o.Open(o.pool)
	t.Cleanup(func() {
		if err := o.pool.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		o.Close()
	})
	return o
}

// borrow lends n guests at a time.
func (o *owner) borrow(t *testing.T, n int) (lent []*guest) {
	t.Helper()
	for range n {
		g, err := o.pool.Get(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		lent = append(lent, g)
	}
	return lent
}

// use lends n guests at a time and takes them back.
func (o *owner) use(t *testing.T, n int) {
	t.Helper()
	for _, g := range o.borrow(t, n) {
		g.used = o.room.clock()
		o.pool.Put(g)
	}
}

func (o *owner) total() int { n, _ := o.pool.Counts(); return n }

func (r *Room) sweeping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timer != nil
}

func newRoom(instances, memory int64) *Room {
	return New(Options{Instances: instances, Memory: memory, Share: memory / 2, Clock: since(time.Now())})
}

// Instances that nobody uses are closed after their time, but for one. Nothing wakes up after
// that.
func TestIdleInstancesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(10, 100)
		o := r.open(t, 5, 1, time.Minute)
		o.use(t, 3)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := o.total(); n < 3 || !r.sweeping() {
			t.Errorf("%d instances before their time, sweeping %v", n, r.sweeping())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n, _ := r.Usage(); o.total() != 1 || n != 1 || o.Held() != 1 || r.sweeping() {
			t.Errorf("%d instances after their time, %d places, %d bytes, sweeping %v", o.total(), n, o.Held(), r.sweeping())
		}
	})
}

// What is in use, or was used just now, is not closed.
func TestUsedInstancesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(10, 100)
		o := r.open(t, 2, 1, time.Minute)
		lent := o.borrow(t, 2)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if o.total() != 2 || !r.sweeping() {
			t.Errorf("%d instances are left while they are in use, sweeping %v", o.total(), r.sweeping())
		}
		for _, g := range lent {
			g.used = r.clock()
			o.pool.Put(g)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if o.total() != 2 {
			t.Errorf("%d instances are left that were used just now", o.total())
		}
		r.Stop()
		time.Sleep(time.Hour)
		if o.total() != 2 || r.sweeping() {
			t.Errorf("%d instances are left after the end of sweeping", o.total())
		}
	})
}

// The idle instance that was used longest ago makes room, whosever it is. Each owner keeps one.
func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(6, 100)
		old, recent := r.open(t, 2, 1, time.Hour), r.open(t, 2, 1, time.Hour)
		for _, o := range []*owner{old, recent} {
			o.use(t, 2)
			time.Sleep(time.Second)
		}
		r.open(t, 1, 1, time.Hour)
		r.open(t, 1, 1, time.Hour)
		r.open(t, 1, 1, time.Hour)
		if old.total() != 1 || recent.total() != 2 {
			t.Errorf("%d and %d instances are left (want 1 and 2)", old.total(), recent.total())
		}
		r.open(t, 1, 1, time.Hour)
		if s := r.NewShare(0); s.Reserve() {
			t.Error("a place beyond the bound")
		}
		if n, _ := r.Usage(); n != 6 || old.total() != 1 || recent.total() != 1 {
			t.Errorf("%d places, %d and %d instances", n, old.total(), recent.total())
		}
	})
}

// The memory of an owner is bounded as soon as it has several instances, that of all together
// always. Idle instances give theirs.
func TestMemoryIsBounded(t *testing.T) {
	r := newRoom(10, 100)
	big := r.NewShare(time.Hour)
	if !big.Reserve() || !big.Enter(false) || big.Charge(80) != NotRefused || big.Charge(21) != RoomFull {
		t.Fatal("one instance has not the whole room")
	}
	if !big.Enter(true) || big.Charge(1) != ShareReached || big.Held() != 80 {
		t.Error("several instances have more than the share")
	}
	o := r.open(t, 2, 10, time.Hour)
	o.use(t, 2)
	if _, n := r.Usage(); n != 100 {
		t.Fatalf("%d bytes are held", n)
	}
	if big.Evict(ShareReached) || !big.Evict(RoomFull) || o.total() != 1 {
		t.Errorf("%d instances of another are left", o.total())
	}
	if !r.Take(10) || r.Take(1) {
		t.Error("memory of no instance is not bounded")
	}
	r.Give(10)
	big.Charge(-80)
	big.Leave(true)
	big.Leave(false)
	big.Close()
	if n, held := r.Usage(); n != 1 || held != 10 {
		t.Errorf("%d places and %d bytes are held", n, held)
	}
}

// One who waits for room gets what comes back first, and no owner makes further instances
// meanwhile.
func TestWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(3, 100)
		o := r.open(t, 3, 1, time.Hour)
		lent := o.borrow(t, 3)
		late := r.NewShare(time.Hour)
		try := func() error {
			if !late.Reserve() {
				return errFull
			}
			return nil
		}
		if err := r.Wait(t.Context(), time.Second, try); !errors.Is(err, pool.ErrNoRoom) || r.Waiting() != 0 {
			t.Errorf("error %v, %d wait", err, r.Waiting())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Wait(ctx, time.Hour, try); !errors.Is(err, pool.ErrNoRoom) || ctx.Err() == nil {
			t.Errorf("error %v", err)
		}
		done := make(chan error)
		go func() { done <- r.Wait(t.Context(), time.Hour, try) }()
		time.Sleep(time.Minute)
		o.pool.Put(lent[0])
		if err := <-done; err != nil || o.total() != 2 {
			t.Errorf("error %v, %d instances", err, o.total())
		}
		o.pool.Put(lent[1])
		o.pool.Put(lent[2])
		late.Close()
	})
}

// A budget never gives out more than it has.
func TestBudget(t *testing.T) {
	b := Budget{Limit: 1000}
	if b.Take(math.MaxInt64) || !b.Take(1000) || b.Take(1) || b.Used() != 1000 {
		t.Error("the bound does not hold")
	}
	b.Give(1000)
	var all sync.WaitGroup
	var held, most atomic.Int64
	for range 8 {
		all.Go(func() {
			for range 10_000 {
				if b.Take(300) {
					if n := held.Add(300); n > most.Load() {
						most.Store(n)
					}
					held.Add(-300)
					b.Give(300)
				}
			}
		})
	}
	all.Wait()
	if b.Used() != 0 || most.Load() > 1000 {
		t.Errorf("%d are used, %d were at most", b.Used(), most.Load())
	}
}
