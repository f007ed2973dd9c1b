package host_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"

	"github.com/anchor-host/anchor-host/tokens"
)

// asked is a tokenizer that runs a function when it is asked for its name.
type asked struct {
	host.Tokenizer
	name func() string
}

func (a asked) Name() string { return a.name() }

// A host that is closed while it loads a plugin waits until that is over: the image
// is still being written. The name of the tokenizer is part of its name.
func TestCloseWhileLoading(t *testing.T) {
	var h *host.Host
	closed := make(chan error, 1)
	times := 0
	h = newHost(t, host.Config{CacheDir: t.TempDir(), ImageCache: 1 << 20, Tokenizer: asked{tokens.Words{}, func() string {
		if times++; times != 2 {
			return "words"
		}
		go func() { closed <- h.Close(context.Background()) }()
		select {
		case err := <-closed:
			t.Error("closed, though a plugin is being loaded:", err)
			closed <- err
		case <-time.After(200 * time.Millisecond):
		}
		return "words"
	}}})
	host.KeepAllImages(h)
	spec := withManifest(t, "keep-first", "permissions: [{kind: service, service: count_tokens, reason: test}]\n")
	if _, err := h.Load(t.Context(), spec, host.PluginConfig{Grants: host.Grants{Services: []string{manifest.ServiceCountTokens}}}); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil || times != 2 {
		t.Errorf("error %v, asked %d times (want 2)", err, times)
	}
}

// Who closes with little time does not wait for one who closes with much.
func TestCloseTwiceAtOnce(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "spin-forever", host.PluginConfig{Limits: host.Limits{Timeout: 2 * badLimit, Fuel: host.Unlimited}})
	calls, end := context.WithCancel(t.Context())
	defer end()
	done := make(chan error, 2)
	go func() {
		_, err := p.Call(calls, "anchor_filter", nil)
		done <- err
	}()
	for total, idle := host.PoolCounts(p); total == 0 || idle > 0; total, idle = host.PoolCounts(p) {
		time.Sleep(time.Millisecond)
	}
	go func() { done <- p.Close(context.Background()) }()
	for host.Borrowable(p) {
		time.Sleep(time.Millisecond)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	late := time.AfterFunc(badLimit, end)
	if err := p.Close(short); !errors.Is(err, context.DeadlineExceeded) || !late.Stop() {
		t.Errorf("error %v (want that the time is over, before the call is)", err)
	}
	end()
	for range 2 {
		<-done
	}
}

// closedPlugin returns what is left of a plugin that was loaded, called and closed.
//
//go:noinline
func closedPlugin(t *testing.T, h *host.Host, state host.State) weak.Pointer[host.Plugin] {
	p := load(t, h, "foreign", host.PluginConfig{State: state})
	if _, err := p.Call(t.Context(), "echo", nil); err != nil {
		t.Error(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return weak.Make(p)
}

// Nothing refers to a plugin once it is closed: its machine code lies outside of Go's
// heap, which a plugin makes grow too little to be collected for it, and goes with the
// first collection. A goroutine that is about to end may still know the plugin, but not
// each time.
func TestClosedPluginsAreGarbage(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, state := range []host.State{host.StateReset, host.StateKeep, host.StateFresh} {
		outlived := 0
		for outlived < 10 {
			p := closedPlugin(t, h, state)
			if runtime.GC(); p.Value() == nil {
				break
			}
			outlived++
		}
		if outlived == 10 {
			t.Errorf("%s: closed plugins outlive a collection", state)
		}
	}
}
