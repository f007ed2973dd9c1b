package host

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/internal/units"
)

// prepareStart makes the environment of the plugin's instances. The modules of the plugin and
// of its links are compiled.
func (p *Plugin) prepareStart(ctx context.Context) {
	l, h := &p.limits, p.host
	p.env = guest.Environment{
		Runtime: p.engine.RT, Features: &p.engine.Features, Interpreted: p.engine.Interpreted,
		Code: codeOf(p.module, p.spec),
		Limits: guest.Limits{
			Memory: l.Memory, Input: l.Input, Output: l.Output, LogBytes: l.LogBytes,
			Timeout: l.Timeout, InitTimeout: l.InitTimeout, Fuel: l.Fuel, InitFuel: p.initFuel(),
			Share: h.cfg.shareOfOne(), Whole: h.cfg.Memory, Instances: h.cfg.MaxInstances,
		},
		StackLeast: p.interpretedStack(), RecycleAfter: recycleCalls,
		Foreign: p.spec.Foreign, InitRequest: p.initRequest, Values: p.values,
		Log: p.log, Declared: p.spec.Declared, Account: p.account, Owner: pluginOwner{p}, Resets: p.state == StateReset,
		Share: p.share, Guard: p.guard, WASI: p.wasiOptions(), Descriptors: opensFiles(p.spec),
		Imports: &imports.Plugin{
			Name: p.name, Asks: asksOf(p.spec.Manifest), Client: p.client, Stores: h.kv, Quota: p.granted.kvQuota, Tenant: TenantOf, Tokenizer: h.tokens,
			Counts: slices.Contains(p.granted.services, manifest.ServiceCountTokens), Functions: p.granted.functions,
			Services: h.cfg.Services, Granted: p.granted.ask,
		},
	}
	p.env.Record = p.recorder()
	if p.usesKernel() {
		if compiled := p.engine.Kernel(ctx); compiled != nil {
			p.env.Kernels = guest.NewKernels(p.engine.RT, compiled, &p.engine.Features)
		}
	}
	elements := p.spec.Module().Tables
	for _, l := range p.links {
		c := codeOf(l.module, l.Spec)
		c.Name, c.Lends = l.Name, l.lends
		if l.circle != nil {
			c.Stub, c.Filler = l.circle.Stub, l.circle.Filler
		}
		p.env.Links = append(p.env.Links, c)
		elements += l.Spec.Module().Tables
	}
	p.env.Tables = int64(elements) * wazerox.TableElement
}

// codeOf is a compiled module as instances use it.
func codeOf(m *compile.Module, s *spec.Spec) *guest.Code {
	return &guest.Code{Compiled: m.Compiled, Open: m.Open, Segments: m.Segments, Memory: m.Memory, Exports: s.Module().Exports, Lines: m.Lines}
}

// interpretedStack is the most stack that calls of an instance take in the interpreter, in
// bytes. The plugin and its links share one stack. With the compiler it is 0.
func (p *Plugin) interpretedStack() (n int64) {
	if !p.engine.Interpreted {
		return 0
	}
	n = p.spec.Module().InterpretedStack()
	for _, l := range p.links {
		n = max(n, l.Spec.Module().InterpretedStack())
	}
	return n
}

// initFuel is the fuel of init: as much for each unit of time as a call has, and at least that
// of a call.
func (p *Plugin) initFuel() int64 {
	return max(p.limits.Fuel, saturate(p.limits.Fuel, float64(p.limits.InitTimeout)/float64(p.limits.Timeout)))
}

// newInstance makes an instance for the pool.
func (p *Plugin) newInstance(ctx context.Context) (*guest.Instance, error) {
	return p.started(p.env.Start(p.booked(ctx), false))
}

// started returns a new instance, or a *PluginError of init.
func (p *Plugin) started(in *guest.Instance, err error) (*guest.Instance, error) {
	if err != nil {
		return nil, p.failure(abi.OpInit, nil, err)
	}
	return in, nil
}

// capture makes the image of the plugin from its first instance. Where the state cannot be
// captured, StateReset becomes StateFresh and a note says why.
func (p *Plugin) capture(in *guest.Instance) error {
	if p.state == StateFresh || p.spec.Foreign && p.state == StateKeep {
		return nil
	}
	if why := p.uncaptured(in); why != "" {
		if p.state == StateReset {
			p.state, p.env.Resets = StateFresh, false
			p.noteFresh(why)
		}
		return nil
	}
	memory := linear.Capture
	if !p.engine.Features.On(wazerox.Memories) {
		memory = linear.Copy
	}
	im, err := in.Capture(memory)
	if err != nil {
		return guest.InInit(err)
	}
	if !p.host.room.Take(im.Held()) {
		defer im.Free()
		return guest.InInit(&guest.Fault{Reason: abi.ReasonMemory, Remedy: guest.MoreMemory,
			Err: errkind.As(guest.ErrNoRoom, fmt.Errorf("the host has no room for the state after init, %s", units.FormatSize(im.Held())))})
	}
	in.MapImage(im)
	p.env.Image, p.outside = im, in.Life.Outside || in.WASI.ReadClock()
	p.imageHeld.Store(im.Held())
	return nil
}

// uncaptured says why the state of the first instance cannot be captured, "" if it can.
func (p *Plugin) uncaptured(in *guest.Instance) string {
	for _, l := range p.links {
		switch {
		case l.Spec.Uncaptured != "":
			return fmt.Sprintf("link %q: %s", l.Name, l.Spec.Uncaptured)
		case opensFiles(l.Spec):
			return fmt.Sprintf("link %q can open files", l.Name)
		}
	}
	if p.spec.Uncaptured != "" {
		return p.spec.Uncaptured
	}
	return in.WASI.Uncaptured()
}

// noteFresh notes for the operator that instances cannot be reset.
func (p *Plugin) noteFresh(why string) {
	p.notes = append(p.notes, fmt.Sprintf("cannot be reset, each call gets a new instance: %s (state: keep does without)", why))
	p.log.Info("each call gets a new instance", "cannot_be_reset", why)
}

// pluginOwner is a plugin as the owner of its instances.
type pluginOwner struct{ p *Plugin }

// pluginOf is the plugin of an instance.
func pluginOf(in *guest.Instance) *Plugin { return in.Env.Owner.(pluginOwner).p }

// Several implements owner.
func (o pluginOwner) Several() bool {
	n, _ := o.p.pool.Counts()
	return n > 1
}

// Made implements owner.
func (o pluginOwner) Made(fromImage bool, took time.Duration) {
	o.p.count(func(c *counters) *atomic.Int64 { return &c.made })
	o.p.log.Debug("instance made", "number", o.p.counts.made.Load(), "from_image", fromImage, "took", took)
}

// Count implements owner.
func (o pluginOwner) Count(e guest.Event) { o.p.count(eventCounters[e]) }

// eventCounters are the counters of the events in the life of an instance.
var eventCounters = [...]func(*counters) *atomic.Int64{
	guest.Closed:   func(c *counters) *atomic.Int64 { return &c.closed },
	guest.Recycled: func(c *counters) *atomic.Int64 { return &c.recycled },
	guest.Replaced: func(c *counters) *atomic.Int64 { return &c.replaced },
}

// Add implements owner.
func (o pluginOwner) Add(t *guest.Tally) {
	o.p.counts.take(t)
	o.p.host.counts.take(t)
}

// Config.MaxInstances bounds the instances of a host, and Config.Memory what they hold; see
// package capacity. A plugin that has no instance at all, as while it is loaded, waits for room.

// shareOfOne is the most memory of a plugin with several instances.
func (c *Config) shareOfOne() int64 {
	if c.PluginShare == 1 {
		return math.MaxInt64 // what it has no room for, the host has none for either
	}
	return saturate(c.Memory, c.PluginShare)
}

// reserve takes the plugin's place.
func (p *Plugin) reserve(ctx context.Context) error {
	return p.host.room.Wait(ctx, p.limits.QueueTimeout, func() error {
		if !p.share.Reserve() {
			return guest.NoPlace(p.host.cfg.MaxInstances)
		}
		return nil
	})
}

// pooled makes an instance for the pool. While a caller waits for room, it makes only the first.
func (p *Plugin) pooled(ctx context.Context) (*guest.Instance, error) {
	if p.host.room.Waiting() > 0 && p.share.Pooled() {
		return nil, p.failure(abi.OpInit, nil, &guest.Fault{Reason: abi.ReasonBusy, Remedy: guest.MoreInstances,
			Err: errkind.As(guest.ErrNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.newInstance(ctx)
}

// checkIdleAfter is how long after a call the stacks of idle instances are checked. For at
// most that long nothing is charged for what a call left on the stack of an idle instance.
const checkIdleAfter = 50 * time.Millisecond

// checkIdleSoon starts the timer for checking idle instances, unless it runs already.
func (p *Plugin) checkIdleSoon() {
	if !p.checking.Load() && p.checking.CompareAndSwap(false, true) {
		time.AfterFunc(checkIdleAfter, p.timer.checkIdle)
	}
}

func (t *stackTimer) checkIdle() {
	if p := t.plugin.Load(); p != nil {
		p.checkIdle()
	}
}

// checkIdle checks the stacks of idle instances. If others are lent or being reset, it checks
// again later. After the plugin was closed there are none.
func (p *Plugin) checkIdle() {
	p.checking.Store(false)
	if !p.pool.Visit((*guest.Instance).CheckStacks) {
		p.checkIdleSoon()
	}
}

// booked returns a context with a ledger for a plugin that may use services. Without one of a
// build, the call has one of its own.
func (p *Plugin) booked(ctx context.Context) context.Context {
	if len(p.granted.ask.Names()) > 0 {
		ctx, _ = ledger.Under(ctx)
	}
	return ctx
}
