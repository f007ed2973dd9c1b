package compile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// entered enters in a goroutine of its own. The channel has the function that leaves.
func (q *queue) entered(ctx context.Context, n int64) chan func() {
	in := make(chan func(), 1)
	go func() {
		if leave, err := q.enter(ctx, n); err == nil {
			in <- leave
		}
	}()
	synctest.Wait()
	return in
}

// Small modules pass large ones for which there is no room.
func TestSmallModulesPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{limit: 100, most: 1000}
		first, err := q.enter(t.Context(), 70)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.enter(ctx, 40); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		large := q.entered(t.Context(), 1000) // alone
		small, err := q.enter(t.Context(), 30)
		if err != nil {
			t.Fatal(err)
		}
		first()
		synctest.Wait()
		if len(large) > 0 {
			t.Error("came in beside others")
		}
		small()
		(<-large)()
		if q.used != 0 {
			t.Errorf("%d bytes are taken", q.used)
		}
	})
}

// A large module waits for a bounded number of smaller ones, however many come.
func TestLargeModulesAreNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{limit: 100, most: 1000}
		running := []chan func(){q.entered(t.Context(), 10)}
		large := q.entered(t.Context(), 95)
		passed := 0
		for len(large) == 0 {
			next := q.entered(t.Context(), 10) // there is always one
			running = append(running, next)
			if passed++; passed > 10*maxPassed {
				t.Fatalf("%d modules passed", passed)
			}
			if len(running[0]) > 0 {
				(<-running[0])()
				running = running[1:]
			}
			synctest.Wait()
		}
		if passed < maxPassed || passed > maxPassed+2 {
			t.Errorf("%d modules passed (want about %d)", passed, maxPassed)
		}
		(<-large)()
		for _, in := range running {
			(<-in)()
		}
		if q.used != 0 || len(q.waiters) != 0 {
			t.Errorf("%d bytes are taken, %d wait", q.used, len(q.waiters))
		}
	})
}

// A large module that leaves lets those in that waited behind it.
func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{limit: 100, most: 1000}
		first, err := q.enter(t.Context(), 50)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		q.entered(ctx, 95)
		for range maxPassed {
			(<-q.entered(t.Context(), 10))()
		}
		small := q.entered(t.Context(), 10)
		if len(small) > 0 {
			t.Error("one too many passed")
		}
		cancel()
		synctest.Wait()
		(<-small)()
		first()
		if q.used != 0 || len(q.waiters) != 0 {
			t.Errorf("%d bytes are taken, %d wait", q.used, len(q.waiters))
		}
	})
}

// No more modules are compiled at a time than the queue allows, however small they are.
func TestAtMostSoManyModules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{limit: 100, most: 2}
		first, second, third := q.entered(t.Context(), 1), q.entered(t.Context(), 1), q.entered(t.Context(), 1)
		if len(first) != 1 || len(second) != 1 || len(third) != 0 {
			t.Fatalf("%d, %d and %d are in, want 1, 1 and 0", len(first), len(second), len(third))
		}
		ctx, cancel := context.WithCancel(t.Context())
		q.entered(ctx, 1)
		cancel() // who leaves the queue frees no place
		(<-first)()
		synctest.Wait()
		if len(third) != 1 {
			t.Error("the third does not follow the first")
		}
		(<-second)()
		(<-third)()
		if q.used != 0 || q.running != 0 || len(q.waiters) != 0 {
			t.Errorf("%d bytes are taken, %d run, %d wait", q.used, q.running, len(q.waiters))
		}
	})
}
