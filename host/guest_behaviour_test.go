package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
)

// What Go guests do when they go wrong.
func TestGoGuestFailures(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, tc := range []struct {
		mode   string
		reason abi.Reason
		err    string // in the one-line error
		log    string // in the log it carries
	}{
		{"panic", abi.ReasonGuestError, "panic: process went wrong", "main.change"},
		{"nil", abi.ReasonGuestError, "nil pointer dereference", "main.change"},
		{"error", abi.ReasonGuestError, "cannot process 2 rows", ""},
		{"stderr", abi.ReasonGuestError, "gave up", "about to give up"},
		{"exit", abi.ReasonExit, "exit code 3", ""},
		{"spin", abi.ReasonTimeout, "not done within 200ms (raise limits.timeout", ""},
		{"hog", abi.ReasonMemory, "needs more than 32MiB (raise limits.memory", "out of memory"},
		{"deadlock", abi.ReasonTrap, "all goroutines are asleep", "deadlock"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			limits := host.Limits{Memory: 32 << 20}
			if tc.reason == abi.ReasonTimeout {
				limits.Timeout = 200 * time.Millisecond
			}
			p := loadAllops(t, h, host.PluginConfig{Limits: limits})
			s, err := newStep(p, abi.OpProcess, host.OperationOptions{Step: "s", Settings: map[string]any{"mode": tc.mode}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Run(t.Context(), &abi.Query{}, twoRows())
			perr := checkReason(t, err, tc.reason)
			if !strings.Contains(perr.Error(), tc.err) || strings.Contains(perr.Error(), "\n") {
				t.Errorf("error %q lacks %q", perr, tc.err)
			}
			if !strings.Contains(perr.Log, tc.log) {
				t.Errorf("log lacks %q:\n%s", tc.log, perr.Log)
			}
		})
	}
}

func TestInitFailures(t *testing.T) {
	h := newHost(t, host.Config{})
	for fail, want := range map[string]string{
		"error": `plugin "allops": init: init_failed: guest_error: no index at /docs`,
		"panic": `plugin "allops": init: init_failed: guest_error: panic: init went wrong`,
	} {
		_, err := h.Load(t.Context(), allopsSpec(t), host.PluginConfig{Settings: map[string]any{"fail": fail}})
		if perr := checkReason(t, err, abi.ReasonInitFailed); perr.Error() != want {
			t.Errorf("error %s\nwant  %s", perr, want)
		}
	}
}

// runFind runs retrieve in a mode and returns the contents it finds.
func runFind(t *testing.T, p *host.Plugin, settings map[string]any, query string) ([]string, error) {
	t.Helper()
	s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{Settings: settings, TopK: 50})
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Run(t.Context(), &abi.Query{Text: query}, nil)
	var contents []string
	for _, it := range items {
		contents = append(contents, it.Content)
	}
	return contents, err
}

func TestKVAndCountTokens(t *testing.T) {
	h := newHost(t, host.Config{})
	cfg := host.PluginConfig{Name: "a", Grants: host.Grants{KV: &host.KVGrant{}, Services: []string{manifest.ServiceCountTokens}}}
	kv := map[string]any{"mode": "kv"}
	p := loadAllops(t, h, cfg)
	for _, tc := range []struct{ query, want string }{
		{"one", "before: nothing (2 tokens)"}, {"two words", "before: one (2 tokens)"}, {"x", "before: two words (3 tokens)"},
	} {
		if got, err := runFind(t, p, kv, tc.query); err != nil || got[0] != tc.want {
			t.Errorf("found %q, error %v (want %q)", got, err, tc.want)
		}
	}
	cfg.Name = "b"
	if got, err := runFind(t, loadAllops(t, h, cfg), kv, "y"); err != nil || got[0] != "before: nothing (2 tokens)" {
		t.Errorf("another plugin reads %q, error %v", got, err)
	}
	_, err := runFind(t, p, kv, strings.Repeat("z", 2000))
	if perr := checkReason(t, err, abi.ReasonGuestError); !strings.Contains(perr.Error(), "quota exceeded") {
		t.Errorf("error %v", perr)
	}
	cfg.Grants.Services = nil
	_, err = runFind(t, loadAllops(t, h, cfg), kv, "y")
	if perr := checkReason(t, err, abi.ReasonDenied); !strings.Contains(perr.Error(), "grants.services") {
		t.Errorf("error %v", perr)
	}
}

// A guest that computes must not hold up the garbage collector of the host.
func TestSpinningGuestDoesNotBlockGC(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Fuel: 1 << 50}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, &abi.Query{}, nil)
		done <- err
	}()
	for range 5 {
		runtime.GC()
	}
	cancel()
	checkReason(t, <-done, abi.ReasonCancelled)
}

func TestCancelledAndLate(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Run(ctx, &abi.Query{}, nil)
	if checkReason(t, err, abi.ReasonTimeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v is not DeadlineExceeded", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Run(gone, &abi.Query{}, nil)
	if checkReason(t, err, abi.ReasonCancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v is not Canceled", err)
	}
	short, err := newStep(p, abi.OpFilter, host.OperationOptions{Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = short.Run(t.Context(), &abi.Query{}, nil)
	if perr := checkReason(t, err, abi.ReasonTimeout); !strings.Contains(perr.Error(), "20ms") {
		t.Errorf("error %v does not name the step's timeout", perr)
	}
}

func TestBusy(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Instances: 1, QueueTimeout: 20 * time.Millisecond}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, &abi.Query{}, nil)
		done <- err
	}()
	for {
		if _, idle := host.PoolCounts(p); idle == 0 {
			break
		}
		runtime.Gosched()
	}
	_, err = s.Run(t.Context(), &abi.Query{}, nil)
	if perr := checkReason(t, err, abi.ReasonBusy); !strings.Contains(perr.Error(), "raise limits.instances or limits.queue_timeout") || !perr.Retryable() {
		t.Errorf("error %v, retryable %t", perr, perr.Retryable())
	}
	cancel()
	<-done
}

func TestHostLimits(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 1, Memory: 1 << 20})
	load(t, h, "no-change", host.PluginConfig{})
	_, err := h.Load(t.Context(), fixture(t, "trap").Spec, host.PluginConfig{})
	checkReason(t, err, abi.ReasonBusy)

	memory := int64(256 << 10)
	if portable() { // an image of zeros takes nothing there
		memory /= 2
	}
	h = newHost(t, host.Config{Memory: memory})
	keep := host.PluginConfig{State: host.StateKeep} // each has a page, and an image of it
	load(t, h, "no-change", keep)
	load(t, h, "trap", keep)
	_, err = h.Load(t.Context(), fixture(t, "exit").Spec, keep)
	if perr := checkReason(t, err, abi.ReasonInitFailed); !strings.Contains(perr.Error(), "memory") {
		t.Errorf("error %v", perr)
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Fuel: 1 << 50}})
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, &abi.Query{}, nil)
		done <- err
	}()
	for {
		if _, idle := host.PoolCounts(p); idle == 0 {
			break
		}
		runtime.Gosched()
	}
	soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := p.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed under a running call: error %v", err)
	}
	if _, err := s.Run(t.Context(), &abi.Query{}, nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("call of a closing plugin: error %v", err)
	}
	cancel()
	checkReason(t, <-done, abi.ReasonCancelled)
	if err := errors.Join(p.Close(t.Context()), p.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// The hammer: many goroutines, two plugins of one module, both lanes, errors in
// between; every good call has its own answer.
func TestHostHammer(t *testing.T) {
	h := newHost(t, host.Config{})
	var made []*step
	for _, lane := range lanes {
		p := loadAllops(t, h, host.PluginConfig{Name: "p-" + string(lane), Lane: lane, Limits: host.Limits{Instances: 2, QueueTimeout: time.Minute, Timeout: time.Minute}})
		good, err := newStep(p, abi.OpRetrieve, host.OperationOptions{TopK: 1})
		if err != nil {
			t.Fatal(err)
		}
		bad, err := newStep(p, abi.OpProcess, host.OperationOptions{Settings: map[string]any{"mode": "exit"}})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, good, bad)
	}
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			query := &abi.Query{Text: strings.Repeat("g", g+1)}
			for i := range 12 {
				if i%6 == 5 {
					if _, err := made[1+g%2*2].Run(t.Context(), query, nil); err == nil {
						t.Error("exit passed")
					}
					continue
				}
				out, err := made[g%2*2].Run(t.Context(), query, nil)
				if err != nil || len(out) != 1 || out[0].Content != "hello "+query.Text+" 0" {
					t.Errorf("items %v, error %v", out, err)
				}
			}
		}()
	}
	wg.Wait()
}

func TestGuestLogReachesTheHost(t *testing.T) {
	var log bytes.Buffer
	h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	p := loadAllops(t, h, host.PluginConfig{})
	observe, err := p.Operation(abi.OpObserve, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := observe.Ask(t.Context(), abi.Event{Type: "pipeline_start", Query: "q"}, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "from=guest") {
		t.Errorf("a message below the host's level was logged:\n%s", &log)
	}
}

// endsMeanwhile is a context that has ended when anybody looks for the second time.
type endsMeanwhile struct {
	context.Context
	looked atomic.Bool
}

func (c *endsMeanwhile) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (c *endsMeanwhile) Err() error {
	if c.looked.CompareAndSwap(false, true) {
		return nil
	}
	return context.Canceled
}

// A guest may exit at the moment when its call is cancelled. An exit frees the memory, so that
// the instance must not be reset, whatever else ended the call.
func TestExitAtTheEndOfTheCall(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "exit", host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1}})
	for range 3 {
		_, err := p.Call(&endsMeanwhile{Context: t.Context()}, "anchor_filter", nil)
		checkReason(t, err, abi.ReasonCancelled)
		_, err = p.Call(t.Context(), "anchor_filter", nil)
		checkReason(t, err, abi.ReasonExit)
	}
}
