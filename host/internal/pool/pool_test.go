package pool

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const longWait = 30 * time.Second

// newPool makes a pool whose values need no cleaning.
func newPool[T comparable](max int, make func(context.Context) (T, error), close func(T)) *Pool[T] {
	return New(Options[T]{Max: max, Make: make, Close: close})
}

// counted is a pool of numbered values that counts what was closed.
func counted(max int) (*Pool[int64], *atomic.Int64, *atomic.Int64) {
	var made, closed atomic.Int64
	return newPool(max, func(context.Context) (int64, error) { return made.Add(1), nil }, func(int64) { closed.Add(1) }), &made, &closed
}

func TestPoolLendsAtMostMax(t *testing.T) {
	p, made, closed := counted(2)
	a, errA := p.Get(t.Context(), longWait)
	b, errB := p.Get(t.Context(), longWait)
	if errA != nil || errB != nil || a == b {
		t.Fatal(a, b, errA, errB)
	}
	if _, err := p.Get(t.Context(), time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Errorf("third get: error %v (want ErrBusy)", err)
	}
	p.Put(a)
	if v, err := p.Get(t.Context(), longWait); err != nil || v != a {
		t.Errorf("value %d, error %v (want %d)", v, err, a)
	}
	p.Put(a)
	p.Put(b)
	if err := p.Shutdown(t.Context()); err != nil || made.Load() != 2 || closed.Load() != 2 {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// waiting blocks until n borrowers wait.
func waiting[T comparable](p *Pool[T], n int) {
	for {
		p.mu.Lock()
		have := len(p.waiters)
		p.mu.Unlock()
		if have == n {
			return
		}
	}
}

func TestPoolServesInOrder(t *testing.T) {
	p, _, _ := counted(1)
	v, err := p.Get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan int, 3)
	for i := range 3 {
		go func() {
			v, err := p.Get(context.Background(), longWait)
			if err != nil {
				order <- -1
				return
			}
			order <- i
			p.Put(v)
		}()
		waiting(p, i+1)
	}
	p.Put(v)
	for want := range 3 {
		if got := <-order; got != want {
			t.Errorf("served %d (want %d)", got, want)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPoolReplacesWhatIsDropped(t *testing.T) {
	p, made, closed := counted(1)
	v, err := p.Get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int64)
	go func() {
		v, _ := p.Get(context.Background(), longWait)
		got <- v
	}()
	waiting(p, 1)
	p.drop()
	if next := <-got; next == v || made.Load() != 2 {
		t.Errorf("value %d after %d, made %d", next, v, made.Load())
	}
	p.Put(2)
	if err := p.Shutdown(t.Context()); err != nil || closed.Load() != 1 {
		t.Errorf("error %v, closed %d (want the second one only)", err, closed.Load())
	}
}

func TestPoolReportsWhyNoneCouldBeMade(t *testing.T) {
	broken := errors.New("broken")
	p := newPool(1, func(context.Context) (int, error) { return 0, broken }, func(int) {})
	for range 2 {
		if _, err := p.Get(t.Context(), longWait); !errors.Is(err, broken) {
			t.Errorf("error %v (want broken)", err)
		}
	}
	if total, _ := p.Counts(); total != 0 {
		t.Errorf("%d places taken", total)
	}
	if err := p.First(t.Context(), func(int) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("first: error %v (want broken)", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A value that takes longer to make than its borrower waits serves the next.
func TestPoolKeepsMakingAfterBorrowerLeft(t *testing.T) {
	gate := make(chan struct{})
	p := newPool(1, func(context.Context) (int, error) { <-gate; return 7, nil }, func(int) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Get(ctx, longWait); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v (want canceled)", err)
	}
	close(gate)
	if v, err := p.Get(t.Context(), longWait); err != nil || v != 7 {
		t.Errorf("value %d, error %v", v, err)
	}
	p.Put(7)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPoolShutdown(t *testing.T) {
	p, _, closed := counted(1)
	v, err := p.Get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	turnedAway := make(chan error)
	go func() {
		_, err := p.Get(context.Background(), longWait)
		turnedAway <- err
	}()
	waiting(p, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown with a lent value: error %v (want the context's)", err)
	}
	if err := <-turnedAway; !errors.Is(err, ErrClosed) {
		t.Errorf("waiter: error %v (want ErrClosed)", err)
	}
	if _, err := p.Get(t.Context(), longWait); !errors.Is(err, ErrClosed) {
		t.Errorf("get: error %v (want ErrClosed)", err)
	}
	p.Put(v)
	if err := p.Shutdown(t.Context()); err != nil || closed.Load() != 1 {
		t.Errorf("error %v, closed %d", err, closed.Load())
	}
}

// Nothing has to be waited for when nothing is lent.
// Whoever shuts a pool down finds all values closed, also those that another closes at
// the same time.
func TestPoolShutdownBesideAnother(t *testing.T) {
	gate, closing := make(chan struct{}), make(chan struct{})
	var made, closed atomic.Int64
	p := newPool(2, func(context.Context) (int64, error) { return made.Add(1), nil }, func(v int64) {
		if v == 1 {
			close(closing)
			<-gate
		}
		closed.Add(1)
	})
	for range 2 {
		p.add(p.mustMake(t))
	}
	first := make(chan error)
	go func() { first <- p.Shutdown(t.Context()) }()
	<-closing
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Shutdown(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v while a value is being closed (want that of the context)", err)
	}
	close(gate)
	if err := errors.Join(<-first, p.Shutdown(t.Context())); err != nil || closed.Load() != 2 {
		t.Errorf("error %v, closed %d", err, closed.Load())
	}
}

// mustMake makes a value as a borrower would have it made.
func (p *Pool[T]) mustMake(t *testing.T) T {
	t.Helper()
	p.mu.Lock()
	p.total++
	p.mu.Unlock()
	v, err := p.make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPoolShutdownUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		p, _, _ := counted(1)
		v, err := p.Get(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("shut down with a value lent: error %v", err)
		}
		p.Put(v)
		if err := p.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// The hammer: every value has one owner at a time, and none is lost or closed
// twice, whatever goes wrong.
func TestPoolHammer(t *testing.T) {
	type value struct{ owner, closed atomic.Int32 }
	var live, fails atomic.Int64
	p := newPool(3, func(context.Context) (*value, error) {
		if fails.Add(1)%7 == 0 {
			return nil, ErrBusy
		}
		live.Add(1)
		return &value{}, nil
	}, func(v *value) {
		if v.closed.Add(1) != 1 {
			t.Error("closed twice")
		}
		live.Add(-1)
	})
	var cleaned atomic.Int64
	p.clean = func(v *value) bool {
		if v.owner.Add(1) != 1 || v.closed.Load() != 0 {
			t.Error("cleaned while lent or closed")
		}
		v.owner.Add(-1)
		return cleaned.Add(1)%5 != 0
	}
	p.quick = func(*value) bool { return cleaned.Load()%3 == 0 }
	p.stamp = func(v *value) time.Duration {
		if v.owner.Load() != 0 || v.closed.Load() != 0 {
			t.Error("looked at while lent or closed")
		}
		return time.Duration(cleaned.Load() % 3)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.newPool(rand.NewPCG(uint64(g), 1))
			for range 400 {
				ctx, cancel := context.WithCancel(context.Background())
				if r.IntN(5) == 0 {
					go cancel()
				}
				v, err := p.Get(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
				cancel()
				if err != nil {
					continue
				}
				if v.owner.Add(1) != 1 || v.closed.Load() != 0 {
					t.Error("lent twice or closed")
				}
				v.owner.Add(-1)
				switch r.IntN(9) {
				case 0, 1:
					p.close(v)
					p.drop()
				case 2, 3:
					p.Put(v)
				case 4:
					p.Owe()
					p.GiveBack(v)
					p.Forgive()
				case 5:
					v, err := p.Exchange(context.Background(), time.Millisecond, v, func(w *value) bool { return w != v })
					if err != nil {
						continue
					}
					if v.owner.Add(1) != 1 || v.closed.Load() != 0 {
						t.Error("exchanged for what is lent or closed")
					}
					v.owner.Add(-1)
					p.Put(v)
				default:
					p.GiveBack(v)
				}
				if r.IntN(4) == 0 {
					p.Oldest()
					p.Reclaim(time.Duration(r.IntN(3)))
				}
			}
		}()
	}
	wg.Wait()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := live.Load(); n != 0 {
		t.Errorf("%d values left", n)
	}
}

// washed is a pool whose values must be cleaned; those that stay dirty are the
// ones for which stuck holds.
func washed(max int, stuck func(int64) bool) (p *Pool[int64], made, closed *atomic.Int64) {
	p, made, closed = counted(max)
	p.clean = func(v int64) bool { return !stuck(v) }
	return p, made, closed
}

func TestPoolCleansWhatWasUsed(t *testing.T) {
	var stuck atomic.Bool
	p, made, closed := washed(1, func(int64) bool { return stuck.Load() })
	for _, tc := range []struct {
		want  int64
		stuck bool
	}{{1, false}, {1, true}, {2, false}, {2, true}, {3, false}} {
		v, err := p.Get(t.Context(), longWait)
		if err != nil || v != tc.want {
			t.Fatalf("value %d, error %v (want %d)", v, err, tc.want)
		}
		stuck.Store(tc.stuck)
		p.GiveBack(v)
	}
	if err := p.Shutdown(t.Context()); err != nil || made.Load() != closed.Load() {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// As many values as stated are there before anybody asks, and again after some
// are closed.
func TestPoolKeepsItsMinimum(t *testing.T) {
	p, made, closed := counted(5)
	p.min = 3
	if err := p.First(t.Context(), func(int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	await := func(idle int) {
		t.Helper()
		for deadline := time.Now().Add(longWait); ; runtime.Gosched() {
			if _, n := p.Counts(); n == idle {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not %d idle values", idle)
			}
		}
	}
	await(3)
	for range 4 {
		v, err := p.Get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		p.Discard(v)
		await(3)
	}
	if err := p.Shutdown(t.Context()); err != nil || made.Load() != closed.Load() {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// What is cleaned quickly is clean when it is back, and no spare is made for it.
func TestPoolCleansQuicklyAtOnce(t *testing.T) {
	var stuck atomic.Bool
	p, made, closed := washed(3, func(int64) bool { return stuck.Load() })
	p.quick = func(int64) bool { return true }
	for range 10 {
		v, err := p.Get(t.Context(), longWait)
		if err != nil || v != 1 {
			t.Fatalf("value %d, error %v", v, err)
		}
		p.GiveBack(v)
		if total, idle := p.Counts(); total != 1 || idle != 1 {
			t.Fatalf("%d values, %d idle", total, idle)
		}
	}
	v, _ := p.Get(t.Context(), longWait)
	stuck.Store(true)
	if p.GiveBack(v); closed.Load() != 1 {
		t.Error("what stays dirty is not closed")
	}
	if v, err := p.Get(t.Context(), longWait); err != nil || v == 1 {
		t.Errorf("value %d, error %v", v, err)
	} else {
		p.Put(v)
	}
	if err := p.Shutdown(t.Context()); err != nil || made.Load() != closed.Load() {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// One borrower after the other gets a spare value while the last one is cleaned,
// and never more than that.
func TestPoolKeepsOneSpare(t *testing.T) {
	gate := make(chan struct{})
	p, made, _ := counted(10)
	p.clean = func(int64) bool { <-gate; return true }
	a, errA := p.Get(t.Context(), longWait)
	p.GiveBack(a)
	for { // until the cleaner has it
		p.mu.Lock()
		taken := len(p.used) == 0
		p.mu.Unlock()
		if taken {
			break
		}
	}
	b, errB := p.Get(t.Context(), longWait)
	if errA != nil || errB != nil || a == b {
		t.Fatal(a, b, errA, errB)
	}
	close(gate)
	p.GiveBack(b)
	for range 50 {
		v, err := p.Get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		p.GiveBack(v)
	}
	if n := made.Load(); n > 3 {
		t.Errorf("%d values made for one borrower at a time", n)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A spare that cannot be made is no reason to fail those who wait for a value
// that is being cleaned.
func TestPoolWaitsForTheCleanerWhenNoSpareCanBeMade(t *testing.T) {
	gate := make(chan struct{})
	broken := errors.New("no room")
	var made atomic.Int64
	p := newPool(2, func(context.Context) (int64, error) {
		if made.Add(1) > 1 {
			return 0, broken
		}
		return 1, nil
	}, func(int64) {})
	p.clean = func(int64) bool { <-gate; return true }
	v, err := p.Get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	p.GiveBack(v)
	got := make(chan error)
	go func() {
		v, err := p.Get(context.Background(), longWait)
		if err == nil {
			p.GiveBack(v)
		}
		got <- err
	}()
	for made.Load() < 2 {
		p.mu.Lock()
		done := p.lent > 0 // the borrower cleans it itself
		p.mu.Unlock()
		if done {
			break
		}
	}
	close(gate)
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Nor is it one to fail those who wait while a value is lent: they get that one, or
// the error when it does not come back.
func TestPoolWaitsForALentValueWhenNoneCanBeMade(t *testing.T) {
	broken := errors.New("no room")
	for _, comesBack := range []bool{true, false} {
		var made atomic.Int64
		p := newPool(3, func(context.Context) (int64, error) {
			if made.Add(1) > 1 {
				return 0, broken
			}
			return 1, nil
		}, func(int64) {})
		v, err := p.Get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 2)
		for range cap(got) {
			go func() {
				v, err := p.Get(context.Background(), longWait)
				if err == nil {
					p.Put(v)
				}
				got <- err
			}()
		}
		for made.Load() < 2 {
			runtime.Gosched()
		}
		want := broken
		if comesBack {
			want = nil
			p.Put(v)
		} else {
			p.drop()
		}
		for range cap(got) {
			if err := <-got; !errors.Is(err, want) {
				t.Errorf("comes back %v: error %v", comesBack, err)
			}
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A panic while the first value is made leaves no place behind.
func TestPoolFirstPanics(t *testing.T) {
	p, _, _ := counted(1)
	func() {
		defer func() { _ = recover() }()
		_ = p.First(t.Context(), func(int64) error { panic("unexpected") })
	}()
	if total, _ := p.Counts(); total != 0 {
		t.Errorf("%d places taken", total)
	}
}

// The value that came back last is lent first.
func TestPoolLendsTheLastReturned(t *testing.T) {
	p, _, _ := counted(2)
	a, errA := p.Get(t.Context(), longWait)
	b, errB := p.Get(t.Context(), longWait)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	for _, order := range [][2]int64{{a, b}, {b, a}} {
		p.Put(order[0])
		p.Put(order[1])
		for _, want := range []int64{order[1], order[0]} {
			if v, err := p.Get(t.Context(), longWait); err != nil || v != want {
				t.Errorf("lent %d, %v, want %d", v, err, want)
			}
		}
	}
}

// A value that comes back at the moment in which somebody begins to wait reaches a waiter.
func TestReturnedValuesReachThoseWhoWait(t *testing.T) {
	p, made, closed := counted(1)
	for range 5000 {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				v, err := p.Get(t.Context(), longWait)
				if err != nil {
					t.Error(err)
					return
				}
				p.Put(v)
			})
		}
		if all.Wait(); t.Failed() {
			return
		}
	}
	if total, idle := p.Counts(); total != 1 || idle != 1 {
		t.Errorf("%d values, %d idle", total, idle)
	}
	if err := p.Shutdown(t.Context()); err != nil || made.Load() != 1 || closed.Load() != 1 {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// A value that comes back at the moment in which the pool is closed is closed.
func TestReturnedValuesAreClosed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	for range 5000 {
		p, made, closed := counted(2)
		v, err := p.Get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		go p.Put(v)
		runtime.Gosched()
		if err := p.Shutdown(ctx); err != nil || made.Load() != closed.Load() {
			t.Fatalf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
		}
	}
}

// A visit sees the idle values alone, and says whether it missed any that will be idle
// again.
func TestPoolVisitsWhatIsIdle(t *testing.T) {
	p, _, _ := counted(2)
	visit := func() (n int, all bool) {
		all = p.Visit(func(int64) { n++ })
		return n, all
	}
	check := func(when string, want int, all bool) {
		t.Helper()
		if n, got := visit(); n != want || got != all {
			t.Errorf("%s: a visit sees %d, all there are: %t (want %d, %t)", when, n, got, want, all)
		}
	}
	check("empty", 0, true)
	a, errA := p.Get(t.Context(), longWait)
	b, errB := p.Get(t.Context(), longWait)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	check("both lent", 0, false)
	p.Put(a)
	check("one lent", 1, false)
	p.Put(b)
	check("both idle", 2, true)
	v, err := p.Get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("shut down with one lent: error %v", err)
	}
	check("closed, one lent", 0, true)
	p.Put(v)
}

// The idle value that was used longest ago is closed first, wherever it lies, and never
// the last one, nor while somebody has it.
func TestPoolReclaims(t *testing.T) {
	p, _, closed := counted(4)
	used := map[int64]time.Duration{}
	p.stamp = func(v int64) time.Duration { return used[v] }
	var lent []int64
	for i := range 4 {
		v, err := p.Get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		lent, used[v] = append(lent, v), time.Duration(10-i)
	}
	if at, surplus := p.Oldest(); at != math.MaxInt64 || !surplus || p.Reclaim(math.MaxInt64) {
		t.Errorf("oldest of those that are lent: %v, %v", at, surplus)
	}
	for _, v := range lent {
		p.Put(v)
	}
	if p.Reclaim(7) {
		t.Error("closed what was used later")
	}
	for _, want := range []time.Duration{7, 8, 9} {
		if at, surplus := p.Oldest(); at != want || !surplus || !p.Reclaim(at+1) {
			t.Errorf("oldest %v, %v (want %v)", at, surplus, want)
		}
	}
	if _, surplus := p.Oldest(); surplus || p.Reclaim(math.MaxInt64) || closed.Load() != 3 {
		t.Errorf("%d closed", closed.Load())
	}
	if v, err := p.Get(t.Context(), longWait); err != nil || v != lent[0] {
		t.Errorf("value %d, error %v", v, err)
	}
	p.Put(lent[0])
	if err := p.Shutdown(t.Context()); err != nil || closed.Load() != 4 {
		t.Errorf("error %v, %d closed", err, closed.Load())
	}
}

// A pool that owes a value closes the next one that comes back, but not its last, and
// keeps all when that is forgiven.
func TestPoolPaysWhatItOwes(t *testing.T) {
	p, _, closed := counted(3)
	p.stamp = func(int64) time.Duration { return 0 }
	lend := func(n int) (lent []int64) {
		for range n {
			v, err := p.Get(t.Context(), longWait)
			if err != nil {
				t.Fatal(err)
			}
			lent = append(lent, v)
		}
		return lent
	}
	for _, v := range lend(3) {
		p.Owe()
		p.Put(v)
	}
	if total, idle := p.Counts(); total != 1 || idle != 1 || closed.Load() != 2 {
		t.Errorf("%d values, %d idle, %d closed", total, idle, closed.Load())
	}
	p.Forgive()
	lent := lend(3)
	p.Owe()
	p.Forgive()
	for _, v := range lent {
		p.Put(v)
	}
	if total, idle := p.Counts(); total != 3 || idle != 3 {
		t.Errorf("%d values, %d idle", total, idle)
	}
	if err := p.Shutdown(t.Context()); err != nil || closed.Load() != 5 {
		t.Errorf("error %v, %d closed", err, closed.Load())
	}
}
