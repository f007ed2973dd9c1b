package host_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/failures"
)

// OnFailure receives each call that failed and no other, with the request also of a call in the batch
// lane, and without secrets. It does not change the lane.
func TestOnFailure(t *testing.T) {
	var mu sync.Mutex
	var all []record.Failure
	lanes := map[host.Lane]int{}
	h := newHost(t, host.Config{
		OnFailure: func(f record.Failure) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, f)
		},
		OnCall: func(_ context.Context, c host.CallInfo) { lanes[c.Lane]++ },
	})
	p := loadAllops(t, h, host.PluginConfig{Name: "mine", Secrets: []string{"the-secret"}, Config: map[string]string{"key": "a the-secret"}})
	rows := abi.ItemRows{{ID: "a", Content: "the-secret and <more>"}, {ID: "b", Content: "b"}}
	call := func(mode string, rows abi.Rows) error {
		o, err := p.Operation(abi.OpProcess, host.OperationOptions{Step: "narrow", Settings: map[string]any{"mode": mode}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := o.Changes(host.WithTenant(t.Context(), "acme"), rows, &abi.Envelope{Query: &abi.Query{Text: "of the-secret"}})
		if err == nil {
			a.Release()
		}
		return err
	}
	for range 20 {
		if err := call("none", rows); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != 0 {
		t.Fatalf("%d failures of good calls", len(all))
	}
	err := call("panic", rows)
	if err == nil || len(all) != 1 {
		t.Fatalf("%v, %d failures", err, len(all))
	}
	f := all[0]
	if f.Plugin != "mine" || f.Step != "narrow" || f.Tenant != "acme" || f.Reason == "" || f.Digest == "" || f.Timeout <= 0 || f.Fuel <= 0 || f.Memory <= 0 || f.Time.IsZero() || f.Err == "" || f.Answer != nil {
		t.Errorf("%+v", f)
	}
	if !bytes.Contains(f.Request, []byte(`*** and`)) || bytes.Contains(f.Request, []byte("the-secret")) || f.Config["key"] != "a ***" || !bytes.Contains(f.Request, []byte(`"mode":"panic"`)) {
		t.Errorf("request %s, config %v", f.Request, f.Config)
	}
	if lanes[host.LaneBatch] != 21 || len(lanes) != 1 {
		t.Errorf("lanes %v", lanes)
	}
	large := abi.ItemRows{{ID: "a", Content: strings.Repeat("x", 2*record.MaxFailureBytes)}}
	if err := call("panic", large); err == nil || len(all) != 2 || all[1].Request != nil {
		t.Errorf("%v, %d failures, the last with a request of %d bytes", err, len(all), len(all[len(all)-1].Request))
	}
}

// A plugin that fails at each of 10,000 calls holds no more memory than what is kept of it.
func TestFailuresHoldNoMemory(t *testing.T) {
	var l failures.Log
	h := newHost(t, host.Config{OnFailure: l.Add, DefaultLimits: host.Limits{BreakAfter: host.Unlimited}})
	p := load(t, h, "guest-error", host.PluginConfig{})
	o, err := p.Operation(abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	fail := func(n int) {
		for i := range n {
			ctx := host.WithTenant(t.Context(), fmt.Sprint("t", i%100))
			if _, err := o.Changes(ctx, abi.ItemRows{{ID: "a", Content: strings.Repeat("x", 20<<10)}}, &abi.Envelope{}); err == nil {
				t.Fatal("no failure")
			}
		}
	}
	fail(200)
	before := heap()
	fail(10_000)
	if grown := heap() - before; grown > failures.MaxBytes/4 {
		t.Errorf("10,000 failures hold %d bytes more than 200", grown)
	}
	if list := l.Of(t.Context(), failures.Viewer{All: true}, "guest-error").Failures; len(list) != failures.MaxOfPlugin || list[0].Count < 1 {
		t.Errorf("%d failures", len(list))
	}
}

// BenchmarkKeepingFailures compares calls that end well where failures are kept with others. Both take
// turns, and the quickest turn of each counts, so that what else the machine does counts little. kept/none is
// the ratio of their speeds: 1 if keeping failures costs nothing.
func BenchmarkKeepingFailures(b *testing.B) {
	rows := abi.ItemRows{}
	for i := range 100 {
		rows = append(rows, abi.Item{ID: fmt.Sprint(i), Content: "some text", Score: 0.5})
	}
	ready := func(keep func(record.Failure)) *host.Operation {
		p := loadAllops(b, newHost(b, host.Config{OnFailure: keep}), host.PluginConfig{})
		o, err := p.Operation(abi.OpFilter, host.OperationOptions{Settings: map[string]any{"min": 0.2}})
		if err != nil {
			b.Fatal(err)
		}
		return o
	}
	both := []*host.Operation{ready(nil), ready(new(failures.Log).Add)}
	best := []time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for i, o := range both {
			began := time.Now()
			for range 100 {
				a, err := o.Changes(b.Context(), rows, &abi.Envelope{Query: &abi.Query{Text: "q"}})
				if err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
			best[i] = min(best[i], time.Since(began))
		}
	}
	b.ReportMetric(float64(best[0])/float64(best[1]), "kept/none")
	b.ReportMetric(float64(best[0].Nanoseconds())/100, "none-ns/call")
}
