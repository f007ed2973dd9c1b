package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const longWait = 30 * time.Second

// counted is a pool of numbered values that counts what was closed.
func counted(max int) (*pool[int64], *atomic.Int64, *atomic.Int64) {
	var made, closed atomic.Int64
	return newPool(max, func(context.Context) (int64, error) { return made.Add(1), nil }, func(int64) { closed.Add(1) }), &made, &closed
}

func TestPoolLendsAtMostMax(t *testing.T) {
	p, made, closed := counted(2)
	a, errA := p.get(t.Context(), longWait)
	b, errB := p.get(t.Context(), longWait)
	if errA != nil || errB != nil || a == b {
		t.Fatal(a, b, errA, errB)
	}
	if _, err := p.get(t.Context(), time.Millisecond); !errors.Is(err, errBusy) {
		t.Errorf("third get: error %v (want errBusy)", err)
	}
	p.put(a)
	if v, err := p.get(t.Context(), longWait); err != nil || v != a {
		t.Errorf("value %d, error %v (want %d)", v, err, a)
	}
	p.put(a)
	p.put(b)
	if err := p.shutdown(t.Context()); err != nil || made.Load() != 2 || closed.Load() != 2 {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// waiting blocks until n borrowers wait.
func waiting[T any](p *pool[T], n int) {
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
	v, err := p.get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan int, 3)
	for i := range 3 {
		go func() {
			v, err := p.get(context.Background(), longWait)
			if err != nil {
				order <- -1
				return
			}
			order <- i
			p.put(v)
		}()
		waiting(p, i+1)
	}
	p.put(v)
	for want := range 3 {
		if got := <-order; got != want {
			t.Errorf("served %d (want %d)", got, want)
		}
	}
	if err := p.shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPoolReplacesWhatIsDropped(t *testing.T) {
	p, made, closed := counted(1)
	v, err := p.get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan int64)
	go func() {
		v, _ := p.get(context.Background(), longWait)
		got <- v
	}()
	waiting(p, 1)
	p.drop()
	if next := <-got; next == v || made.Load() != 2 {
		t.Errorf("value %d after %d, made %d", next, v, made.Load())
	}
	p.put(2)
	if err := p.shutdown(t.Context()); err != nil || closed.Load() != 1 {
		t.Errorf("error %v, closed %d (want the second one only)", err, closed.Load())
	}
}

func TestPoolReportsWhyNoneCouldBeMade(t *testing.T) {
	broken := errors.New("broken")
	p := newPool(1, func(context.Context) (int, error) { return 0, broken }, func(int) {})
	for range 2 {
		if _, err := p.get(t.Context(), longWait); !errors.Is(err, broken) {
			t.Errorf("error %v (want broken)", err)
		}
	}
	if total, _ := p.counts(); total != 0 {
		t.Errorf("%d places taken", total)
	}
	if err := p.first(t.Context(), func(int) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("first: error %v (want broken)", err)
	}
	if err := p.shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A value that takes longer to make than its borrower waits serves the next.
func TestPoolKeepsMakingAfterBorrowerLeft(t *testing.T) {
	gate := make(chan struct{})
	p := newPool(1, func(context.Context) (int, error) { <-gate; return 7, nil }, func(int) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.get(ctx, longWait); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v (want canceled)", err)
	}
	close(gate)
	if v, err := p.get(t.Context(), longWait); err != nil || v != 7 {
		t.Errorf("value %d, error %v", v, err)
	}
	p.put(7)
	if err := p.shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPoolShutdown(t *testing.T) {
	p, _, closed := counted(1)
	v, err := p.get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	turnedAway := make(chan error)
	go func() {
		_, err := p.get(context.Background(), longWait)
		turnedAway <- err
	}()
	waiting(p, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown with a lent value: error %v (want the context's)", err)
	}
	if err := <-turnedAway; !errors.Is(err, ErrClosed) {
		t.Errorf("waiter: error %v (want ErrClosed)", err)
	}
	if _, err := p.get(t.Context(), longWait); !errors.Is(err, ErrClosed) {
		t.Errorf("get: error %v (want ErrClosed)", err)
	}
	p.put(v)
	if err := p.shutdown(t.Context()); err != nil || closed.Load() != 1 {
		t.Errorf("error %v, closed %d", err, closed.Load())
	}
}

// The hammer: every value has one owner at a time, and none is lost or closed
// twice, whatever goes wrong.
func TestPoolHammer(t *testing.T) {
	type value struct{ owner, closed atomic.Int32 }
	var live, fails atomic.Int64
	p := newPool(3, func(context.Context) (*value, error) {
		if fails.Add(1)%7 == 0 {
			return nil, errBusy
		}
		live.Add(1)
		return &value{}, nil
	}, func(v *value) {
		if v.closed.Add(1) != 1 {
			t.Error("closed twice")
		}
		live.Add(-1)
	})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 400 {
				ctx, cancel := context.WithCancel(context.Background())
				if r.IntN(5) == 0 {
					go cancel()
				}
				v, err := p.get(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
				cancel()
				if err != nil {
					continue
				}
				if v.owner.Add(1) != 1 || v.closed.Load() != 0 {
					t.Error("lent twice or closed")
				}
				v.owner.Add(-1)
				if r.IntN(4) == 0 {
					p.close(v)
					p.drop()
				} else {
					p.put(v)
				}
			}
		}()
	}
	wg.Wait()
	if err := p.shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := live.Load(); n != 0 {
		t.Errorf("%d values left", n)
	}
}
