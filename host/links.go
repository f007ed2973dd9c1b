package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linkage"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Link is a module that another module imports from.
type Link struct {
	// Name is the module name that the imports state. It may be UserModule; the link then
	// replaces the functions of that module.
	Name string
	// Spec is the linked module, which must be foreign. It may import from other links, and
	// they from it.
	Spec *spec.Spec
}

// linked is a link that is checked and compiled.
type linked struct {
	Link
	module *compile.Module
	// inCircle says that modules made before the link import from it. circle is the stub that
	// stands for it there.
	inCircle bool
	circle   *compile.Circle
	// lends says that another module imports its memory.
	lends bool
}

// CheckLinks checks the imports and links of a module as [Host.Load] does, for a host without
// functions of the embedder. wasi says that the module gets the WASI functions, as
// PluginConfig.WASI does. Errors wrap ErrImport, ErrSignature or ErrConfig.
func CheckLinks(spec *spec.Spec, links []Link, wasi bool) error {
	p := &Plugin{host: &Host{}, spec: spec, cfg: PluginConfig{Links: links, WASI: wasi}}
	return p.checkLinks()
}

// checkLinks checks that every import of the module and of its links is offered, and orders
// p.links.
func (p *Plugin) checkLinks() error {
	links := make([]linkage.Link, len(p.cfg.Links))
	for i, l := range p.cfg.Links {
		links[i] = linkage.Link(l)
	}
	offer := linkage.Offer{WASI: p.cfg.WASI}
	for i := range p.host.cfg.Functions {
		f := &p.host.cfg.Functions[i]
		offer.Functions = append(offer.Functions, linkage.Function{Module: f.Module, Name: f.Name, Type: f.signature()})
	}
	ordered, err := linkage.Check(p.spec, links, offer)
	for _, l := range ordered {
		p.links = append(p.links, &linked{Link: Link(l.Link), inCircle: l.Circle, lends: l.Lends})
	}
	return err
}

// usesKernel reports whether the plugin or one of its links imports Extism's functions.
func (p *Plugin) usesKernel() bool {
	return p.spec.Module().Kernel() || slices.ContainsFunc(p.links, func(l *linked) bool { return l.Spec.Module().Kernel() })
}

// compileLinks compiles the links.
func (p *Plugin) compileLinks(ctx context.Context, kind Engine) error {
	for _, l := range p.links {
		var err error
		if l.module, err = p.host.module(ctx, p.name+"/"+l.Name, l.Spec, kind, p.limits); err != nil {
			return fmt.Errorf("link %q: %w", l.Name, err)
		}
	}
	if len(p.links) > 0 && !p.engine.Features.On(wazerox.Linking) {
		return fmt.Errorf("links: %w (linking modules is experimental in wazero, and this host does without)", ErrConfig)
	}
	for _, l := range p.links {
		if !l.inCircle {
			continue
		}
		var err error
		if l.circle, err = p.engine.Circle(ctx, p.circleFunctions(l)); err != nil {
			return fmt.Errorf("link %q: close the circle: %w", l.Name, notCompiled(err))
		}
	}
	return nil
}

// openLinks makes the instances of the links and returns the context for instantiating the
// guest, which resolves its imports. Each link has the limits of the plugin. Without an image
// the links are also started.
func (in *instance) openLinks(ctx context.Context, from *image) (context.Context, error) {
	if len(in.plugin.links) == 0 {
		return ctx, nil
	}
	made, stubs := map[string]api.Module{}, map[string]api.Module{}
	kernels := in.kernelModule
	ctx = wazerox.Resolving(ctx, func(module string) api.Module {
		if m := made[module]; m != nil {
			return m
		}
		if m := stubs[module]; m != nil {
			return m
		}
		if module == abi.EnvModule || module == offered.OldEnv {
			return kernels
		}
		return nil
	})
	for _, l := range in.plugin.links {
		if l.circle != nil {
			m, err := in.openStub(ctx, l.circle)
			if err != nil {
				return ctx, fmt.Errorf("link %q: %w", l.Name, err)
			}
			stubs[l.Name] = m
		}
	}
	for i, l := range in.plugin.links {
		var im *partImage
		if from != nil {
			im = from.members[i]
		}
		m, err := in.openLink(ctx, l, im)
		if err == nil && l.circle != nil {
			err = in.closeCircle(ctx, l.circle, stubs[l.Name], m.mod)
		}
		if err != nil {
			return ctx, fmt.Errorf("link %q: %w", l.Name, err)
		}
		made[l.Name] = m.mod
	}
	if from != nil {
		return ctx, nil
	}
	for i, l := range in.plugin.links {
		if err := in.startLink(l, in.members[i]); err != nil {
			return ctx, fmt.Errorf("link %q: %w", l.Name, err)
		}
	}
	return ctx, nil
}

// openLink makes the instance of one link. With an image its memory starts as in the image.
func (in *instance) openLink(ctx context.Context, l *linked, from *partImage) (*part, error) {
	m := &part{lent: l.lends}
	if from != nil && from.memory != nil {
		m.lin, m.filled = in.newShare(from.memory)
	} else {
		m.lin = in.newLinear(l.Spec)
	}
	in.members = append(in.members, m)
	in.state.Context = wazerox.WithMemory(ctx, &countedMemory{Memory: m.lin, room: &in.room})
	var err error
	if m.mod, err = in.instantiateModule(l.module); err != nil {
		return nil, err
	}
	if err := m.find(l.module); err != nil {
		return nil, err
	}
	if from != nil { // now: modules that import the memory may have data in the grown part
		return m, m.grow(from)
	}
	return m, m.writeData(l.module)
}

// startLink runs the start section and the starters of a link.
func (in *instance) startLink(l *linked, m *part) error {
	var names []string
	if l.module.Open.Start {
		names = append(names, wasmbin.StartExport)
	}
	names = append(names, starters(l.Spec)...)
	for _, name := range names {
		if err := in.handle(m.mod, name).CallWithStack(&in.state, in.stack[:]); err != nil {
			return err
		}
		if err := in.late(); err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether a memory of the instance could not grow during the call.
func (in *instance) refused() bool {
	return in.lin.Refused || in.kernel.Refused() || in.foreign && in.denied != nil && in.denied.Get() != 0 ||
		slices.ContainsFunc(in.members, func(m *part) bool { return m.lin.Refused })
}

// closeLinks closes the instances of the links.
func (in *instance) closeLinks() {
	for _, m := range in.members {
		if m.mod != nil {
			_ = m.mod.Close(context.Background()) // the plugin closes the mounts
		}
		m.lin.Free()
	}
	for _, m := range in.stubs {
		_ = m.Close(context.Background()) // a module without files closes without error
	}
}
