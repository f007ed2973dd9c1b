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
	l, h := &p.setup.limits, p.setup.host
	p.starting.env = guest.Environment{
		Runtime: p.starting.engine.RT, Features: &p.starting.engine.Features, Interpreted: p.starting.engine.Interpreted,
		Code: codeOf(p.starting.module, p.setup.spec),
		Limits: guest.Limits{
			Memory: l.Memory, Input: l.Input, Output: l.Output, LogBytes: l.LogBytes,
			Timeout: l.Timeout, InitTimeout: l.InitTimeout, Fuel: l.Fuel, InitFuel: p.setup.initFuel(),
			Share: h.cfg.shareOfOne(), Whole: h.cfg.Memory, Instances: h.cfg.MaxInstances,
		},
		StackLeast: p.starting.interpretedStack(), RecycleAfter: recycleCalls,
		Foreign: p.setup.spec.Foreign, InitRequest: p.setup.initRequest, Values: p.setup.values,
		Log: p.setup.log, Declared: p.setup.spec.Declared, Account: p.lending.account, Owner: pluginOwner{p}, Resets: p.setup.state == StateReset,
		Share: p.lending.share, Guard: p.guard, WASI: p.wasiOptions(), Descriptors: opensFiles(p.setup.spec),
		Imports: &imports.Plugin{
			Name: p.setup.name, Asks: asksOf(p.setup.spec.Manifest), Client: p.client, Stores: h.kv, Quota: p.setup.granted.kvQuota, Tenant: TenantOf, Tokenizer: h.tokens,
			Counts: slices.Contains(p.setup.granted.services, manifest.ServiceCountTokens), Functions: p.setup.granted.functions,
			Services: h.cfg.Services, Granted: p.setup.granted.ask,
		},
	}
	p.starting.env.Record = p.setup.recorder()
	if p.setup.usesKernel() {
		if compiled := p.starting.engine.Kernel(ctx); compiled != nil {
			p.starting.env.Kernels = guest.NewKernels(p.starting.engine.RT, compiled, &p.starting.engine.Features)
		}
	}
	elements := p.setup.spec.Module().Tables
	for _, l := range p.setup.links {
		c := codeOf(l.module, l.Spec)
		c.Name, c.Lends = l.Name, l.lends
		if l.circle != nil {
			c.Stub, c.Filler = l.circle.Stub, l.circle.Filler
		}
		p.starting.env.Links = append(p.starting.env.Links, c)
		elements += l.Spec.Module().Tables
	}
	p.starting.env.Tables = int64(elements) * wazerox.TableElement
}

// codeOf is a compiled module as instances use it.
func codeOf(m *compile.Module, s *spec.Spec) *guest.Code {
	return &guest.Code{Compiled: m.Compiled, Open: m.Open, Segments: m.Segments, Memory: m.Memory, Exports: s.Module().Exports, Lines: m.Lines}
}

// interpretedStack is the most stack that calls of an instance take in the interpreter, in
// bytes. The plugin and its links share one stack. With the compiler it is 0.
func (st *starting) interpretedStack() (n int64) {
	if !st.engine.Interpreted {
		return 0
	}
	n = st.setup.spec.Module().InterpretedStack()
	for _, l := range st.setup.links {
		n = max(n, l.Spec.Module().InterpretedStack())
	}
	return n
}

// initFuel is the fuel of init: as much for each unit of time as a call has, and at least that
// of a call.
func (set *setup) initFuel() int64 {
	return max(set.limits.Fuel, saturate(set.limits.Fuel, float64(set.limits.InitTimeout)/float64(set.limits.Timeout)))
}

// newInstance makes an instance for the pool.
func (st *starting) newInstance(ctx context.Context) (*guest.Instance, error) {
	return st.setup.started(st.env.Start(st.setup.booked(ctx), false))
}

// started returns a new instance, or a *PluginError of init.
func (set *setup) started(in *guest.Instance, err error) (*guest.Instance, error) {
	if err != nil {
		return nil, set.failure(abi.OpInit, nil, err)
	}
	return in, nil
}

// capture makes the image of the plugin from its first instance. Where the state cannot be
// captured, StateReset becomes StateFresh and a note says why.
func (st *starting) capture(in *guest.Instance) error {
	if st.setup.state == StateFresh || st.setup.spec.Foreign && st.setup.state == StateKeep {
		return nil
	}
	if why := st.uncaptured(in); why != "" {
		if st.setup.state == StateReset {
			st.setup.state, st.env.Resets = StateFresh, false
			st.setup.noteFresh(why)
		}
		return nil
	}
	memory := linear.Capture
	if !st.engine.Features.On(wazerox.Memories) {
		memory = linear.Copy
	}
	im, err := in.Capture(memory)
	if err != nil {
		return guest.InInit(err)
	}
	if !st.setup.host.room.Take(im.Held()) {
		defer im.Free()
		return guest.InInit(&guest.Fault{Reason: abi.ReasonMemory, Remedy: guest.MoreMemory,
			Err: errkind.As(guest.ErrNoRoom, fmt.Errorf("the host has no room for the state after init, %s", units.FormatSize(im.Held())))})
	}
	in.MapImage(im)
	st.env.Image, st.outside = im, in.Life.Outside || in.WASI.ReadClock()
	st.imageHeld.Store(im.Held())
	return nil
}

// uncaptured says why the state of the first instance cannot be captured, "" if it can.
func (st *starting) uncaptured(in *guest.Instance) string {
	for _, l := range st.setup.links {
		switch {
		case l.Spec.Uncaptured != "":
			return fmt.Sprintf("link %q: %s", l.Name, l.Spec.Uncaptured)
		case opensFiles(l.Spec):
			return fmt.Sprintf("link %q can open files", l.Name)
		}
	}
	if st.setup.spec.Uncaptured != "" {
		return st.setup.spec.Uncaptured
	}
	return in.WASI.Uncaptured()
}

// noteFresh notes for the operator that instances cannot be reset.
func (set *setup) noteFresh(why string) {
	set.notes = append(set.notes, fmt.Sprintf("cannot be reset, each call gets a new instance: %s (state: keep does without)", why))
	set.log.Info("each call gets a new instance", "cannot_be_reset", why)
}

// pluginOwner is a plugin as the owner of its instances.
type pluginOwner struct{ p *Plugin }

// pluginOf is the plugin of an instance.
func pluginOf(in *guest.Instance) *Plugin { return in.Env.Owner.(pluginOwner).p }

// Several implements owner.
func (o pluginOwner) Several() bool {
	n, _ := o.p.lending.pool.Counts()
	return n > 1
}

// Made implements owner.
func (o pluginOwner) Made(fromImage bool, took time.Duration) {
	o.p.counting.count(func(c *counters) *atomic.Int64 { return &c.made })
	o.p.setup.log.Debug("instance made", "number", o.p.counting.counts.made.Load(), "from_image", fromImage, "took", took)
}

// Count implements owner.
func (o pluginOwner) Count(e guest.Event) { o.p.counting.count(eventCounters[e]) }

// eventCounters are the counters of the events in the life of an instance.
var eventCounters = [...]func(*counters) *atomic.Int64{
	guest.Closed:   func(c *counters) *atomic.Int64 { return &c.closed },
	guest.Recycled: func(c *counters) *atomic.Int64 { return &c.recycled },
	guest.Replaced: func(c *counters) *atomic.Int64 { return &c.replaced },
}

// Add implements owner.
func (o pluginOwner) Add(t *guest.Tally) {
	o.p.counting.counts.take(t)
	o.p.setup.host.counts.take(t)
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
func (l *lending) reserve(ctx context.Context) error {
	return l.setup.host.room.Wait(ctx, l.setup.limits.QueueTimeout, func() error {
		if !l.share.Reserve() {
			return guest.NoPlace(l.setup.host.cfg.MaxInstances)
		}
		return nil
	})
}

// pooled makes an instance for the pool. While a caller waits for room, it makes only the first.
func (p *Plugin) pooled(ctx context.Context) (*guest.Instance, error) {
	if p.setup.host.room.Waiting() > 0 && p.lending.share.Pooled() {
		return nil, p.setup.failure(abi.OpInit, nil, &guest.Fault{Reason: abi.ReasonBusy, Remedy: guest.MoreInstances,
			Err: errkind.As(guest.ErrNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.starting.newInstance(ctx)
}

// checkIdleAfter is how long after a call the stacks of idle instances are checked. For at
// most that long nothing is charged for what a call left on the stack of an idle instance.
const checkIdleAfter = 50 * time.Millisecond

// checkIdleSoon starts the timer for checking idle instances, unless it runs already.
func (l *lending) checkIdleSoon() {
	if !l.checking.Load() && l.checking.CompareAndSwap(false, true) {
		time.AfterFunc(checkIdleAfter, l.timer.checkIdle)
	}
}

func (t *stackTimer) checkIdle() {
	if p := t.of.Load(); p != nil {
		p.checkIdle()
	}
}

// checkIdle checks the stacks of idle instances. If others are lent or being reset, it checks
// again later. After the plugin was closed there are none.
func (l *lending) checkIdle() {
	l.checking.Store(false)
	if !l.pool.Visit((*guest.Instance).CheckStacks) {
		l.checkIdleSoon()
	}
}

// booked returns a context with a ledger for a plugin that may use services. Without one of a
// build, the call has one of its own.
func (set *setup) booked(ctx context.Context) context.Context {
	if len(set.granted.ask.Names()) > 0 {
		ctx, _ = ledger.Under(ctx)
	}
	return ctx
}
