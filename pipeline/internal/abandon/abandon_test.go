package abandon

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type part struct{ n int }

// waits until no abandoned call of a part runs.
func settle(t *testing.T, p any) {
	t.Helper()
	if !await.True(func() bool { return running(keyOf(p)) == 0 }) {
		t.Fatalf("%d calls still run", running(keyOf(p)))
	}
}

// A part that hangs must not leave a goroutine behind for each of its calls.
func TestAbandonedCallsAreBounded(t *testing.T) {
	release := make(chan struct{})
	hangs, other := &part{1}, &part{2}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := runtime.NumGoroutine()
	for i := range 1000 {
		_, err := Call(ended, hangs, func() (int, error) { <-release; return 1, nil })
		if busy := errors.Is(err, ErrBusy); busy != (i >= Most) || !busy && !errors.Is(err, context.Canceled) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if !await.True(func() bool { return runtime.NumGoroutine()-before <= Most }) {
		t.Errorf("%d goroutines after 1000 calls, want at most %d", runtime.NumGoroutine()-before, Most)
	}
	if got, err := Call(t.Context(), other, func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("another part: %d, %v", got, err)
	}
	close(release)
	settle(t, hangs)
	if got, err := Call(t.Context(), hangs, func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("afterwards: %d, %v", got, err)
	}
	if len(left.of) != 0 {
		t.Errorf("entries are kept: %v", left.of)
	}
}

func TestCallsThatEndAreNotCounted(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				_, _ = Call(ctx, "part", func() (int, error) { cancel(); return 0, nil })
			}
		})
	}
	wg.Wait()
	settle(t, "part")
	if _, err := Call(t.Context(), "part", func() (int, error) { runtime.Goexit(); return 0, nil }); !errors.Is(err, ErrExited) {
		t.Errorf("Goexit: %v", err)
	}
}

func TestPartsThatCannotBeCompared(t *testing.T) {
	a, b := func() {}, func(int) {}
	for _, tt := range []struct {
		x, y any
		same bool
	}{
		{a, a, true}, {a, b, false}, {[]int{1}, []int{2}, true}, {[]int{1}, map[int]int{}, false},
		{nil, nil, true}, {struct{ any }{[]int{}}, struct{ any }{[]int{}}, true}, {part{1}, part{2}, false}, {part{1}, part{1}, true},
	} {
		if got := keyOf(tt.x) == keyOf(tt.y); got != tt.same {
			t.Errorf("%T and %T: %v", tt.x, tt.y, got)
		}
	}
}
