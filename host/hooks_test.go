package host_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// observedCalls collects what OnCall is told.
type observedCalls struct {
	mu  sync.Mutex
	all []host.CallInfo
}

func (c *observedCalls) add(_ context.Context, call host.CallInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
}

// take returns what came since the last time.
func (c *observedCalls) take() []host.CallInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// one returns the only call that was made.
func (c *observedCalls) one(t *testing.T) host.CallInfo {
	t.Helper()
	all := c.take()
	if len(all) != 1 {
		t.Fatalf("%d calls: %+v", len(all), all)
	}
	return all[0]
}

// OnCall is told of every call, good or not, with what it did.
func TestOnCall(t *testing.T) {
	var seen observedCalls
	h := newHost(t, host.Config{OnCall: seen.add})
	p := loadAllops(t, h, host.PluginConfig{Name: "mine"})
	if all := seen.take(); len(all) != 0 {
		t.Errorf("loading makes the calls %+v", all)
	}
	ctx := host.WithTenant(t.Context(), "acme")
	filter, err := newStep(p, abi.OpFilter, host.OperationOptions{Step: "narrow", Settings: map[string]any{"min": 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filter.Run(ctx, &abi.Query{Text: "q"}, benchRows(5)); err != nil {
		t.Fatal(err)
	}
	got := seen.one(t)
	if got.Plugin != "mine" || got.Step != "narrow" || got.Operation != abi.OpFilter || got.Tenant != "acme" || got.Lane != host.LaneBatch ||
		got.Fuel == 0 || got.BytesIn == 0 || got.BytesOut == 0 || got.Running <= 0 || got.InstanceWait <= 0 || got.Reset <= 0 || got.Reason != "" || got.Err != nil || got.Depth != 0 {
		t.Errorf("%+v", got)
	}
	process, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": "error"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = process.Run(ctx, &abi.Query{Text: "q"}, twoRows())
	if got := seen.one(t); got.Reason != abi.ReasonGuestError || !errors.Is(got.Err, err) || got.Fuel == 0 || got.Running <= 0 {
		t.Errorf("%+v, the caller has %v", got, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err = p.Exchange(ended, abi.OpClassify, host.LaneJSON, nil); err == nil {
		t.Fatal("called")
	}
	if got := seen.one(t); got.Reason != abi.ReasonCancelled || got.Lane != "" || got.Running != 0 || got.Fuel != 0 {
		t.Errorf("%+v", got)
	}
}

// Calls of sessions, of programs and within calls are observed, too, the inner before the
// outer.
func TestOnCallEverywhere(t *testing.T) {
	var seen observedCalls
	h := newHost(t, host.Config{OnCall: seen.add})
	p := load(t, h, "foreign", host.PluginConfig{})
	session, err := p.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Call(t.Context(), "echo", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := seen.one(t); got.Operation != "echo" || got.BytesIn != 5 || got.BytesOut != 5 || got.Lane != host.LaneJSON || got.Tenant != "default" || got.Running <= 0 {
		t.Errorf("%+v", got)
	}
	program := load(t, h, "foreign-command", host.PluginConfig{WASI: true})
	if _, err := program.Call(t.Context(), "_start", nil); err != nil {
		t.Fatal(err)
	}
	if got := seen.one(t); got.Operation != "_start" || got.Fuel == 0 || got.Running <= 0 {
		t.Errorf("%+v", got)
	}
	var inner *host.Plugin
	greet := host.NewFunction(host.UserModule, "greet", func(ctx context.Context, in []byte) ([]byte, error) {
		r, err := inner.Call(ctx, "echo", in)
		if err != nil {
			return nil, err
		}
		return r.Output, nil
	})
	add := host.Function{Module: "calc", Name: "add", Params: []abi.ValueType{abi.F64, abi.F64}, Results: []abi.ValueType{abi.F64},
		Call: func(context.Context, *host.Guest, []uint64) error { return nil }}
	h = newHost(t, host.Config{OnCall: seen.add, Functions: []host.Function{greet, add}})
	inner = load(t, h, "foreign", host.PluginConfig{})
	outer := load(t, h, "user-functions", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}})
	if _, err := outer.Call(t.Context(), "greet", []byte("x")); err != nil {
		t.Fatal(err)
	}
	all := seen.take()
	if len(all) != 2 || all[0].Plugin != "foreign" || all[0].Depth != 1 || all[1].Depth != 0 || all[1].Fuel <= all[0].Fuel || all[1].Running <= all[0].Running {
		t.Errorf("%+v", all)
	}
}

// A call that waits for an instance says for how long.
func TestOnCallWaits(t *testing.T) {
	var seen observedCalls
	p := load(t, newHost(t, host.Config{OnCall: seen.add}), "sleep-forever", host.PluginConfig{
		Limits: host.Limits{Instances: 1, Timeout: badLimit, QueueTimeout: badLimit}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	run := func() (end func()) {
		ctx, end := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := s.Run(ctx, nothing, twoRows()); err == nil {
				t.Error("the call ends well")
			}
		})
		return end
	}
	endFirst := run()
	until(t, "the first call runs", func() bool { return p.Stats().InUse == 1 })
	endSecond := run()
	until(t, "the second call waits", func() bool { return p.Stats().Waiting == 1 })
	time.Sleep(30 * time.Millisecond)
	endFirst()
	until(t, "the second call runs", func() bool { s := p.Stats(); return s.InUse == 1 && s.Waiting == 0 })
	endSecond()
	all.Wait()
	got := seen.take()
	slices.SortFunc(got, func(a, b host.CallInfo) int { return int(a.InstanceWait - b.InstanceWait) })
	if len(got) != 2 || got[1].InstanceWait < 30*time.Millisecond || got[0].Running < 30*time.Millisecond || got[0].Running < got[0].InstanceWait || got[1].Reason != abi.ReasonCancelled {
		t.Errorf("%+v", got)
	}
}

// A panic of OnCall is its caller's, and breaks nothing of the plugin.
func TestOnCallPanics(t *testing.T) {
	p := load(t, newHost(t, host.Config{OnCall: func(context.Context, host.CallInfo) { panic("observer") }}), "foreign", host.PluginConfig{Limits: host.Limits{Instances: 1}})
	for range 3 {
		func() {
			defer func() {
				if r := recover(); r != "observer" {
					t.Errorf("recovered %v", r)
				}
			}()
			_, err := p.Call(t.Context(), "echo", []byte("x"))
			t.Errorf("returned with error %v", err)
		}()
	}
	if s := p.Stats(); s.OK != 3 || s.InUse != 0 || s.Made != 1 {
		t.Errorf("%+v", s)
	}
}
