package host

import (
	"bytes"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// A call that writes where calls before it wrote is reset without asking the system, and
// one that writes elsewhere is not mistaken for one.
func TestResetAfterWatchedCalls(t *testing.T) {
	if !linear.Counts() {
		t.Skip("this system does not count page faults")
	}
	p := loadScribbles(t, Config{CacheDir: CacheOff})
	want := make([]byte, p.image.memory.Size())
	p.image.memory.Fill(want)
	watched := 0
	for round := range 100 {
		err := p.with(t.Context(), abi.OpFilter, "", p.limits.Timeout, func(in *instance) error {
			if in.lin.Tracked() {
				watched++
			}
			mem := in.content()
			for i := range 1 + round/4 {
				mem[i*7*4096+round]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		in, err := p.borrow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same := bytes.Equal(in.content(), want)
		p.pool.put(in)
		if !same {
			t.Fatalf("round %d left something", round)
		}
	}
	if watched < 50 {
		t.Errorf("%d of 100 calls were watched", watched)
	}
}

// A call is watched no longer where it waits, runs code of others or takes long.
func TestWatchIsGivenUp(t *testing.T) {
	if !linear.Counts() {
		t.Skip("this system does not count page faults")
	}
	p := loadScribbles(t, Config{CacheDir: CacheOff})
	in, err := p.borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.pool.put(in)
	in.begin(t.Context(), time.Minute, p.limits.Fuel)
	defer in.state.end()
	for name, f := range map[string]func(){
		"slow":  func() { slow(func(*callState, []uint64) {})(&in.state, nil) },
		"sleep": func() { in.state.sleep(1) },
		"tick": func() {
			time.Sleep(2 * watchMost)
			tick(&in.state, make([]uint64, 1))
		},
		"nothing": func() {},
	} {
		quiet := false
		for range 10 { // a fault of another cause ends a watch too
			in.watching.Begin(clock())
			f()
			quiet = in.unwatch() || quiet
		}
		if quiet != (name == "nothing") {
			t.Errorf("%s: quiet: %t", name, quiet)
		}
	}
}

// The scheduler is let run from time to time, not after each call.
func TestYields(t *testing.T) {
	var in instance
	yields := 0
	for at := yieldAfter; at < 100*yieldAfter; at += yieldAfter / 8 {
		in.state.seen = at
		if in.due() {
			yields++
		}
	}
	if yields < 90 || yields > 100 {
		t.Errorf("%d times in 99 periods", yields)
	}
}
