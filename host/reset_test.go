package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// found is what the guest "counting" finds of earlier calls.
type found struct {
	Calls, Inits, Index, Random int
	Seen                        map[string]int
	Secret                      []byte
	Now                         int64
}

// count calls the guest "counting".
func count(t testing.TB, p *host.Plugin, query string, settings map[string]any) (found, error) {
	t.Helper()
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Run(context.Background(), &abi.Query{Text: query}, nil)
	var f found
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal([]byte(items[0].Content), &f); err != nil {
		t.Fatal(err)
	}
	return f, nil
}

// states are the three settings and the calls an instance has seen at its nth.
var states = map[host.State]func(n int) int{
	host.StateReset: func(int) int { return 1 },
	host.StateFresh: func(int) int { return 1 },
	host.StateKeep:  func(n int) int { return n },
}

func TestStateOfAGoGuest(t *testing.T) {
	h := newHost(t, host.Config{})
	for state, want := range states {
		for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
			t.Run(string(state)+"/"+string(engine), func(t *testing.T) {
				p := loadCounting(t, h, host.PluginConfig{State: state, Engine: engine, Limits: host.Limits{Instances: 1},
					Settings: map[string]any{"index": 100}})
				if p.State() != state {
					t.Fatalf("state %q", p.State())
				}
				rounds := 12
				if engine == host.EngineInterpreter {
					rounds = 3
				}
				for n := 1; n <= rounds; n++ {
					f, err := count(t, p, fmt.Sprint("q", n), map[string]any{"pages": n % 5})
					if err != nil || f.Calls != want(n) || len(f.Seen) != want(n) || f.Inits != 1 || f.Index != 100 {
						t.Fatalf("call %d finds %+v, error %v (want %d calls)", n, f, err, want(n))
					}
				}
			})
		}
	}
}

func TestStateOfGlobalsMemoryAndVariables(t *testing.T) {
	h := newHost(t, host.Config{})
	noShrinking := newHost(t, host.Config{})
	load(t, noShrinking, "no-change", host.PluginConfig{})
	host.NoShrinking(noShrinking)
	for name, h := range map[string]*host.Host{"shrinking": h, "not shrinking": noShrinking} {
		for state, calls := range states {
			p := load(t, h, "stateful", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
			for n := 1; n <= 8; n++ {
				r, err := p.Call(t.Context(), "count", nil)
				if err != nil {
					t.Fatal(err)
				}
				c := byte(calls(n))
				want := []byte{c, c, c, c, 5 + c, 6 + c, 1 + c, 3 + c, 1, c, 20 + c, 30 + c}
				if !bytes.Equal(r.Output, want) {
					t.Errorf("%s, %s: call %d finds %v (want %v)", name, state, n, r.Output, want)
				}
			}
		}
	}
}

func TestForeignModulesKeepTheirStateUnlessAsked(t *testing.T) {
	h := newHost(t, host.Config{})
	for state, want := range map[host.State][]int{
		host.StateAuto: {1, 2, 3}, host.StateKeep: {1, 2, 3}, host.StateReset: {1, 1, 1}, host.StateFresh: {1, 1, 1},
	} {
		p := load(t, h, "foreign", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		var got []int
		for range want {
			r, err := p.Call(t.Context(), "count", nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(r.Output))
		}
		if !slices.Equal(got, want) {
			t.Errorf("state %q (%q): %v (want %v)", state, p.State(), got, want)
		}
	}
	if _, err := h.Load(t.Context(), fixture(t, "foreign").Spec, host.PluginConfig{State: "clean"}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("unknown state: error %v", err)
	}
}

// After a deadline in the middle of Go code the instance is reset, not replaced,
// and nothing of the call is left.
func TestResetAfterDeadline(t *testing.T) {
	t.Parallel()
	shrinks(t)
	var log bytes.Buffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := loadCounting(t, h, host.PluginConfig{Limits: host.Limits{Instances: 1, Timeout: 20 * time.Millisecond}})
	made := host.Made(p)
	inits := strings.Count(log.String(), "init 1") // on a busy machine, one for a warm-up that was cut off
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for n := range rounds {
		_, err := count(t, p, "spin", map[string]any{"mode": "spin"})
		checkReason(t, err, abi.ReasonTimeout)
		f, err := count(t, p, "after", nil)
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			continue // a busy machine
		}
		if err != nil || f.Calls != 1 || len(f.Seen) != 1 || f.Inits != 1 {
			t.Fatalf("round %d: finds %+v, error %v", n, f, err)
		}
	}
	if n := host.Made(p) - made; n != 0 {
		t.Errorf("%d instances made, none was to be closed", n)
	}
	if n := strings.Count(log.String(), "init 1"); n != inits || n == 0 {
		t.Errorf("init ran %d times, %d of them when the plugin was loaded", n, inits)
	}
}

// What ends a call in a way that leaves the instance sound is reset; the rest, such as
// one with a stack of wazero's that is full, is replaced. Either way the next call finds
// nothing.
func TestResetAfterFailures(t *testing.T) {
	shrinks(t)
	h := newHost(t, host.Config{})
	for _, tc := range []struct {
		function string
		reason   abi.Reason
		made     int64
	}{
		{"trap", abi.ReasonTrap, 0}, {"spin", abi.ReasonTimeout, 0}, {"overflow", abi.ReasonTrap, 0},
	} {
		limits := host.Limits{Instances: 1, Timeout: time.Minute}
		if tc.reason == abi.ReasonTimeout {
			limits.Timeout = 50 * time.Millisecond
		}
		p := load(t, h, "stateful", host.PluginConfig{Limits: limits})
		if tc.function == "overflow" && !host.FixedStacks(p) {
			tc.made = 1
		}
		made := host.Made(p)
		_, err := p.Call(t.Context(), tc.function, nil)
		checkReason(t, err, tc.reason)
		r, err := p.Call(t.Context(), "count", nil)
		if errors.Is(err, context.DeadlineExceeded) {
			continue // a busy machine
		}
		if want := []byte{1, 1, 1, 1, 6, 7, 2, 4, 1, 1, 21, 31}; err != nil || !bytes.Equal(r.Output, want) {
			t.Errorf("after %s: %v, error %v (want %v)", tc.function, r, err, want)
		}
		if n := host.Made(p) - made; n != tc.made {
			t.Errorf("after %s: %d instances made (want %d)", tc.function, n, tc.made)
		}
	}
	p := loadCounting(t, h, host.PluginConfig{Limits: host.Limits{Instances: 1}})
	for mode, reason := range map[string]abi.Reason{"exit": abi.ReasonExit, "trap": abi.ReasonTrap} {
		_, err := count(t, p, mode, map[string]any{"mode": mode})
		checkReason(t, err, reason)
		if f, err := count(t, p, "after", nil); err != nil || f.Calls != 1 || len(f.Seen) != 1 {
			t.Errorf("after %s: finds %+v, error %v", mode, f, err)
		}
	}
}

// A guest that ends badly at the warm-up before its image is made, which it need
// not expect, is as it would be without.
func TestGuestsThatFailAtTheWarmUp(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, name := range []string{"reserve-traps", "reserve-spins"} {
		p := load(t, h, name, host.PluginConfig{Limits: host.Limits{Instances: 1}})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			out, err := s.Run(t.Context(), &abi.Query{}, benchRows(3))
			if err != nil || len(out) != 1 || p.State() != host.StateReset {
				t.Errorf("%s: %d items, state %q, error %v", name, len(out), p.State(), err)
			}
		}
		if n := host.Made(p); n != 2 {
			t.Errorf("%s: %d instances made (want one with a warm-up, one without)", name, n)
		}
	}
}

// After a reset a guest need not do again what it did when it was warmed up.
func TestResetLeavesTheHeapReady(t *testing.T) {
	h := newHost(t, host.Config{})
	fuel := map[host.State]int64{}
	for _, state := range []host.State{host.StateKeep, host.StateReset} {
		p := loadAllops(t, h, host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{Settings: map[string]any{"min": 0.2}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := s.Run(t.Context(), &abi.Query{}, benchRows(50)); err != nil {
				t.Fatal(err)
			}
		}
		fuel[state] = host.LastFuel(t, p)
	}
	// What is left is decoding the settings; growing the heap takes a million.
	if more := fuel[host.StateReset] - fuel[host.StateKeep]; more > 200_000 {
		t.Errorf("a call after a reset takes %d more fuel than one in a kept instance: %v", more, fuel)
	}
}

// Memory that a call grew is given back to the next call as it was, so that a
// guest which never frees lives for ever within its limit.
func TestMemoryShrinksBack(t *testing.T) {
	shrinks(t)
	h := newHost(t, host.Config{})
	p := load(t, h, "grow-each-call", host.PluginConfig{Limits: host.Limits{Instances: 1, Memory: 32 * 64 << 10}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made := host.Made(p)
	for range 50 {
		if _, err := s.Run(t.Context(), &abi.Query{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := host.Made(p) - made; n != 0 {
		t.Errorf("%d instances made", n)
	}
	host.Settle(p)
	if _, memory := host.Usage(h); memory > 14*64<<10 {
		t.Errorf("%d bytes of memory held", memory)
	}
	hog := load(t, h, "memory-hog", host.PluginConfig{Limits: host.Limits{Instances: 1, Memory: 32 * 64 << 10}})
	s, err = newStep(hog, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, err := s.Run(t.Context(), &abi.Query{}, nil)
		checkReason(t, err, abi.ReasonMemory)
	}
}

// An instance makes way for a new one after so many calls, in which nothing grew, and
// the calls after it find what they would find in any new instance.
func TestInstancesMakeWayAfterManyCalls(t *testing.T) {
	h := newHost(t, host.Config{})
	const after, calls = 3, 10
	for state, want := range map[host.State]func(n int) int{
		host.StateReset: func(int) int { return 1 },
		host.StateKeep:  func(n int) int { return (n-1)%after + 1 },
	} {
		p := load(t, h, "foreign", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		host.Settle(p)
		host.RecycleAfter(p, after)
		made := host.Made(p)
		for n := 1; n <= calls; n++ {
			r, err := p.Call(t.Context(), "count", nil)
			if err != nil {
				t.Fatalf("%s: call %d: %v", state, n, err)
			}
			if got := len(r.Output); got != want(n) {
				t.Errorf("%s: call %d is number %d of its instance (want %d)", state, n, got, want(n))
			}
		}
		host.Settle(p)
		if n := host.Made(p) - made; n != calls/after {
			t.Errorf("%s: %d instances made in %d calls (want one in %d calls)", state, n, calls, after)
		}
	}
}

// However many instances there are, init runs once.
func TestInitRunsOncePerPlugin(t *testing.T) {
	for state, want := range map[host.State]bool{host.StateReset: true, host.StateKeep: true, host.StateFresh: false} {
		var log bytes.Buffer
		h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		p := loadCounting(t, h, host.PluginConfig{State: state, Settings: map[string]any{"index": 2000},
			Limits: host.Limits{Instances: 3, Memory: 128 << 20, Timeout: 50 * time.Millisecond}})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := count(t, p, "spin", map[string]any{"mode": "spin"})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		host.Settle(p)
		f, err := count(t, p, "q", nil)
		if err == nil && (f.Index != 2000 || f.Inits != 1) {
			t.Errorf("%s: finds %+v", state, f)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "init 1"); (n == 1) != want {
			t.Errorf("%s: init ran %d times", state, n)
		}
	}
}

// Clocks and crypto/rand are live after a reset, math/rand is as it was at init;
// a deterministic plugin has the same fate in every call.
func TestWhatAResetFreezes(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, deterministic := range []bool{false, true} {
		p := loadCounting(t, h, host.PluginConfig{Deterministic: deterministic})
		a, errA := count(t, p, "q", map[string]any{"mode": "fate"})
		b, errB := count(t, p, "q", map[string]any{"mode": "fate"})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if bytes.Equal(a.Secret, b.Secret) != deterministic || (a.Now == b.Now) != deterministic {
			t.Errorf("deterministic %v: %+v, then %+v", deterministic, a, b)
		}
		if a.Random != b.Random {
			t.Errorf("math/rand differs after a reset: %d, then %d", a.Random, b.Random)
		}
	}
}

func TestOpenFilesAreNotReset(t *testing.T) {
	shrinks(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{})
	cfg := host.PluginConfig{Limits: host.Limits{Instances: 1},
		Grants: host.Grants{Files: []host.FileGrant{{Host: dir, Guest: "/docs"}}}}
	p := loadCounting(t, h, cfg)
	made := host.Made(p)
	for _, tc := range []struct {
		mode string
		made int64
	}{{"", 0}, {"open", 1}, {"", 1}} {
		f, err := count(t, p, "q", map[string]any{"mode": tc.mode})
		if err != nil || f.Calls != 1 {
			t.Fatalf("mode %q finds %+v, error %v", tc.mode, f, err)
		}
		host.Settle(p)
		if n := host.Made(p) - made; p.State() != host.StateReset || n != tc.made {
			t.Errorf("mode %q: state %q, %d instances made (want %d)", tc.mode, p.State(), n, tc.made)
		}
	}
	cfg.Settings = map[string]any{"open": "/docs/a.txt"}
	p = loadCounting(t, h, cfg)
	if p.State() != host.StateFresh || !slices.ContainsFunc(p.Notes(), func(n string) bool { return strings.Contains(n, "init leaves files open") }) {
		t.Errorf("state %q, notes %q", p.State(), p.Notes())
	}
	if f, err := count(t, p, "q", nil); err != nil || f.Calls != 1 {
		t.Errorf("finds %+v, error %v", f, err)
	}
}

// Descriptors lie outside of the image: a call that closes one must not
// be noticed by the next.
func TestChangedDescriptorsAreNotReset(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "closes-stdout", host.PluginConfig{Limits: host.Limits{Instances: 1}})
	made := host.Made(p)
	for n, tc := range []struct {
		function string
		made     int64
	}{{"nothing", 0}, {"close", 1}, {"close", 2}, {"nothing", 2}} {
		if _, err := p.Call(t.Context(), tc.function, nil); err != nil {
			t.Fatalf("call %d, %s: %v", n, tc.function, err)
		}
		host.Settle(p)
		if n := host.Made(p) - made; n != tc.made {
			t.Errorf("after %s: %d instances made (want %d)", tc.function, n, tc.made)
		}
	}
}

func TestUncapturedModulesAreReplaced(t *testing.T) {
	h := newHost(t, host.Config{})
	if why := fixture(t, "writes-table").Spec.Uncaptured; why != "its code writes to tables" {
		t.Errorf("reason %q", why)
	}
	for state, want := range map[host.State]host.State{host.StateAuto: host.StateFresh, host.StateReset: host.StateFresh, host.StateKeep: host.StateKeep} {
		p := load(t, h, "writes-table", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		noted := slices.ContainsFunc(p.Notes(), func(n string) bool {
			return n == "cannot be reset, each call gets a new instance: its code writes to tables (state: keep does without)"
		})
		if p.State() != want || noted != (want == host.StateFresh) {
			t.Errorf("state %q became %q, notes %q", state, p.State(), p.Notes())
		}
		for n := byte(1); n <= 3; n++ {
			r, err := p.Call(t.Context(), "count", nil)
			clean := []byte{1, 0}
			if want == host.StateKeep && n > 1 {
				clean = []byte{n, 1}
			}
			if err != nil || !bytes.Equal(r.Output, clean) {
				t.Errorf("state %q: call %d finds %v, error %v", state, n, r, err)
			}
		}
	}
}

// Passive segments are there for every call of every instance: for the first, which the
// image was taken of, for those that were made from it, and after each reset.
func TestPassiveSegmentsSurviveAReset(t *testing.T) {
	const instances = 3
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineCompiler, host.EngineInterpreter} {
		h := newHost(t, host.Config{}) // the second finds machine code on disk
		p := load(t, h, "passive-data", host.PluginConfig{State: host.StateReset, Engine: engine, Limits: host.Limits{Instances: instances}})
		if p.State() != host.StateReset {
			t.Fatalf("%s: state %q, notes %q", engine, p.State(), p.Notes())
		}
		for round := range 3 {
			for n, out := range host.CallEach(t, p, instances, "copy") {
				if want := "active!!" + "at start" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "the call" + "start\x00\x00\x00"; string(out) != want {
					t.Errorf("%s: round %d, instance %d finds %q (want %q)", engine, round, n, out, want)
				}
			}
			host.Settle(p)
		}
		if n := host.Made(p); n != instances {
			t.Errorf("%s: %d instances made (want %d, each used %d times)", engine, n, instances, 3)
		}
	}
}

// A module that drops segments is recognised: its instances are replaced, as the next
// call would miss what was dropped.
func TestDroppedSegmentsAreNotReset(t *testing.T) {
	h := newHost(t, host.Config{})
	const why = "its code drops segments"
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		p := load(t, h, "drops-data", host.PluginConfig{State: host.StateReset, Engine: engine, Limits: host.Limits{Instances: 2}})
		if p.Spec().Uncaptured != why || p.State() != host.StateFresh || len(p.Notes()) != 1 || !strings.Contains(p.Notes()[0], why) {
			t.Errorf("%s: uncaptured as %q, state %q, notes %q", engine, p.Spec().Uncaptured, p.State(), p.Notes())
		}
		for n := range 4 {
			if _, err := p.Call(t.Context(), "copy", nil); err != nil {
				t.Errorf("%s: call %d: %v", engine, n, err)
			}
		}
		kept := load(t, h, "drops-data", host.PluginConfig{State: host.StateKeep, Engine: engine, Limits: host.Limits{Instances: 1}})
		if _, err := kept.Call(t.Context(), "copy", nil); err != nil {
			t.Errorf("%s: first call: %v", engine, err)
		}
		_, err := kept.Call(t.Context(), "copy", nil)
		checkReason(t, err, abi.ReasonTrap) // or the calls above would show nothing
	}
}

// The hammer: whatever other calls do, no call finds a trace of them.
func TestResetHammer(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, instances := range []int{1, 2, 5} {
		p := loadCounting(t, h, host.PluginConfig{Limits: host.Limits{Instances: instances, Timeout: 500 * time.Millisecond, QueueTimeout: time.Minute}})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for n := range 25 {
					var settings map[string]any
					switch (g + n) % 8 {
					case 0:
						settings = map[string]any{"mode": "trap"}
					case 1:
						settings = map[string]any{"mode": "exit"}
					case 2:
						settings = map[string]any{"pages": 40}
					}
					f, err := count(t, p, fmt.Sprint(g, " ", n), settings)
					if settings["mode"] != nil || errors.Is(err, context.DeadlineExceeded) {
						continue
					}
					if err != nil || f.Calls != 1 || len(f.Seen) != 1 || f.Inits != 1 {
						t.Errorf("finds %+v, error %v", f, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
