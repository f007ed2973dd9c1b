package failures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
)

func failure(plugin, tenant, text string) record.Failure {
	return record.Failure{
		Call: record.Call{Plugin: plugin, Module: "m", Operation: abi.OpFilter, Step: "s", Err: text, Request: []byte(`{"items":[],"settings":{"n":1}}`)},
		Time: time.Now(), Tenant: tenant, Reason: abi.ReasonTrap, Public: "public " + text, Output: "the log", Stack: "the stack", Timeout: 2 * time.Second, Fuel: 7, Memory: 1 << 20,
	}
}

// Whatever fails however often, what is kept is bounded: by plugin, in all, and in each text.
func TestFloodsAreBounded(t *testing.T) {
	var l Log
	large := strings.Repeat("ж", 1<<20)
	for i := range 10_000 {
		f := failure(fmt.Sprint("p", i%500), "t", fmt.Sprint(i, " failed"))
		if i%10 == 0 {
			f.Err, f.Public, f.Output, f.Stack, f.Remedy = fmt.Sprint(i, large), large, large, large, large
		}
		if i%3 == 0 {
			f.Request = []byte(`{"query":{"text":"` + strings.Repeat("x", 60<<10) + `"}}`)
		}
		l.Add(f)
		if l.waiting.size > MaxBytes || len(l.waiting.plugins) > MaxPlugins {
			t.Fatalf("%d bytes of %d plugins", l.waiting.size, len(l.waiting.plugins))
		}
	}
	held, n := int64(0), 0
	for name, list := range l.waiting.plugins {
		if len(list) == 0 || len(list) > MaxOfPlugin {
			t.Errorf("%s: %d failures", name, len(list))
		}
		for _, f := range list {
			held, n = held+f.size(), n+1
			if len(f.Text) > maxText+8 || len(f.Log) > maxOutput+8 || f.call.Size() > maxCall || !strings.HasSuffix(f.Text, "failed") && !strings.HasSuffix(f.Text, "ж …") {
				t.Errorf("%d bytes of text, %d of the log: %.20q", len(f.Text), len(f.Log), f.Text)
			}
		}
	}
	if held != l.waiting.size || n == 0 {
		t.Errorf("%d bytes of %d failures, counted %d", held, n, l.waiting.size)
	}
}

// Two panics of a language have one text, "unreachable". They are two failures.
func TestTrapsAreToldApart(t *testing.T) {
	var l Log
	for i := range 6 {
		f := failure("p", "t", "unreachable")
		f.Stack = fmt.Sprint("function ", i%2)
		l.Add(f)
		f.Reason = abi.ReasonTimeout // which ends a call anywhere
		l.Add(f)
	}
	if got := l.Of(t.Context(), Viewer{All: true, Content: true}, "").Failures; len(got) != 3 {
		t.Errorf("%d failures, want 3: %+v", len(got), got)
	}
}

// A plugin that fails at each of 10,000 builds is one failure with a count, for each tenant. Another tenant
// with many kinds of failures drives none of them out.
func TestTenantsKeepTheirFailures(t *testing.T) {
	var l Log
	for i := range 10_000 {
		l.Add(failure("p", "quiet", "always the same"))
		l.Add(failure("p", "loud", fmt.Sprint(i)))
	}
	quiet := l.Of(t.Context(), Viewer{Tenant: "quiet", Content: true}, "p").Failures
	if len(quiet) != 1 || quiet[0].Count != 10_000 || quiet[0].Last.Before(quiet[0].First) {
		t.Errorf("%+v", quiet)
	}
	if all := l.Of(t.Context(), Viewer{All: true}, "").Failures; len(all) != MaxOfPlugin || all[0].Last.Before(all[len(all)-1].Last) {
		t.Errorf("%d failures", len(all))
	}
	if none := l.Of(t.Context(), Viewer{All: true}, "q").Failures; none == nil || len(none) != 0 {
		t.Error(none)
	}
}

// A key sees what is its own, and of that only what its scopes allow.
func TestViewers(t *testing.T) {
	var l Log
	l.Add(failure("p", "a", "of server 10.0.0.1"))
	l.Add(failure("p", "b", "of b"))
	for _, tt := range []struct {
		v           Viewer
		n           int
		text, stack string
		repeats     bool
	}{
		{Viewer{Tenant: "a"}, 1, "", "", false},
		{Viewer{Tenant: "a", Content: true}, 1, "public of server 10.0.0.1", "", false},
		{Viewer{All: true}, 2, "", "", false},
		{Viewer{All: true, Content: true}, 2, "of server 10.0.0.1", "the stack", true},
		{Viewer{Tenant: "c", Content: true}, 0, "", "", false},
	} {
		list := l.Of(t.Context(), tt.v, "p").Failures
		if len(list) != tt.n {
			t.Errorf("%+v: %d failures", tt.v, len(list))
			continue
		}
		if tt.n == 0 {
			continue
		}
		f := list[tt.n-1]
		if f.Text != tt.text || f.Stack != tt.stack || (f.Case != nil) != tt.repeats || (f.Log != "") != tt.repeats || (f.NoCase == "") != tt.repeats {
			t.Errorf("%+v: %+v", tt.v, f)
		}
		doc, err := json.Marshal(list)
		if err != nil || !tt.v.All && bytes.Contains(doc, []byte("of b")) {
			t.Errorf("%+v: %v %s", tt.v, err, doc)
		}
	}
}

// The case is one that plugin test reads. Without one, the failure says why; what a caller has cancelled is
// none.
func TestCases(t *testing.T) {
	var l *Log
	l.Add(failure("p", "a", "x")) // keeps nothing
	if len(l.Of(t.Context(), Viewer{All: true}, "").Failures) != 0 {
		t.Error("nil keeps something")
	}
	l = &Log{}
	l.Add(failure("p", "a", "first\nsecond"))
	f := l.Of(t.Context(), Viewer{All: true, Content: true}, "").Failures[0]
	own, err := conformance.ParseOwnCases("f", f.Case)
	if err != nil || own[0].Expect.Error != "first" || fmt.Sprint(own[0].Settings) != "map[n:1]" || strings.Join(f.Repeat, " ") != "anchor_filter --timeout 2s --fuel 7 --memory-max 1024KiB" {
		t.Errorf("%v: %+v, %q", err, own, f.Repeat)
	}
	for want, change := range map[string]func(*record.Failure){
		"did not receive":      func(f *record.Failure) { f.Request = nil },
		"took more than 65536": func(f *record.Failure) { f.LeftOut = 1 },
		"only operations":      func(f *record.Failure) { f.Operation = "greet" },
		"invalid character":    func(f *record.Failure) { f.Request = []byte("no JSON") },
	} {
		l := &Log{}
		f := failure("p", "a", "x")
		change(&f)
		l.Add(f)
		if got := l.Of(t.Context(), Viewer{All: true, Content: true}, "").Failures[0]; got.Case != nil || !strings.Contains(got.NoCase, want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
	for _, reason := range []abi.Reason{abi.ReasonCancelled, abi.ReasonCircuitOpen} {
		f := failure("p", "a", "x")
		f.Reason = reason
		l.Add(f)
	}
	if n := len(l.Of(t.Context(), Viewer{All: true}, "").Failures); n != 1 {
		t.Errorf("%d failures", n)
	}
}

func TestConcurrentFailures(t *testing.T) {
	var l Log
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				l.Add(failure(fmt.Sprint("p", j%3), fmt.Sprint("t", i), fmt.Sprint(j)))
				l.Of(t.Context(), Viewer{All: true, Content: true}, "p1")
			}
		})
	}
	all.Wait()
}
