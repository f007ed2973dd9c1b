package host_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/internal/linear"
)

const wasmPage = 64 << 10

// indexSize is the size of what the fixture index builds in its init.
const indexSize = 48 << 20

// indexHost is a host with room for so many indexes and a little more.
func indexHost(t *testing.T, indexes int64) *host.Host {
	t.Helper()
	if linear.Finds() == linear.Compares {
		t.Skip("this system does not tell what a memory has of its own")
	}
	if portable() {
		t.Skip("without the memory of this package each instance has an index of its own")
	}
	return newHost(t, host.Config{Memory: indexes*indexSize + indexSize/2})
}

// calls is a call of an operation of the plugin.
func calls(t *testing.T, p *host.Plugin, op abi.Operation) func() error {
	t.Helper()
	s, err := newStep(p, op, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		_, err := s.Run(t.Context(), &abi.Query{}, twoRows())
		return err
	}
}

// resident is the memory of the process in bytes; what it maps several times counts once.
// It waits until the process gives no more back of what earlier tests used.
func resident(t *testing.T) int64 {
	t.Helper()
	least := int64(math.MaxInt64)
	for settled := 0; settled < 3; settled++ {
		debug.FreeOSMemory()
		time.Sleep(10 * time.Millisecond) // finalizers run after a collection
		n := proportional(t)
		if n < least-1<<20 {
			settled = 0
		}
		least = min(least, n)
	}
	return least
}

// proportional is the Pss of the process in bytes.
func proportional(t *testing.T) int64 {
	t.Helper()
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	_, pss, _ := strings.Cut(string(rollup), "\nPss:")
	var kib int64
	if _, err := fmt.Sscan(pss, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// An index built in init is held once, however many instances read it.
func TestIndexIsHeldOnce(t *testing.T) {
	h := indexHost(t, 2)
	before := resident(t)
	const many = 40
	p := load(t, h, "index", host.PluginConfig{Limits: host.Limits{Instances: many, MinInstances: many, Timeout: time.Minute, QueueTimeout: time.Minute}})
	host.Settle(p)
	read := calls(t, p, abi.OpFilter)
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if err := read(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	host.Settle(p)
	if instances, memory := host.Usage(h); instances != many || memory > indexSize+indexSize/4 {
		t.Errorf("%d instances hold %d MiB together (want %d, and little more than the index of %d MiB)",
			instances, memory>>20, many, indexSize>>20)
	}
	if underRace { // the detector keeps memory of its own, and gives it back when it likes
		return
	}
	if took := resident(t) - before; took < indexSize/2 || took > 3*indexSize {
		t.Errorf("the process took %d MiB for an index of %d MiB", took>>20, indexSize>>20)
	}
}

// What instances make their own of an index counts from the end of the call in which they
// did, and for further ones from their beginning. Where there is no room for another
// copy, calls share the instances that there is room for.
func TestIndexThatIsWrittenCounts(t *testing.T) {
	h := indexHost(t, 2)
	p := load(t, h, "index", host.PluginConfig{Limits: host.Limits{Instances: 8, Timeout: time.Minute, QueueTimeout: time.Minute}})
	read, write := calls(t, p, abi.OpFilter), calls(t, p, abi.OpRerank)
	if err := write(); err != nil {
		t.Fatal(err)
	}
	host.Settle(p)
	if _, memory := host.Usage(h); memory < 2*indexSize || memory > 2*indexSize+indexSize/4 {
		t.Errorf("an instance that wrote to all of the index: %d MiB in all", memory>>20)
	}
	for round := range 5 {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				f := read
				if i%2 == round%2 {
					f = write
				}
				if err := f(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		host.Settle(p)
		if _, memory := host.Usage(h); memory > 2*indexSize+indexSize/2 {
			t.Fatalf("%d MiB in all, more than the host may have", memory>>20)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if instances, memory := host.Usage(h); instances != 0 || memory != 0 {
		t.Errorf("a closed plugin holds %d instances, %d bytes", instances, memory)
	}
}

// A plugin whose instance had to go, as the host had no room for what it wrote, has another
// one as long as nobody writes.
func TestIndexIsThereAfterItWasWritten(t *testing.T) {
	h := indexHost(t, 3)
	limits := host.Limits{Instances: 2, Timeout: time.Minute, QueueTimeout: time.Minute}
	a, b := load(t, h, "index", host.PluginConfig{Limits: limits}), load(t, h, "index", host.PluginConfig{Limits: limits})
	for _, p := range []*host.Plugin{a, b} {
		if err := calls(t, p, abi.OpRerank)(); err != nil {
			t.Fatal(err)
		}
		host.Settle(p)
	}
	for range 5 {
		for _, p := range []*host.Plugin{a, b} {
			if err := calls(t, p, abi.OpFilter)(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A call that waits in vain because the host has no room for another instance says so.
func TestNoRoomForAnotherInstance(t *testing.T) {
	t.Parallel()
	cfg := host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 2, Timeout: badLimit, Fuel: host.Unlimited, QueueTimeout: 50 * time.Millisecond}}
	ample := newHost(t, host.Config{})
	load(t, ample, "sleep-forever", cfg)
	_, one := host.Usage(ample)

	// The instance takes another page for its input.
	h := newHost(t, host.Config{Memory: one + 2*wasmPage - 1, PluginShare: 1})
	p := load(t, h, "sleep-forever", cfg)
	s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		_, err := s.Run(ctx, &abi.Query{}, twoRows())
		checkReason(t, err, abi.ReasonCancelled)
	})
	for _, used := host.Usage(h); used < one+wasmPage; _, used = host.Usage(h) {
		time.Sleep(time.Millisecond)
	}
	err = calls(t, p, abi.OpFilter)()
	checkReason(t, err, abi.ReasonBusy)
	if want := "no instance came free within 50ms, and no other could be made: "; !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), " (raise plugins.total_memory, Config.Memory of the host)") {
		t.Errorf("error %v", err)
	}
	end()
	first.Wait()
}

// Nor is there room for a plugin of which not even the first page has any.
func TestHostWithoutRoomForAPlugin(t *testing.T) {
	if portable() {
		t.Skip("the memory of wazero is counted when it is there")
	}
	for name, room := range map[string]int64{"keep-first": 1000, "sleep-forever": wasmPage + 1000} {
		_, err := newHost(t, host.Config{Memory: room}).Load(t.Context(), fixture(t, name).Spec, host.PluginConfig{})
		checkReason(t, err, abi.ReasonInitFailed)
		if !strings.Contains(err.Error(), "host has no room for") || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A guest that is refused memory by the host, not by its own limits, says that.
func TestHostWithoutRoomSaysSo(t *testing.T) {
	p := load(t, newHost(t, host.Config{Memory: 2 << 20}), "memory-hog", host.PluginConfig{})
	err := calls(t, p, abi.OpFilter)()
	checkReason(t, err, abi.ReasonMemory)
	want := "needs more than the host has room for, 2MiB for all plugins together"
	if portable() {
		want = "the host has no room for 1MiB more"
	}
	if want += " (raise plugins.total_memory, Config.Memory of the host)"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}
