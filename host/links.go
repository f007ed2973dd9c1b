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
	for _, f := range p.host.cfg.importable() {
		offer.Functions = append(offer.Functions, linkage.Function{Module: f.Module, Name: f.Name, Type: f.Type()})
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

// circleFunctions are the functions of a link that other links import.
func (p *Plugin) circleFunctions(l *linked) (functions []kernel.Function) {
	seen := map[string]bool{}
	for _, other := range p.links {
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
