package apiclient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Those who leave before their turn take no turn from the others: with requests that are given up at
// once, one tenant could otherwise keep all others from a server for minutes.
func TestTurnsOfThoseWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{interval: time.Second}
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error, 4)
			for range cap(left) {
				go func() { left <- p.wait(ctx) }()
			}
			synctest.Wait()
			cancel()
			for range cap(left) {
				if err := <-left; !errors.Is(err, context.Canceled) {
					t.Fatalf("%v, want that it ends with its context", err)
				}
			}
		}
		began := time.Now()
		for n := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if err := p.wait(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			if waited, want := time.Since(began), time.Duration(n+1)*time.Second; waited != want {
				t.Errorf("request %d began after %v, want %v", n, waited, want)
			}
		}
		p.hold(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		go func() { _ = p.wait(ctx) }()
		synctest.Wait()
		cancel()
		began = time.Now()
		if err := p.wait(t.Context()); err != nil || time.Since(began) < time.Minute {
			t.Errorf("after %v: %v, want as long as the server asks to wait", time.Since(began), err)
		}
	})
}
