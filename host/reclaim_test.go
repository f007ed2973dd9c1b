package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// burst has a plugin lend so many instances at a time, and take them back.
func burst(t *testing.T, p *host.Plugin, instances int) {
	t.Helper()
	host.LendAtOnce(t, p, instances)
	if total, _ := host.PoolCounts(p); total < instances {
		t.Fatalf("%d instances (want %d)", total, instances)
	}
}

// A plugin whose instances are idle makes room for another one's.
func TestIdleInstancesMakeRoom(t *testing.T) {
	for _, state := range []host.State{host.StateReset, host.StateKeep} {
		h := newHost(t, host.Config{MaxInstances: 4})
		a := load(t, h, "batch-keep-first", host.PluginConfig{Name: "a", State: state, Limits: host.Limits{Instances: 4}})
		burst(t, a, 4)
		b := load(t, h, "batch-keep-first", host.PluginConfig{Name: "b", State: state, Limits: host.Limits{Instances: 4}})
		if err := calls(t, b, abi.OpFilter)(); err != nil {
			t.Error(err)
		}
		burst(t, b, 3) // the fourth place is that of the other
		if instances, _ := host.Usage(h); instances > 4 {
			t.Errorf("%s: %d instances", state, instances)
		}
		if err := calls(t, a, abi.OpFilter)(); err != nil {
			t.Error(err)
		}
	}
}

// Instances that nobody uses are closed after their time, but for one, or as many as are
// to be there.
func TestIdleInstancesAreGivenBack(t *testing.T) {
	for _, least := range []int{0, 1, 3} {
		h := newHost(t, host.Config{})
		p := load(t, h, "batch-keep-first", host.PluginConfig{
			Limits: host.Limits{Instances: 5, MinInstances: least, IdleTimeout: 20 * time.Millisecond}})
		burst(t, p, max(2, least))
		want := max(1, least)
		for deadline := time.Now().Add(badLimit); ; time.Sleep(5 * time.Millisecond) {
			total, _ := host.PoolCounts(p)
			if instances, _ := host.Usage(h); total == want && instances == int64(want) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d instances are left (want %d)", total, want)
			}
		}
		if err := calls(t, p, abi.OpFilter)(); err != nil {
			t.Error(err)
		}
	}
}

// The instance that was used longest ago goes first, whosever it is.
func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 6})
	limits := host.Limits{Instances: 2}
	var old, recent *host.Plugin
	for _, p := range []**host.Plugin{&old, &recent} {
		*p = load(t, h, "batch-keep-first", host.PluginConfig{Limits: limits})
		burst(t, *p, 2)
	}
	burst(t, recent, 2)
	load(t, h, "batch-keep-first", host.PluginConfig{})
	load(t, h, "batch-keep-first", host.PluginConfig{})
	load(t, h, "batch-keep-first", host.PluginConfig{}) // the one that has to go
	a, _ := host.PoolCounts(old)
	b, _ := host.PoolCounts(recent)
	if a != 1 || b != 2 {
		t.Errorf("%d of the plugin used longest ago are left, %d of the other (want 1 and 2)", a, b)
	}
}

// Whatever plugins do with all instances that there may be, each has its own, and another
// one is loaded while they do, as those in use come back.
func TestEveryPluginHasAnInstance(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{MaxInstances: 4})
	greedy := load(t, h, "batch-keep-first", host.PluginConfig{Name: "greedy", Limits: host.Limits{Instances: 4, QueueTimeout: time.Minute}})
	burst(t, greedy, 4)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for range 16 {
		call := calls(t, greedy, abi.OpFilter)
		all.Go(func() {
			for ctx.Err() == nil {
				if err := call(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 3 {
		p := load(t, h, "batch-keep-first", host.PluginConfig{Limits: host.Limits{Instances: 4, QueueTimeout: badLimit}})
		for range 10 {
			if err := calls(t, p, abi.OpFilter)(); err != nil {
				t.Errorf("plugin %d: %v", n, err)
			}
		}
	}
	_, err := h.Load(t.Context(), fixture(t, "batch-keep-first").Spec, host.PluginConfig{Name: "fifth"})
	perr := checkReason(t, err, abi.ReasonBusy)
	if want := `plugin "fifth": init: busy: the host has 4 instances, as many as it may (raise plugins.max_instances`; !strings.HasPrefix(perr.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// A plugin whose guests take all the memory that they can get leaves others the rest, and
// is told that it has its share.
func TestNoPluginTakesAllMemory(t *testing.T) {
	if portable() {
		t.Skip("wazero copies memories that grow, which takes minutes here")
	}
	const memory = 256 << 20
	h := newHost(t, host.Config{Memory: memory, MaxInstances: 256})
	hog := load(t, h, "memory-hog", host.PluginConfig{Name: "hog", Limits: host.Limits{Instances: 64, Memory: 64 << 20, QueueTimeout: time.Minute}})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	var shares, most atomic.Int64
	for range 64 {
		call := calls(t, hog, abi.OpFilter)
		all.Go(func() {
			for ctx.Err() == nil {
				err := call()
				if perr := (*host.PluginError)(nil); errors.As(err, &perr) && strings.Contains(perr.Error(), "the plugin's share of the host's memory, 128MiB for all its instances") &&
					strings.Contains(perr.Remedy, "Config.PluginShare") {
					shares.Add(1)
				}
				if _, used := host.Usage(h); used > most.Load() {
					most.Store(used)
				}
			}
		})
	}
	for n := range 5 {
		p := load(t, h, "batch-keep-first", host.PluginConfig{Name: fmt.Sprint("good", n), Limits: host.Limits{Timeout: badLimit, QueueTimeout: badLimit}})
		for range 20 {
			if err := calls(t, p, abi.OpFilter)(); err != nil {
				t.Error(err)
			}
		}
	}
	for deadline := time.Now().Add(badLimit); shares.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if shares.Load() == 0 || most.Load() > memory*7/8 {
		t.Errorf("%d calls ended at the share, the host held up to %d MiB", shares.Load(), most.Load()>>20)
	}
}

// The share is of what goes beyond the first instance, and is stated in the host's
// configuration.
func TestPluginShare(t *testing.T) {
	for _, share := range []float64{-0.1, 1.1} {
		if _, err := host.New(host.Config{PluginShare: share}); !errors.Is(err, host.ErrConfig) {
			t.Errorf("share %v: error %v", share, err)
		}
	}
	ample := newHost(t, host.Config{})
	load(t, ample, "batch-keep-first", host.PluginConfig{State: host.StateKeep})
	_, one := host.Usage(ample)
	h := newHost(t, host.Config{Memory: 100 * one, PluginShare: 0.001})
	p := load(t, h, "sleep-forever", host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 2, Timeout: badLimit, QueueTimeout: 20 * time.Millisecond}})
	ctx, stop := context.WithCancel(t.Context())
	var first sync.WaitGroup
	sleep := func(ctx context.Context) error {
		s, err := p.NewSession(ctx)
		if err != nil {
			return err
		}
		return s.Close(ctx)
	}
	if err := sleep(ctx); err == nil || !strings.Contains(err.Error(), "the plugin's share of the host's memory") {
		t.Errorf("a second instance: error %v", err)
	}
	stop()
	first.Wait()
}

// The memory of a host is what its control groups leave, where that is little.
func TestHostMemory(t *testing.T) {
	if n := newHost(t, host.Config{}).Stats().MaxMemory; n <= 0 || n > host.DefaultHostMemory {
		t.Errorf("%d bytes", n)
	}
}

// The tables of instances count for the memory of the host.
func TestTablesCount(t *testing.T) {
	const table = 8 << 20 // one that may grow to any size, at the most it may have
	h := newHost(t, host.Config{})
	load(t, h, "table-forever", host.PluginConfig{State: host.StateKeep})
	if _, memory := host.Usage(h); memory < table || memory > table+1<<20 {
		t.Errorf("an instance with a table of 8 MiB holds %d KiB", memory>>10)
	}
	h = newHost(t, host.Config{Memory: table - 1})
	_, err := h.Load(t.Context(), fixture(t, "table-forever").Spec, host.PluginConfig{State: host.StateKeep})
	if perr := checkReason(t, err, abi.ReasonInitFailed); !strings.Contains(perr.Error(), "memory: the host has no room for its tables, 8MiB (raise plugins.total_memory") {
		t.Errorf("error %v", perr)
	}
}

// A call that needs the memory of another plugin's idle instances has it.
func TestIdleInstancesGiveTheirMemory(t *testing.T) {
	one := int64(4 << 20)
	h := newHost(t, host.Config{Memory: 10 * one, PluginShare: 1})
	cfg := host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 4, Memory: one, Output: one}}
	a := load(t, h, "grow-each-call", cfg)
	grow := calls(t, a, abi.OpFilter)
	burst(t, a, 4)
	for range 5 { // as often as one instance can grow, whichever serve the calls
		if err := grow(); err != nil {
			t.Fatal(err)
		}
	}
	_, held := host.Usage(h)
	hog := load(t, h, "memory-hog", host.PluginConfig{Limits: host.Limits{Memory: 20 * one}})
	_ = calls(t, hog, abi.OpFilter)() // ends when it gets no more
	if total, _ := host.PoolCounts(a); total != 1 {
		t.Errorf("%d instances are left of a plugin that held %d KiB", total, held>>10)
	}
	host.Settle(hog)
	if err := grow(); err != nil {
		t.Error(err)
	}
}

// Loading, calling, sweeping and closing may meet in any order, with hardly any room.
func TestReclaimHammer(t *testing.T) {
	h := newHost(t, host.Config{MaxInstances: 8})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 12 {
				state := []host.State{host.StateReset, host.StateKeep, host.StateFresh}[n%3]
				p, err := h.Load(t.Context(), fixture(t, "batch-keep-first").Spec, host.PluginConfig{State: state,
					Limits: host.Limits{Instances: 3, IdleTimeout: time.Millisecond, QueueTimeout: 20 * time.Millisecond}})
				if err != nil {
					continue
				}
				var callers sync.WaitGroup
				for range 4 {
					call := calls(t, p, abi.OpFilter)
					callers.Go(func() {
						for range 20 {
							_ = call()
						}
					})
				}
				callers.Wait()
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
