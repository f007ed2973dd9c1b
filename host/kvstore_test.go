package host_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/store"
)

// mapStore is a store of an embedder. before is run by each method, if it is not nil.
type mapStore struct {
	mu     sync.Mutex
	values map[host.KVOwner]map[string][]byte
	before func(ctx context.Context, method string) error
}

func (m *mapStore) at(ctx context.Context, method string, owner host.KVOwner) (map[string][]byte, error) {
	if m.before != nil {
		if err := m.before(ctx, method); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	if m.values == nil {
		m.values = map[host.KVOwner]map[string][]byte{}
	}
	if m.values[owner] == nil {
		m.values[owner] = map[string][]byte{}
	}
	return m.values[owner], nil
}

func (m *mapStore) Get(ctx context.Context, owner host.KVOwner, key string) ([]byte, error) {
	v, err := m.at(ctx, "get", owner)
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	return v[key], nil
}

func (m *mapStore) Set(ctx context.Context, owner host.KVOwner, key string, value []byte) error {
	v, err := m.at(ctx, "set", owner)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	v[key] = value
	return nil
}

func (m *mapStore) Delete(ctx context.Context, owner host.KVOwner, key string) error {
	v, err := m.at(ctx, "delete", owner)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(v, key)
	return nil
}

func (m *mapStore) Usage(ctx context.Context, owner host.KVOwner) (keys, bytes int64, err error) {
	v, err := m.at(ctx, "usage", owner)
	if err != nil {
		return 0, 0, err
	}
	defer m.mu.Unlock()
	for key, value := range v {
		bytes += int64(len(key) + len(value))
	}
	return int64(len(v)), bytes, nil
}

func (m *mapStore) Forget(ctx context.Context, tenant string) error {
	if m.before != nil {
		if err := m.before(ctx, "forget"); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.values, func(owner host.KVOwner, _ map[string][]byte) bool { return owner.Tenant == tenant })
	return nil
}

// What plugins store in a store of the embedder lasts longer than the host, belongs to one
// plugin and tenant, and is held to the quota of the grant.
func TestKVStoreLasts(t *testing.T) {
	var kept mapStore
	for round := range 3 {
		p := loadKV(t, newHost(t, host.Config{KVStore: &kept}), host.PluginConfig{Name: "notes"})
		for _, tenant := range []string{"a", "b", ""} {
			want := ""
			if round > 0 {
				want = tenant + fmt.Sprint(round-1)
			}
			if got := kvDo(t, p, tenant, "get", "key"); got != want {
				t.Errorf("round %d, tenant %q: %q, want %q", round, tenant, got, want)
			}
			kvDo(t, p, tenant, "set", "key="+tenant+fmt.Sprint(round))
		}
	}
	owners := slices.SortedFunc(maps.Keys(kept.values), func(a, b host.KVOwner) int { return strings.Compare(a.Tenant, b.Tenant) })
	if want := []host.KVOwner{{Plugin: "notes", Tenant: "a"}, {Plugin: "notes", Tenant: "b"}, {Plugin: "notes", Tenant: "default"}}; !slices.Equal(owners, want) {
		t.Errorf("owners %v", owners)
	}
	h := newHost(t, host.Config{KVStore: &kept})
	if err := h.ForgetTenant(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	p := loadKV(t, h, host.PluginConfig{Name: "notes"})
	if got := kvDo(t, p, "a", "get", "key") + kvDo(t, p, "b", "get", "key"); got != "b2" {
		t.Errorf("finds %q after a tenant is forgotten", got)
	}
	if s := h.Stats(); s.KV != 0 {
		t.Errorf("the host holds %d bytes", s.KV)
	}
}

// The quota counts keys and values as the store in memory does: one value takes the place
// of another, and deleting gives room.
func TestKVStoreQuota(t *testing.T) {
	for name, cfg := range map[string]host.Config{"memory": {}, "given": {KVStore: new(mapStore)}} {
		t.Run(name, func(t *testing.T) {
			p := loadKV(t, newHost(t, cfg), host.PluginConfig{})
			for _, step := range []struct {
				input string
				ok    bool
			}{
				{"a=" + strings.Repeat("x", 435), true}, {"b=" + strings.Repeat("x", 435), true}, {"c=x", false}, {"b=" + strings.Repeat("x", 436), false},
				{"b=" + strings.Repeat("y", 435), true}, {"b=", true}, {"b=" + strings.Repeat("x", 436), false}, {"none=", true}, {"c=x", true},
				{"a=" + strings.Repeat("x", 2000), false},
			} {
				_, err := kvTry(t.Context(), p, "a", "set", step.input)
				if (err == nil) != step.ok {
					t.Errorf("%.8s of %d bytes: %v", step.input, len(step.input), err)
				}
			}
			if got := kvDo(t, p, "a", "get", "a"); len(got) != 435 {
				t.Errorf("%d bytes after a value that did not fit", len(got))
			}
		})
	}
}

// A store that fails, panics or ends its goroutine ends the call, and nothing else: the
// instance serves on, and the plugin is not paused.
func TestHostileKVStore(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, fail := range map[string]func() error{
		"error":  func() error { return broken },
		"panic":  func() error { panic("store") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var bad atomic.Bool
			kept := &mapStore{before: func(context.Context, string) error {
				if bad.Load() {
					return fail()
				}
				return nil
			}}
			h := newHost(t, host.Config{KVStore: kept})
			p := loadKV(t, h, host.PluginConfig{State: host.StateReset, Limits: host.Limits{BreakAfter: 2}})
			kvDo(t, p, "a", "set", "key=value")
			made := p.Stats().Made
			bad.Store(true)
			for _, call := range [][2]string{{"get", "key"}, {"set", "key=other"}, {"set", "key="}, {"get", "key"}} {
				_, err := kvTry(t.Context(), p, "a", call[0], call[1])
				perr := checkReason(t, err, abi.ReasonTrap)
				if !errors.Is(err, host.ErrEmbedder) || (name == "error") != errors.Is(err, broken) || !strings.Contains(perr.Error(), "anchor_kv_"+call[0]) {
					t.Errorf("%s: %v", call, err)
				}
			}
			if name == "error" {
				if err := h.ForgetTenant(t.Context(), "b"); !errors.Is(err, broken) {
					t.Error(err)
				}
			}
			bad.Store(false)
			if got := kvDo(t, p, "a", "get", "key"); got != "value" {
				t.Errorf("finds %q when the store is well again", got)
			}
			if s := p.Stats(); s.Made > made+1 || s.Circuit != host.CircuitClosed || s.Failed[abi.ReasonTrap] != 4 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A store that does not end in time is left behind, at most so many times: calls end with
// their time, others have the processor meanwhile, and all is well when the store returns.
func TestSlowKVStore(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var slow atomic.Bool
	var running atomic.Int32
	kept := &mapStore{before: func(ctx context.Context, _ string) error {
		if slow.Load() {
			running.Add(1)
			defer running.Add(-1)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the store is given no deadline")
			}
			<-release // whatever the context says
		}
		return nil
	}}
	p := loadKV(t, newHost(t, host.Config{KVStore: kept}), host.PluginConfig{State: host.StateReset, Limits: host.Limits{Timeout: 20 * time.Millisecond}})
	until(t, "the value is kept", func() bool { // on a busy machine it may take more than the call has
		_, err := kvTry(t.Context(), p, "a", "set", "key=value")
		return err == nil
	})
	slow.Store(true)
	get := func() abi.Reason {
		_, err := kvTry(t.Context(), p, "a", "get", "key")
		var failed *host.PluginError
		if !errors.As(err, &failed) {
			t.Fatalf("error %v, want that of a call that fails", err)
		}
		if running.Load() > 0 && failed.Code == abi.ReasonTrap && !errors.Is(err, host.ErrEmbedder) { // else the plugin would be paused for it
			t.Fatalf("error %v, want one that blames the store", err)
		}
		return failed.Code
	}
	until(t, "64 calls of the store are left behind", func() bool {
		got := get()
		if got == abi.ReasonTrap { // on a busy machine the last of them may still have to begin
			until(t, "64 calls of the store begin", func() bool { return running.Load() == 64 })
		} else if got != abi.ReasonTimeout {
			t.Fatalf("%s with %d calls of the store left behind, want %s", got, running.Load(), abi.ReasonTimeout)
		}
		return running.Load() == 64
	})
	until(t, "the store is asked no more", func() bool { return get() == abi.ReasonTrap })
	if n := running.Load(); n != 64 {
		t.Errorf("%d calls of the store are left behind, want 64", n)
	}
	slow.Store(false)
	close(release)
	for running.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	until(t, "the value is found again", func() bool {
		got, err := kvTry(t.Context(), p, "a", "get", "key")
		return err == nil && got == "value"
	})
}

// A guest is told that its value cannot be stored, if the medium is the reason, and goes on.
func TestKVStoreThatCannotBeWritten(t *testing.T) {
	var reason error
	kept := &mapStore{before: func(_ context.Context, what string) error {
		if what == "get" || what == "usage" {
			return nil
		}
		return reason
	}}
	p := load(t, newHost(t, host.Config{KVStore: kept}), "foreign-kv", host.PluginConfig{Grants: host.Grants{KV: &host.KVGrant{}}})
	if _, err := kvTry(t.Context(), p, "a", "set", "key=value"); err != nil {
		t.Fatal(err)
	}
	for _, cause := range []error{store.ErrReadOnly, store.ErrFull} {
		reason = fmt.Errorf("write: %w", cause)
		for _, input := range []string{"key=other", "key="} {
			var failed *host.PluginError
			if _, err := kvTry(t.Context(), p, "a", "set", input); !errors.As(err, &failed) || failed.Code != abi.ReasonGuestError {
				t.Errorf("%v, %s: %v", cause, input, err)
			}
		}
	}
	if got, err := kvTry(t.Context(), p, "a", "get", "key"); got != "value" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A store that waits holds up nobody: as many calls wait at once as there are instances,
// which are more than processors.
func TestKVStoreWaitsWithoutAProcessor(t *testing.T) {
	n := 4 * runtime.GOMAXPROCS(0)
	var at sync.WaitGroup
	at.Add(n)
	var loaded atomic.Bool
	kept := &mapStore{before: func(context.Context, string) error {
		if loaded.Load() {
			at.Done()
			at.Wait() // until all are here
		}
		return nil
	}}
	p := load(t, newHost(t, host.Config{KVStore: kept}), "foreign-kv", host.PluginConfig{
		Grants: host.Grants{KV: &host.KVGrant{}}, Limits: host.Limits{Instances: n, Timeout: time.Minute}, State: host.StateReset})
	loaded.Store(true)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := kvTry(t.Context(), p, "a", "get", "key"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// BenchmarkKVGet is a call that asks the store for a value, in memory and of the embedder.
func BenchmarkKVGet(b *testing.B) {
	for name, cfg := range map[string]host.Config{"memory": {}, "given": {KVStore: new(mapStore)}} {
		b.Run(name, func(b *testing.B) {
			p := load(b, newHost(b, cfg), "foreign-kv", host.PluginConfig{Grants: host.Grants{KV: &host.KVGrant{}}})
			if _, err := p.Call(b.Context(), "set", []byte("key=value")); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if r, err := p.Call(b.Context(), "get", []byte("key")); err != nil || len(r.Output) != 5 {
					b.Fatal(err)
				}
			}
		})
	}
}
