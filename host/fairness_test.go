package host_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// The good callers call one plugin that takes little, each after a pause; beside them the
// same number of callers calls others without one.
const (
	fairCallers = 32
	fairPause   = 10 * time.Millisecond
	// honestDepth is the work of an honest call: some 50 ms.
	honestDepth = 13
)

// hostileFixtures are the bad plugins: they loop in the guest, in bulk operations and in
// host functions, recurse, grow, trap, exit, flood, sleep and answer wrongly.
var hostileFixtures = []string{
	"spin-forever", "copy-forever", "fill-forever", "table-forever", "host-calls-forever", "recurse-forever", "recurse-in-width",
	"memory-hog", "grow-each-call", "stdout-flood", "stderr-then-trap", "trap", "exit", "output-too-large", "sleep-forever",
}

// caller is one call of a plugin.
type caller func(ctx context.Context) error

// crowd calls the callers from n goroutines, each always the same, until ctx ends. A call that
// is not even made is not repeated at once.
func crowd(ctx context.Context, n int, callers []caller) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil && len(callers) > 0 {
				err := callers[i%len(callers)](ctx) // it fails as it does
				var failed *host.PluginError
				if errors.As(err, &failed) && failed.Code == abi.ReasonCircuitOpen {
					time.Sleep(fairPause)
				}
			}
		})
	}
	return all.Wait
}

// served is what the good callers got.
type served struct {
	calls    int
	perSec   float64
	p50, p99 time.Duration
	worst    time.Duration
	err      error
}

func (s served) String() string {
	return fmt.Sprintf("%.0f calls/s, p50 %v, p99 %v, worst %v, error %v", s.perSec,
		s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), s.worst.Round(time.Microsecond), s.err)
}

// attend has the good callers call for a time, beside others.
func attend(t *testing.T, good caller, beside []caller, warmUp, length time.Duration) served {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	wait := crowd(ctx, fairCallers, beside)
	time.Sleep(warmUp)
	var (
		mu   sync.Mutex
		took []time.Duration
		out  served
		all  sync.WaitGroup
	)
	began := time.Now()
	for range fairCallers {
		all.Go(func() {
			var own []time.Duration
			var failed error
			for time.Since(began) < length {
				at := time.Now()
				if err := good(t.Context()); err != nil {
					failed = err
				}
				own = append(own, time.Since(at))
				time.Sleep(fairPause)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if failed != nil {
				out.err = failed
			}
		})
	}
	all.Wait()
	out.perSec = float64(len(took)) / time.Since(began).Seconds()
	end()
	wait()
	slices.Sort(took)
	out.calls, out.p50, out.p99, out.worst = len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return out
}

// goodCaller filters a few items in a stock Go guest.
func goodCaller(t *testing.T, h *host.Host) caller {
	p := loadAllops(t, h, host.PluginConfig{Name: "good", Limits: host.Limits{Timeout: badLimit, QueueTimeout: badLimit}})
	step, err := newStep(p, abi.OpFilter, host.OperationOptions{Settings: map[string]any{"min": 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	items := benchRows(20)
	return func(ctx context.Context) error {
		out, err := step.Run(ctx, &abi.Query{Text: "how do I parse flags"}, items)
		if err == nil && len(out) != 15 {
			err = fmt.Errorf("%d items", len(out))
		}
		return err
	}
}

// honestCaller computes for some 50 ms.
func honestCaller(t *testing.T, h *host.Host) caller {
	wasm, err := os.ReadFile(filepath.Join("..", "testdata", "engine", "programs.c.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := spec.Read("honest", wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{State: host.StateReset, WASI: true})
	if err != nil {
		t.Fatal(err)
	}
	input := binary.LittleEndian.AppendUint64(nil, honestDepth)
	return func(ctx context.Context) error {
		_, err := p.Call(ctx, "recursion", input)
		return err
	}
}

// hostileCallers call the bad plugins.
func hostileCallers(t *testing.T, h *host.Host, limits host.Limits) (callers []caller) {
	for _, name := range hostileFixtures {
		p := load(t, h, name, host.PluginConfig{Limits: limits})
		step, err := newStep(p, p.Spec().Operations[0].Operation, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		callers = append(callers, func(ctx context.Context) error {
			_, err := step.Run(ctx, &abi.Query{Text: "q"}, twoRows())
			return err
		})
	}
	return callers
}

// Among hostile plugins, every call of a plugin that takes little is served. How soon, which is
// a matter of machines, is for TestFairness.
func TestHostilePluginsLeaveTurns(t *testing.T) {
	h := newHost(t, host.Config{})
	good := goodCaller(t, h)
	hostile := hostileCallers(t, h, host.Limits{Timeout: time.Second})
	ctx, end := context.WithCancel(t.Context())
	wait := crowd(ctx, fairCallers, hostile)
	var all sync.WaitGroup
	for range fairCallers {
		all.Go(func() {
			for range 5 {
				if err := good(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	end()
	wait()
}

// A plugin that takes little is served about as well beside hostile plugins as beside an
// honest one that computes. ANCHOR_FAIRNESS is the length of each of three measurements, such
// as 60s. Machines differ, and others may use this one: only ratios count.
func TestFairness(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("ANCHOR_FAIRNESS"))
	if err != nil {
		t.Skip("measures times: ANCHOR_FAIRNESS=60s runs it")
	}
	const far, least = 3, 0.4
	h := newHost(t, host.Config{})
	good, honest := goodCaller(t, h), honestCaller(t, h)
	hostile := hostileCallers(t, h, host.Limits{BreakAfter: host.DefaultBreakAfter})
	alone := attend(t, good, nil, 0, length)
	beside := attend(t, good, []caller{honest}, length/4, length)
	among := attend(t, good, hostile, length/4, length)
	t.Logf("alone: %v", alone)
	t.Logf("beside an honest plugin: %v", beside)
	t.Logf("among hostile plugins: %v", among)
	if alone.err != nil || beside.err != nil || among.err != nil {
		t.Error("a good call failed")
	}
	if among.p99 > far*max(beside.p99, 5*time.Millisecond) {
		t.Errorf("p99 %v among hostile plugins (want at most %v times %v)", among.p99, far, beside.p99)
	}
	if among.perSec < least*alone.perSec {
		t.Errorf("%.0f calls/s among hostile plugins (want %v of %.0f)", among.perSec, least, alone.perSec)
	}
}
