package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linkage"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// CheckLinks checks the imports and links of a module as [Host.Load] does, for a host without
// functions of the embedder. wasi says that the module gets the WASI functions, as
// PluginConfig.WASI does. Errors wrap ErrImport, ErrSignature or ErrConfig.
func CheckLinks(spec *spec.Spec, links []Link, wasi bool) error {
	p := &setup{host: &Host{}, spec: spec, cfg: PluginConfig{Links: links, WASI: wasi}}
	return p.checkLinks()
}

// checkLinks checks that every import of the module and of its links is offered, and orders
// p.links.
func (set *setup) checkLinks() error {
	links := make([]linkage.Link, len(set.cfg.Links))
	for i, l := range set.cfg.Links {
		links[i] = linkage.Link(l)
	}
	offer := linkage.Offer{WASI: set.cfg.WASI}
	for _, f := range set.host.cfg.importable() {
		offer.Functions = append(offer.Functions, linkage.Function{Module: f.Module, Name: f.Name, Type: f.Type()})
	}
	ordered, err := linkage.Check(set.spec, links, offer)
	for _, l := range ordered {
		set.links = append(set.links, &linked{Link: Link(l.Link), inCircle: l.Circle, lends: l.Lends})
	}
	return err
}

// usesKernel reports whether the plugin or one of its links imports Extism's functions.
func (set *setup) usesKernel() bool {
	return set.spec.Module().Kernel() || slices.ContainsFunc(set.links, func(l *linked) bool { return l.Spec.Module().Kernel() })
}

// compileLinks compiles the links.
func (p *Plugin) compileLinks(ctx context.Context, kind Engine) error {
	for _, l := range p.setup.links {
		var err error
		if l.module, err = p.setup.host.module(ctx, p.setup.name+"/"+l.Name, l.Spec, kind, p.setup.limits); err != nil {
			return fmt.Errorf("link %q: %w", l.Name, err)
		}
	}
	if len(p.setup.links) > 0 && !p.starting.engine.Features.On(wazerox.Linking) {
		return fmt.Errorf("links: %w (linking modules is experimental in wazero, and this host does without)", ErrConfig)
	}
	for _, l := range p.setup.links {
		if !l.inCircle {
			continue
		}
		var err error
		if l.circle, err = p.starting.engine.Circle(ctx, p.setup.circleFunctions(l)); err != nil {
			return fmt.Errorf("link %q: close the circle: %w", l.Name, notCompiled(err))
		}
	}
	return nil
}

// circleFunctions are the functions of a link that other links import.
func (set *setup) circleFunctions(l *linked) (functions []kernel.Function) {
	seen := map[string]bool{}
	for _, other := range set.links {
		for _, im := range other.Spec.Module().Imports {
			if im.Module == l.Name && im.Kind == wasmbin.KindFunc && !seen[im.Name] {
				seen[im.Name] = true
				functions = append(functions, kernel.Function{
					Name: im.Name, Params: encoded(im.Func.Params), Results: encoded(im.Func.Results),
				})
			}
		}
	}
	return functions
}

// encoded returns types in their binary encoding.
func encoded(ts []wasmbin.ValueType) []byte {
	out := make([]byte, len(ts))
	for i, t := range ts {
		out[i] = byte(t)
	}
	return out
}
