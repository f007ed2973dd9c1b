package host

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// prepareStart makes the environment of the plugin's instances. The modules of the plugin and
// of its links are compiled.
func (p *Plugin) prepareStart(ctx context.Context) {
	l, h := &p.limits, p.host
	p.env = environment{
		rt: p.engine.RT, features: &p.engine.Features, interpreted: p.engine.Interpreted,
		code: codeOf(p.module, p.spec),
		bounds: bounds{
			memory: l.Memory, input: l.Input, output: l.Output, logBytes: l.LogBytes,
			timeout: l.Timeout, initTimeout: l.InitTimeout, fuel: l.Fuel, initFuel: p.initFuel(),
			share: h.cfg.shareOfOne(), whole: h.cfg.Memory, instances: h.cfg.MaxInstances,
		},
		stackLeast: p.interpretedStack(), recycleAfter: recycleCalls,
		foreign: p.spec.Foreign, initRequest: p.initRequest, values: p.values,
		log: p.log, account: p.account, owner: pluginOwner{p}, resets: p.state == StateReset,
		share: p.share, guard: p.guard, wasi: p.wasiOptions(), descriptors: opensFiles(p.spec),
	}
	if p.usesKernel() {
		if compiled := p.engine.Kernel(ctx); compiled != nil {
			p.env.kernels = newKernels(p.engine.RT, compiled, &p.engine.Features)
		}
	}
	elements := p.spec.Module().Tables
	for _, l := range p.links {
		c := codeOf(l.module, l.Spec)
		c.name, c.lends = l.Name, l.lends
		if l.circle != nil {
			c.stub, c.filler = l.circle.Stub, l.circle.Filler
		}
		p.env.links = append(p.env.links, c)
		elements += l.Spec.Module().Tables
	}
	p.env.tables = int64(elements) * wazerox.TableElement
}

// codeOf is a compiled module as instances use it.
func codeOf(m *compile.Module, s *spec.Spec) *code {
	return &code{compiled: m.Compiled, open: m.Open, segments: m.Segments, memory: m.Memory, exports: s.Module().Exports}
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
func (p *Plugin) newInstance(ctx context.Context) (*instance, error) {
	return p.started(p.env.start(ctx, false))
}

// bareInstance makes an instance in which nothing but the start section has run.
func (p *Plugin) bareInstance(ctx context.Context) (*instance, error) {
	return p.started(p.env.startBare(ctx))
}

// started returns a new instance, or a *PluginError of init.
func (p *Plugin) started(in *instance, err error) (*instance, error) {
	if err != nil {
		return nil, p.failure(abi.OpInit, nil, err)
	}
	return in, nil
}

// capture makes the image of the plugin from its first instance. Where the state cannot be
// captured, StateReset becomes StateFresh and a note says why.
func (p *Plugin) capture(in *instance) error {
	if p.state == StateFresh || p.spec.Foreign && p.state == StateKeep {
		return nil
	}
	if why := p.uncaptured(in); why != "" {
		if p.state == StateReset {
			p.state, p.env.resets = StateFresh, false
			p.noteFresh(why)
		}
		return nil
	}
	memory := linear.Capture
	if !p.engine.Features.On(wazerox.Memories) {
		memory = linear.Copy
	}
	im, err := in.image(memory)
	if err != nil {
		return inInit(err)
	}
	if !p.host.room.Take(im.held()) {
		defer im.free()
		return inInit(&fault{abi.ReasonMemory, as(errNoRoom, fmt.Errorf("the host has no room for the state after init, %s", abi.FormatSize(im.held()))), moreMemory})
	}
	in.share(im)
	p.env.image, p.outside = im, in.outside || in.wasi.ReadClock()
	p.imageHeld.Store(im.held())
	return nil
}

// uncaptured says why the state of the first instance cannot be captured, "" if it can.
func (p *Plugin) uncaptured(in *instance) string {
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
	return in.wasi.Uncaptured()
}

// noteFresh notes for the operator that instances cannot be reset.
func (p *Plugin) noteFresh(why string) {
	p.notes = append(p.notes, fmt.Sprintf("cannot be reset, each call gets a new instance: %s (state: keep does without)", why))
	p.log.Info("each call gets a new instance", "cannot_be_reset", why)
}
