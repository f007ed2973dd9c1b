package host_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// What calls do is counted exactly once they have returned, for the plugin and its host.
func TestStatsCount(t *testing.T) {
	h := newHost(t, host.Config{})
	p := loadAllops(t, h, host.PluginConfig{Limits: host.Limits{Instances: 2}})
	before := p.Stats()
	if before.Calls() != 0 || before.Fuel != 0 || before.Made == 0 || before.State != host.StateReset || before.Plugin != "allops" {
		t.Fatalf("%+v", before)
	}
	var fuel int64
	for mode, reason := range map[string]abi.Reason{"none": "", "exit": abi.ReasonExit, "error": abi.ReasonGuestError, "panic": abi.ReasonGuestError} {
		step, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": mode}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = step.Run(t.Context(), &abi.Query{Text: "q"}, twoRows())
		if (err == nil) != (reason == "") {
			t.Fatalf("%s: %v", mode, err)
		}
	}
	for range 500 {
		e, err := p.Exchange(t.Context(), abi.OpClassify, host.LaneJSON, []byte(`{"query":{"text":"q"}}`))
		if err != nil {
			t.Fatal(err)
		}
		fuel += e.Fuel
	}
	host.Settle(p)
	s := p.Stats()
	if s.OK != 501 || s.Failed[abi.ReasonExit] != 1 || s.Failed[abi.ReasonGuestError] != 2 || s.Calls() != 504 || len(s.Failed) != len(abi.Reasons) {
		t.Errorf("%+v", s.Counters)
	}
	if s.Replaced != 1 || s.Resets != 503 || s.Recycled != 0 || s.Closed != 1 || s.Made-s.Closed != int64(s.InUse+s.Idle) {
		t.Errorf("%+v", s)
	}
	if s.Fuel <= fuel || s.Time <= 0 || s.BytesIn <= 500*20 || s.BytesOut < 500*len64("{}") || s.InUse != 0 || s.Waiting != 0 || s.Memory <= 0 || s.MaxMemory < s.Memory {
		t.Errorf("%+v, the last calls used %d units", s, fuel)
	}
	if all := h.Stats(); all.Calls() != s.Calls() || all.Fuel != s.Fuel || len(all.Plugins) != 1 || all.Memory < s.Memory || all.Instances == 0 || all.Instances > all.MaxInstances {
		t.Errorf("%+v", all)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := h.Stats()
	if all.OK != 501 || all.Made != all.Closed || len(all.Plugins) != 0 || all.Instances != 0 || all.Memory != 0 {
		t.Errorf("%+v after the plugin is closed", all)
	}
	if s := p.Stats(); s.OK != 501 || s.InUse+s.Idle != 0 {
		t.Errorf("%+v of a closed plugin", s)
	}
}

func len64(s string) int64 { return int64(len(s)) }

// Instances in use, waiting callers, sessions and recycled instances show.
func TestStatsOfInstances(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	block := host.NewFunction(host.UserModule, "greet", func(context.Context, []byte) ([]byte, error) {
		enter <- struct{}{}
		<-leave
		return nil, nil
	})
	add := host.Function{Module: "calc", Name: "add", Params: []abi.ValueType{abi.F64, abi.F64}, Results: []abi.ValueType{abi.F64},
		Call: func(context.Context, *host.Guest, []uint64) error { return nil }}
	h := newHost(t, host.Config{Functions: []host.Function{block, add}})
	p := load(t, h, "user-functions", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}, Limits: host.Limits{Instances: 1, Timeout: time.Minute, QueueTimeout: time.Minute}})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := p.Call(t.Context(), "greet", nil); err != nil {
				t.Error(err)
			}
		})
	}
	<-enter
	for s := p.Stats(); s.Waiting != 2; s = p.Stats() {
		if s.InUse != 1 {
			t.Fatalf("%+v", s)
		}
		time.Sleep(time.Millisecond)
	}
	leave <- struct{}{}
	for range 2 {
		<-enter
		leave <- struct{}{}
	}
	all.Wait()
	host.Settle(p)
	if s := p.Stats(); s.InUse != 0 || s.Waiting != 0 || s.Idle != 1 || s.OK != 3 {
		t.Errorf("%+v", s)
	}
	session, err := p.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Sessions != 1 {
		t.Errorf("%+v", s)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{Instances: 1}})
	host.RecycleAfter(q, 2)
	for range 4 {
		if _, err := q.Call(t.Context(), "echo", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if s := q.Stats(); s.Recycled != 2 || s.Replaced != 0 || s.OK != 4 || s.BytesIn != 4 || s.BytesOut != 4 {
		t.Errorf("%+v", s)
	}
}

// Counters never fall, and nothing is lost, whoever reads them meanwhile.
func TestStatsBesideCalls(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign", host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 3}})
	ctx, end := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	readers.Go(func() {
		var last, lastAll int64
		for ctx.Err() == nil {
			s, all := p.Stats(), h.Stats()
			if s.OK < last || all.OK < lastAll || all.OK < s.OK {
				t.Errorf("%d calls after %d, %d of all after %d", s.OK, last, all.OK, lastAll)
				return
			}
			last, lastAll = s.OK, all.OK
		}
	})
	const callers, each = 6, 300
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if _, err := p.Call(t.Context(), "echo", []byte("four")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	end()
	readers.Wait()
	host.Settle(p)
	if s := p.Stats(); s.OK != callers*each || s.BytesIn != 4*callers*each || s.BytesOut != s.BytesIn || s.Resets != s.OK-s.Recycled-s.Replaced {
		t.Errorf("%+v", s)
	}
}

// What is refused before it begins counts, too.
func TestStatsOfRefusals(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign", host.PluginConfig{})
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := p.Call(ctx, "echo", nil); err == nil {
		t.Fatal("called under a context that has ended")
	}
	if _, err := p.Call(t.Context(), "none", nil); !errors.Is(err, host.ErrNoExport) {
		t.Fatal(err)
	}
	session, err := p.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Call(host.WithTenant(t.Context(), "other"), "echo", nil); err == nil {
		t.Fatal("a session serves another tenant")
	}
	if s := p.Stats(); s.Failed[abi.ReasonCancelled] != 1 || s.Failed[abi.ReasonDenied] != 1 || s.Calls() != 2 {
		t.Errorf("%+v", s.Counters)
	}
}

// BenchmarkCall64 is a call that does next to nothing, of which counting must be hardly any,
// and one that is observed.
func BenchmarkCall64(b *testing.B) {
	input := bytes.Repeat([]byte("a"), 64)
	for _, state := range []host.State{host.StateKeep, host.StateReset} {
		for name, hook := range map[string]func(context.Context, host.CallInfo){"": nil, "/observed": func(context.Context, host.CallInfo) {}} {
			b.Run(string(state)+name, func(b *testing.B) {
				p := load(b, newHost(b, host.Config{OnCall: hook}), "foreign", host.PluginConfig{State: state})
				b.ReportAllocs()
				for b.Loop() {
					if r, err := p.Call(b.Context(), "echo", input); err != nil || len(r.Output) != 64 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
