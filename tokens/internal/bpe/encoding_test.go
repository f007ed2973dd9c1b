package bpe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func Example() {
	e, err := Get("cl100k_base")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	text := "Token budgets are counted, not guessed: 你好!"
	n, _ := e.Count(ctx, text)
	fmt.Println("tokens:", n)
	n, exceeded, _ := e.CountTo(ctx, text, 5)
	fmt.Println("first:", n, exceeded)
	head, _ := e.Truncate(ctx, text, 5)
	fmt.Printf("%q\n", head)
	// Output:
	// tokens: 12
	// first: 5 true
	// "Token budgets are counted,"
}

func TestGet(t *testing.T) {
	for _, name := range Names() {
		e := get(t, name)
		if again := get(t, name); again != e || e.Name() != name {
			t.Errorf("Get(%q) twice: %p %p, name %q", name, e, again, e.Name())
		}
	}
	_, err := Get("cl100k")
	if !errors.Is(err, ErrUnknownEncoding) || !strings.Contains(err.Error(), "cl100k_base, o200k_base") {
		t.Errorf("unknown name: %v", err)
	}
}

// Known ids show that the comparison with tiktoken-go is not wrong on both sides.
func TestKnownTokens(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string
	}{
		{"cl100k_base", "hello world", "[15339 1917]"},
		{"cl100k_base", "tiktoken is great!", "[83 1609 5963 374 2294 0]"},
		{"o200k_base", "hello world", "[24912 2375]"},
		{"r50k_base", "hello world", "[31373 995]"},
		{"p50k_base", "hello world", "[31373 995]"},
	} {
		if got := fmt.Sprint(get(t, c.name).ids(t, c.text)); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// unbroken are the texts that take longest: a megabyte without a break.
func unbroken() map[string]string {
	g := newGenerator(8)
	letters := make([]byte, 1<<20)
	for i := range letters {
		letters[i] = byte('a' + g.IntN(26))
	}
	return map[string]string{
		"letters": string(letters),
		"han":     strings.Repeat("清晨六点半渡船离开小岛那时候店铺还没有开门", 1<<20/63),
		"signs":   strings.Repeat("=", 1<<20),
		"spaces":  strings.Repeat(" ", 1<<20),
		"invalid": strings.Repeat("\xff", 1<<20),
	}
}

// A call must return soon after its context is done, wherever it is. Ten
// milliseconds is the promise; the best of many tries is measured, and it may be five times
// as much, because a busy or slow machine is late by itself.
func TestCancelWithinTenMilliseconds(t *testing.T) {
	e := get(t, "o200k_base")
	calls := map[string]func(ctx context.Context, text string) error{
		"Count":    func(ctx context.Context, text string) error { _, err := e.Count(ctx, text); return err },
		"Truncate": func(ctx context.Context, text string) error { _, err := e.Truncate(ctx, text, 1<<18); return err },
	}
	for kind, text := range unbroken() {
		for name, call := range calls {
			best := time.Hour
			for try := 0; try < 100 && best > 10*time.Millisecond; try++ {
				ctx, cancel := context.WithCancel(t.Context())
				cancelled := make(chan time.Time, 1)
				time.AfterFunc(time.Millisecond, func() {
					cancelled <- time.Now()
					cancel()
				})
				err := call(ctx, text)
				late := time.Since(<-cancelled)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("%s of %s: %v", name, kind, err)
				}
				if err != nil {
					best = min(best, late)
				}
			}
			if best > 50*time.Millisecond {
				t.Errorf("%s of %s: returned %v after the cancellation", name, kind, best)
			}
		}
	}
}

func TestContextErrors(t *testing.T) {
	e := get(t, "cl100k_base")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: expired} {
		if n, err := e.Count(ctx, "a"); n != 0 || !errors.Is(err, want) {
			t.Errorf("Count: %d, %v; want %v", n, err, want)
		}
		if n, exceeded, err := e.CountTo(ctx, "a", 1); n != 0 || exceeded || !errors.Is(err, want) {
			t.Errorf("CountTo: %d, %v, %v; want %v", n, exceeded, err, want)
		}
		if s, err := e.Truncate(ctx, "a", 1); s != "" || !errors.Is(err, want) {
			t.Errorf("Truncate: %q, %v; want %v", s, err, want)
		}
	}
}

// One Encoding serves many goroutines; the race detector watches.
func TestConcurrentUse(t *testing.T) {
	text := strings.Repeat("Overlap, überlappen, 重なる! ", 50) + strings.Repeat("ab", windowLen)
	for _, name := range Names() {
		e := get(t, name)
		want, err := e.Count(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 20 {
					n, err := e.Count(t.Context(), text[:len(text)-i%2*len(text)])
					if n != want*(1-i%2) || err != nil {
						t.Errorf("%s: %d, %v; want %d", name, n, err, want)
					}
					if head, err := e.Truncate(t.Context(), text, 30); len(head) == 0 || err != nil {
						t.Errorf("%s: %q, %v", name, head, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
