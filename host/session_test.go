package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// session makes a session that must be made.
func session(t *testing.T, ctx context.Context, p *host.Plugin) *host.Session {
	t.Helper()
	s, err := p.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// counted is how many calls a session counts: the guest answers with as many bytes.
func counted(t *testing.T, s *host.Session) int {
	t.Helper()
	r, err := s.Call(t.Context(), "count", nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Output)
}

// What a session leaves in its instance is there in its next call and in nobody else's,
// in every state.
func TestSessionKeepsItsState(t *testing.T) {
	for _, state := range []host.State{host.StateKeep, host.StateReset, host.StateFresh} {
		h := newHost(t, host.Config{})
		p := load(t, h, "foreign", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		a, b := session(t, t.Context(), p), session(t, t.Context(), p)
		for n := range 3 {
			if got := counted(t, a); got != n+1 {
				t.Errorf("%s: call %d counts %d", state, n+1, got)
			}
		}
		if r, err := p.Call(t.Context(), "count", nil); err != nil || len(r.Output) != 1 {
			t.Errorf("%s: a call of the plugin counts %+v, error %v", state, r, err)
		}
		if got := counted(t, b); got != 1 {
			t.Errorf("%s: another session counts %d", state, got)
		}
		if instances, _ := host.Usage(h); instances != 3 {
			t.Errorf("%s: %d instances (want two sessions and one)", state, instances)
		}
		for range 2 {
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		_, err := a.Call(t.Context(), "count", nil)
		if perr := checkReason(t, err, abi.ReasonBusy); !errors.Is(err, host.ErrClosed) || !strings.Contains(perr.Error(), "the session is closed and takes no more calls") {
			t.Errorf("error %v", err)
		}
		if got := counted(t, session(t, t.Context(), p)); got != 1 {
			t.Errorf("%s: a new session counts %d", state, got)
		}
	}
}

// A guest's own error leaves the session as it is. A call that is stopped ends it, and
// every later one says so.
func TestSessionEndsWhenACallIsStopped(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{Input: 100}})
	s := session(t, t.Context(), p)
	counted(t, s)
	_, err := s.Call(t.Context(), "fail", nil)
	checkReason(t, err, abi.ReasonGuestError)
	_, err = s.Call(t.Context(), "echo", make([]byte, 101))
	checkReason(t, err, abi.ReasonInputTooLarge)
	if _, err = s.Call(t.Context(), "nothing", nil); !errors.Is(err, host.ErrNoExport) {
		t.Errorf("error %v", err)
	}
	if got := counted(t, s); got != 2 {
		t.Errorf("after errors of the guest it counts %d", got)
	}
	for function, reason := range map[string]abi.Reason{"message_then_trap": abi.ReasonTrap, "error_forever": abi.ReasonTimeout} {
		name := map[bool]string{true: "extism-rules", false: "foreign-calls"}[function == "message_then_trap"]
		limit := badLimit
		if reason == abi.ReasonTimeout {
			limit = badTime
		}
		p := load(t, h, name, host.PluginConfig{Limits: host.Limits{Timeout: limit}})
		s := session(t, t.Context(), p)
		before, _ := host.Usage(h)
		_, err := s.Call(t.Context(), function, nil)
		checkReason(t, err, reason)
		for range 2 {
			_, err = s.Call(t.Context(), function, nil)
			perr := checkReason(t, err, abi.ReasonTrap)
			if want := fmt.Sprintf("the session is over since a call ended with %s (make another session)", reason); !strings.HasSuffix(perr.Error(), want) {
				t.Errorf("error %v", perr)
			}
		}
		if after, _ := host.Usage(h); after != before-1 {
			t.Errorf("%d instances after the session ended (before %d)", after, before)
		}
	}
}

// A session serves one call at a time, and one tenant.
func TestSessionHasOneOwner(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign-calls", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, Fuel: 1 << 50}})
	s := session(t, host.WithTenant(t.Context(), "a"), p)
	ctx, cancel := context.WithCancel(host.WithTenant(t.Context(), "a"))
	ended := make(chan error)
	go func() {
		_, err := s.Call(ctx, "load_forever", nil)
		for err != nil && strings.Contains(err.Error(), "serves another call") { // one of those below was first
			_, err = s.Call(ctx, "load_forever", nil)
		}
		ended <- err
	}()
	var err error
	for err == nil || !strings.Contains(err.Error(), "serves another call") {
		if _, err = s.Call(host.WithTenant(t.Context(), "a"), "words", nil); err == nil {
			time.Sleep(time.Millisecond)
		}
	}
	checkReason(t, err, abi.ReasonBusy)
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := s.Close(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed beside a call: error %v", err)
	}
	cancel()
	checkReason(t, <-ended, abi.ReasonCancelled)
	_, err = s.Call(t.Context(), "words", nil)
	if perr := checkReason(t, err, abi.ReasonDenied); !strings.Contains(perr.Error(), `the session serves the tenant "a", the call is for "default"`) {
		t.Errorf("error %v", perr)
	}
}

// A plugin that is closed ends its sessions, waiting for their calls, and makes no more.
func TestPluginEndsItsSessions(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign", host.PluginConfig{})
	s := session(t, t.Context(), p)
	counted(t, s)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(t.Context(), "count", nil)
	checkReason(t, err, abi.ReasonBusy)
	_, err = p.NewSession(t.Context())
	if perr := checkReason(t, err, abi.ReasonBusy); !errors.Is(err, host.ErrClosed) || !strings.Contains(perr.Error(), "the plugin is closed and takes no more calls") {
		t.Errorf("error %v", perr)
	}
	_, err = p.Call(t.Context(), "count", nil)
	if perr := checkReason(t, err, abi.ReasonBusy); !errors.Is(err, host.ErrClosed) || !strings.HasSuffix(perr.Error(), "busy: the plugin is closed and takes no more calls") {
		t.Errorf("error %v", perr)
	}
}

// Sessions are as many as the host has places for. They leave each plugin its own, and a
// closed one makes room for the next, which waits for it.
func TestSessionsAreBounded(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 4})
	p := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{QueueTimeout: 10 * time.Second}})
	other := load(t, h, "foreign-old", host.PluginConfig{})
	a := session(t, t.Context(), p)
	session(t, t.Context(), p)
	var failed *host.PluginError
	if !await.Enough(50*time.Millisecond, func(limit time.Duration) bool { // to wait for a place
		short, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		_, err := p.NewSession(short)
		return errors.As(err, &failed) && failed.Code == abi.ReasonBusy
	}) {
		t.Errorf("a third session: %v", failed)
	}
	if _, err := other.Call(t.Context(), "count", nil); err != nil {
		t.Error(err)
	}
	if _, err := p.Call(t.Context(), "count", nil); err != nil {
		t.Error(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	session(t, t.Context(), p)
}

// Sessions, calls and the end of their plugin may meet in any order.
func TestSessionHammer(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 8})
	p := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{Instances: 2, QueueTimeout: 5 * time.Millisecond, IdleTimeout: time.Millisecond}})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 30 {
				if n == 0 && i == 10 { // in the middle of it all
					all.Go(func() {
						if err := p.Close(context.Background()); err != nil {
							t.Error(err)
						}
					})
				}
				s, err := p.NewSession(t.Context())
				if err != nil {
					continue
				}
				for i := range 3 {
					if r, err := s.Call(t.Context(), "count", nil); err == nil && len(r.Output) != i+1 {
						t.Errorf("call %d counts %d", i+1, len(r.Output))
					}
				}
				if n%4 > 0 { // the plugin closes those of others
					_ = s.Close(t.Context())
				}
			}
		})
		all.Go(func() {
			for range 30 {
				_, _ = p.Call(t.Context(), "count", nil)
			}
		})
	}
	all.Wait()
}

// What a session writes to an image that instances share is its own and counts, although
// it is never put back.
func TestSessionCountsInFull(t *testing.T) {
	h := indexHost(t, 3)
	p := load(t, h, "index", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute, QueueTimeout: time.Minute}})
	_, before := host.Usage(h)
	session(t, t.Context(), p)
	if _, memory := host.Usage(h); memory < before+indexSize {
		t.Errorf("a session of an index of %d MiB counts for %d KiB", indexSize>>20, (memory-before)>>10)
	}
}

// The calls that a session refuses, since it has ended, do not pause the plugin for others.
func TestEndedSessionDoesNotPauseThePlugin(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "extism-rules", host.PluginConfig{Limits: host.Limits{BreakAfter: 3}})
	s := session(t, t.Context(), p)
	for range 6 {
		_, err := s.Call(t.Context(), "message_then_trap", nil)
		checkReason(t, err, abi.ReasonTrap)
	}
	if st := p.Stats(); st.Circuit != host.CircuitClosed || st.Failures != 1 {
		t.Errorf("after one trap and five calls of an ended session: circuit %v, %d failures, want closed and 1", st.Circuit, st.Failures)
	}
}
