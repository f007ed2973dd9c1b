package guard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func newGuard() *Guard { return New(slog.New(slog.NewTextHandler(io.Discard, nil))) }

func TestRun(t *testing.T) {
	g, broken := newGuard(), errors.New("broken")
	for name, tc := range map[string]struct {
		f        func(context.Context) (int, error)
		want     string
		embedder bool
	}{
		"value":  {func(context.Context) (int, error) { return 1, nil }, "", false},
		"error":  {func(context.Context) (int, error) { return 1, broken }, "broken", false},
		"panic":  {func(context.Context) (int, error) { panic("oh") }, "panicked: oh", true},
		"goexit": {func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }, "ended its goroutine", true},
	} {
		v, err := Run(t.Context(), g, name, tc.f, func(int) { t.Error("nothing is left behind") })
		if tc.want == "" {
			if v != 1 || err != nil {
				t.Errorf("%s: %d, %v", name, v, err)
			}
			continue
		}
		if err == nil || err.Error() != tc.want || errors.Is(err, ErrEmbedder) != tc.embedder || errors.Is(err, broken) == tc.embedder {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// So many calls may be left behind, and no more are made until they return; what gives
// something back runs nevertheless. What late ones return is not lost, even if that panics.
func TestLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, release := newGuard(), make(chan struct{})
		var late atomic.Int32
		hang := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := Run(ctx, g, "code", func(context.Context) (int32, error) { <-release; return 1, nil }, func(n int32) { late.Add(n); panic("late") })
			return err
		}
		for range maxLeftBehind {
			if err := hang(time.Second); !errors.Is(err, ErrLate) || !errors.Is(err, ErrEmbedder) {
				t.Fatal(err)
			}
		}
		if err := hang(time.Second); errors.Is(err, ErrLate) || !errors.Is(err, ErrEmbedder) || !strings.HasPrefix(err.Error(), "64 earlier calls") {
			t.Errorf("beyond the bound: %v", err)
		}
		if err := Finish(t.Context(), g, "code", func() error { return io.EOF }); !errors.Is(err, io.EOF) {
			t.Errorf("what gives back: %v", err)
		}
		close(release)
		synctest.Wait()
		if n := late.Load(); n != maxLeftBehind || g.left.Load() != 0 {
			t.Errorf("%d results came late, %d calls are left", n, g.left.Load())
		}
		if err := hang(time.Second); err != nil {
			t.Errorf("when all have returned: %v", err)
		}
	})
}
