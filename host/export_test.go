package host

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/decoded"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// PoolCounts shows black-box tests how many instances a plugin has.
func PoolCounts(p *Plugin) (total, idle int) { return p.lending.pool.Counts() }

// Borrowable reports whether a plugin still lends instances.
func Borrowable(p *Plugin) bool { return p.lending.pool.Life().Err() == nil }

// FixedStacks reports whether the calls of a plugin run on stacks of a fixed size.
func FixedStacks(p *Plugin) bool { return p.starting.engine.Features.On(wazerox.Stacks) }

// StackHeld is the memory that the stack of an instance holds, if it is of a fixed size.
func StackHeld(t *testing.T, p *Plugin) int64 {
	t.Helper()
	in, err := p.lending.pool.Get(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.lending.pool.Put(in)
	return in.Stacks.StackBytes()
}

// StackMemory is the memory that the stacks of an instance hold beyond what each keeps.
func StackMemory(t *testing.T, p *Plugin) int64 {
	t.Helper()
	_, used := StackSizes(t, p, p.setup.spec.Functions[0])
	if p.starting.engine.Features.On(wazerox.Stacks) {
		return StackHeld(t, p)
	}
	n := 0
	for _, size := range used {
		if size > guest.KeptStack {
			n += size
		}
	}
	return int64(n)
}

// StackSizes are the sizes of the stacks that an instance has for a new handle and for
// those that were used.
func StackSizes(t *testing.T, p *Plugin, function string) (unused int, used []int) {
	t.Helper()
	in, err := p.lending.pool.Get(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.lending.pool.Put(in)
	return in.StackSizes(function)
}

// Usage shows what a host holds: instances, and bytes of linear memory.
func Usage(h *Host) (instances, memory int64) { return h.room.Usage() }

// TakeAllMemory takes what is left of the memory of a host, until it is given back.
func TakeAllMemory(h *Host) (giveBack func()) {
	_, used := h.room.Usage()
	n := h.cfg.Memory - used
	if !h.room.Take(n) { // an instance took some meanwhile
		n = 0
	}
	return func() { h.room.Give(n) }
}

// Made is how many instances a plugin has made so far.
func Made(p *Plugin) int64 { return p.counting.counts.made.Load() }

// CallEach calls a function once in each of several instances of a plugin that resets
// them, all of them lent at a time, and returns the outputs.
func CallEach(t *testing.T, p *Plugin, instances int, function string) (outputs [][]byte) {
	t.Helper()
	for range instances {
		in, err := p.lending.pool.Get(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer p.lending.pool.GiveBack(in)
		in.Begin(t.Context(), p.setup.limits.Timeout, p.setup.limits.Fuel)
		_, out, err := in.CallDocument(function, nil, false)
		in.Call.End()
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, out)
	}
	return outputs
}

// RecycleAfter has the instances of a plugin make way after so many calls. It must be
// called before any.
func RecycleAfter(p *Plugin, calls int) { p.starting.env.RecycleAfter = calls }

// NoShrinking makes the engines of a host as those on which memories cannot be
// made smaller. It must be called before anything is loaded from them again.
func NoShrinking(h *Host) {
	for p := range h.plugins {
		p.starting.engine.Features.Off("by the test", wazerox.Shrinking)
	}
}

// Settle waits until a plugin's instances are reset, so that all of them are
// idle or lent.
func Settle(p *Plugin) {
	for {
		lent, _, _ := p.lending.pool.Figures()
		if total, idle := p.lending.pool.Counts(); idle+lent == total {
			return
		}
		runtime.Gosched()
	}
}

// LastFuel is the fuel of the last call of a plugin with one instance.
func LastFuel(t *testing.T, p *Plugin) int64 {
	t.Helper()
	in, err := p.lending.pool.Get(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.lending.pool.Put(in)
	return in.FuelUsed()
}

// OwnMemory reports whether the memory of a plugin's instance is this package's.
func OwnMemory(t *testing.T, p *Plugin) bool {
	t.Helper()
	in, err := p.lending.pool.Get(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.lending.pool.Put(in)
	return in.Memory.OwnMemory()
}

// KeepAllImages has a host keep images on disk however little time they took.
func KeepAllImages(h *Host) { h.slowInit = 0 }

// OtherBoot has hosts find another start of the system, or none that they can tell, until
// the test ends.
func OtherBoot(t *testing.T, id string) {
	old := imagestore.Boot
	imagestore.Boot = func() string { return id }
	t.Cleanup(func() { imagestore.Boot = old })
}

// SettleFiles sets the age at which the times of a file are trusted, until the test
// ends.
func SettleFiles(t *testing.T, age time.Duration) {
	old := decoded.SettledFile
	decoded.SettledFile = age
	t.Cleanup(func() { decoded.SettledFile = old })
}

// MakeInstance makes an instance of a plugin and closes it.
func MakeInstance(p *Plugin) error {
	in, err := p.starting.newInstance(context.Background())
	if err == nil {
		in.Close()
	}
	return err
}

// ResetRepeatedly measures how long it takes to reset an instance.
func ResetRepeatedly(b *testing.B, p *Plugin) {
	in, err := p.starting.newInstance(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	b.SetBytes(int64(in.Guest.Size()))
	for b.Loop() {
		if !in.Reset() {
			b.Fatal("cannot be reset")
		}
	}
}

// Linked reports whether a plugin's instances are linked to kernels.
func Linked(p *Plugin) bool { return p.starting.env.Kernels != nil }

// ImageSize is what the image of a plugin holds.
func ImageSize(p *Plugin) int64 {
	if p.starting.env.Image == nil {
		return 0
	}
	return p.starting.env.Image.Held()
}

// Compiles reports whether wazero makes machine code on this platform.
func Compiles() bool { return runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" }

// LendAtOnce borrows so many instances of a plugin at a time, calls a function of none, and
// returns them.
func LendAtOnce(t *testing.T, p *Plugin, instances int) {
	t.Helper()
	for range instances {
		in, err := p.lending.pool.Get(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		in.Begin(t.Context(), time.Minute, 0)
		in.Call.End()
		defer p.lending.pool.Put(in)
	}
}
