package host_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// loadNesting loads a guest that calls the embedder, who calls the guest.
func loadNesting(t *testing.T, limits host.Limits, again func(ctx context.Context, p *host.Plugin, depth int) error) *host.Plugin {
	t.Helper()
	var p *host.Plugin
	var depth atomic.Int32
	h := newHost(t, host.Config{Functions: []host.Function{host.NewFunction(host.UserModule, "greet",
		func(ctx context.Context, _ []byte) ([]byte, error) {
			defer depth.Add(-1)
			return nil, again(ctx, p, int(depth.Add(1)))
		})}})
	p = load(t, h, "calls-in-start", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}, Limits: limits})
	return p
}

// A guest that has itself called again and again is stopped at a depth, not by
// running out of instances, and does not wait for those it holds itself.
func TestNestedCalls(t *testing.T) {
	deepest := 0
	forever := func(ctx context.Context, p *host.Plugin, depth int) error {
		deepest = max(deepest, depth)
		_, err := p.Call(ctx, "again", nil)
		return err
	}
	p := loadNesting(t, host.Limits{Instances: 16, QueueTimeout: time.Minute}, forever)
	_, err := p.Call(t.Context(), "again", nil)
	if checkReason(t, err, abi.ReasonDenied); deepest != 5 {
		t.Errorf("%d calls deep, error %v", deepest, err)
	}
	deepest = 0
	p = loadNesting(t, host.Limits{Instances: 2, QueueTimeout: time.Minute, Timeout: time.Minute}, forever)
	_, err = p.Call(t.Context(), "again", nil)
	if checkReason(t, err, abi.ReasonBusy); deepest != 2 {
		t.Errorf("%d calls deep, error %v", deepest, err)
	}
}

// Calls within a call draw on its fuel.
func TestNestedFuel(t *testing.T) {
	program := func(times int) func(context.Context, *host.Plugin, int) error {
		return func(ctx context.Context, p *host.Plugin, depth int) (err error) {
			for range times {
				if err == nil && depth == 1 {
					_, err = p.Call(ctx, "_start", nil)
				}
			}
			return err
		}
	}
	once, err := loadNesting(t, host.Limits{Instances: 2}, program(1)).Call(t.Context(), "again", nil)
	if err != nil || once.Fuel < 1_000_000 {
		t.Fatalf("%+v, error %v (want the fuel of the program)", once, err)
	}
	p := loadNesting(t, host.Limits{Instances: 2, Fuel: 2 * once.Fuel}, program(3))
	_, err = p.Call(t.Context(), "again", nil)
	checkReason(t, err, abi.ReasonFuel)
}

// Calls within calls that ask for the same last instance at once do not wait for those that
// wait for them.
func TestNestedCallsAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		const inner = 8
		p := loadNesting(t, host.Limits{Instances: 3, QueueTimeout: badLimit, Timeout: badLimit}, func(ctx context.Context, p *host.Plugin, _ int) error {
			if asked, ok := ctx.Value(neighboursKey{}).(*atomic.Int32); ok { // holds its instance until its neighbours ask
				for asked.Load() < inner {
					time.Sleep(time.Millisecond)
				}
				return nil
			}
			var all sync.WaitGroup
			var neighbours atomic.Int32
			for range inner {
				all.Go(func() {
					neighbours.Add(1)
					_, _ = p.Call(context.WithValue(ctx, neighboursKey{}, &neighbours), "again", nil)
				})
			}
			all.Wait()
			return nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { _, _ = p.Call(t.Context(), "again", nil) })
		}
		all.Wait()
		if took := time.Since(began); took > badLimit/2 {
			t.Fatalf("took %v (want that none waits for its time, %v)", took, badLimit)
		}
	}
}

// neighboursKey is for how many calls of one caller have begun.
type neighboursKey struct{}
