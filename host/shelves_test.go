package host

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A value that is put on a shelf at the moment in which somebody begins to wait for one
// is not left there.
func TestShelvedValuesReachThoseWhoWait(t *testing.T) {
	p, made, closed := counted(1)
	for range 5000 {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				v, err := p.get(t.Context(), longWait)
				if err != nil {
					t.Error(err)
					return
				}
				p.put(v)
			})
		}
		if all.Wait(); t.Failed() {
			return
		}
	}
	if total, idle := p.counts(); total != 1 || idle != 1 {
		t.Errorf("%d values, %d idle", total, idle)
	}
	if err := p.shutdown(t.Context()); err != nil || made.Load() != 1 || closed.Load() != 1 {
		t.Errorf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
	}
}

// A value that is put on a shelf at the moment in which the pool is closed is closed.
func TestShelvedValuesAreClosed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	for range 5000 {
		p, made, closed := counted(2)
		v, err := p.get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		go p.put(v)
		runtime.Gosched()
		if err := p.shutdown(ctx); err != nil || made.Load() != closed.Load() {
			t.Fatalf("error %v, made %d, closed %d", err, made.Load(), closed.Load())
		}
	}
}

// Shelves hold as many values as there are shelves, and give each of them back once.
func TestShelves(t *testing.T) {
	s := newShelves[int](3)
	size := min(3, runtime.NumCPU())
	for v := range size {
		if s.put(v) == nil {
			t.Fatalf("no room for value %d of %d", v, size)
		}
	}
	if s.put(size) != nil || s.count() != size {
		t.Errorf("%d values on %d shelves, one of them left out", s.count(), size)
	}
	seen := make([]int, size)
	n := s.visit(func(v int) {
		seen[v]++
		if s.count() != size-1 {
			t.Error("a value is there while it is shown")
		}
	})
	if n != size {
		t.Errorf("%d values shown, want %d", n, size)
	}
	for v, ok := s.takeAny(); ok; v, ok = s.takeAny() {
		seen[v]++
	}
	for v, n := range seen {
		if n != 2 {
			t.Errorf("value %d seen %d times, want once shown and once taken", v, n)
		}
	}
	if _, ok := s.take(); ok || s.count() != 0 {
		t.Error("a value is left")
	}
}

// While somebody waits, a visitor keeps its hands off the shelves: whoever put a value on
// one at that moment takes it back, and must find it there.
func TestVisitorsLeaveShelvesToThoseWhoWait(t *testing.T) {
	for name, press := range map[string]func(*pool[int64]){
		"waiting": func(p *pool[int64]) {
			go func() {
				if v, err := p.get(context.Background(), longWait); err == nil {
					p.put(v)
				}
			}()
			waiting(p, 1)
		},
		"closing": func(p *pool[int64]) {
			go func() { _ = p.shutdown(context.Background()) }()
			for !p.pressed.Load() {
				runtime.Gosched()
			}
		},
	} {
		p, _, _ := counted(1)
		v, err := p.get(t.Context(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		press(p)
		at := p.near.put(v) // by a borrower that had not seen that somebody is in need
		p.visit(func(int64) { t.Errorf("%s: a value on its way back is shown", name) })
		if v, ok := at.take(); ok {
			p.offer(v, 1)
		}
		if err := p.shutdown(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A value that comes onto a shelf while somebody begins to wait may be lent to a borrower
// that has not seen that: one is made for the waiter all the same.
func TestWaitersDoNotCountOnShelves(t *testing.T) {
	p, made, _ := counted(2)
	v, err := p.get(t.Context(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.pressed.Store(true)
	ch := make(chan turn[int64], 1)
	p.waiters = append(p.waiters, ch)
	at := p.near.put(v) // after the waiter has looked
	p.grow()
	p.mu.Unlock()
	if _, ok := at.take(); !ok {
		t.Fatal("the value is gone")
	}
	select {
	case got := <-ch:
		p.put(got.value)
	case <-time.After(longWait / 10):
		t.Fatalf("%d values made of 2, and the waiter has none", made.Load())
	}
	p.put(v)
	if err := p.shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
