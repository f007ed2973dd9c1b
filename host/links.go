package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Link is a module that another module imports from.
type Link struct {
	// Name is the module name that the imports state. It may be UserModule; the link then
	// replaces the functions of that module.
	Name string
	// Spec is the linked module, which must be foreign. It may import from other links, and
	// they from it.
	Spec *Spec
}

// linked is a link that is checked and compiled.
type linked struct {
	Link
	module *module
	// circle is the stub that stands for the link in modules made before it, nil if there are
	// none.
	circle *circle
	// lends says that another module imports its memory.
	lends bool
}

// CheckLinks checks the imports and links of a module as [Host.Load] does, for a host without
// functions of the embedder. wasi says that the module gets the WASI functions, as
// PluginConfig.WASI does. Errors wrap ErrImport, ErrSignature or ErrConfig.
func CheckLinks(spec *Spec, links []Link, wasi bool) error {
	p := &Plugin{host: &Host{}, spec: spec, cfg: PluginConfig{Links: links, WASI: wasi}}
	return p.checkLinks()
}

// checkLinks checks that every import of the module and of its links is offered, and orders
// p.links.
func (p *Plugin) checkLinks() error {
	if p.spec.WASI && !p.offersWASI() {
		return fmt.Errorf("the module imports WASI functions: %w (%s)", ErrConfig, wasiRemedy)
	}
	byName := map[string]*Spec{}
	for _, l := range p.cfg.Links {
		switch {
		case l.Spec == nil || l.Name == "":
			return fmt.Errorf("link %q: %w (it needs a name and a module)", l.Name, ErrConfig)
		case l.Name == wasiModule || l.Name == abi.EnvModule || strings.HasPrefix(l.Name, wasmbin.HostPrefix):
			return fmt.Errorf("link %q: %w (the name is taken by this host)", l.Name, ErrConfig)
		case byName[l.Name] != nil:
			return fmt.Errorf("link %q: %w: it is there twice", l.Name, ErrConfig)
		case !l.Spec.Foreign:
			return fmt.Errorf("link %q: %w (only modules that do not speak the contract can be linked)", l.Name, ErrConfig)
		case l.Spec.WASI && !p.offersWASI():
			return fmt.Errorf("link %q imports WASI functions: %w (%s)", l.Name, ErrConfig, wasiRemedy)
		}
		byName[l.Name] = l.Spec
	}
	if err := p.needs(p.spec, byName); err != nil {
		return err
	}
	for _, l := range p.cfg.Links {
		if err := p.needs(l.Spec, byName); err != nil {
			return fmt.Errorf("link %q: %w", l.Name, err)
		}
		others := func(o Link) bool { return o.Spec.importsFrom(l.Name) }
		if !p.spec.importsFrom(l.Name) && !slices.ContainsFunc(p.cfg.Links, others) {
			return fmt.Errorf("link %q: %w: nothing imports from it (give it the name that the import has)", l.Name, ErrConfig)
		}
	}
	return p.orderLinks(byName)
}

// offersWASI reports whether the plugin gets the WASI functions.
func (p *Plugin) offersWASI() bool { return p.cfg.WASI || !p.spec.Foreign }

// needs checks the imports of one module. Links are checked by the exports of the original
// module, without those that the host adds to it.
func (p *Plugin) needs(spec *Spec, links map[string]*Spec) error {
	for _, im := range spec.imports {
		var have string
		link := links[im.Module]
		if im.Kind == wasmbin.KindMemory {
			if err := p.needsMemory(im, link); err != nil {
				return err
			}
			continue
		}
		f := p.host.function(im.Module, im.Name)
		switch sig, ok := offered(im.Module, im.Name); {
		case link != nil && link.exports[im.Name]:
			have = link.types[im.Name].String()
		case link != nil:
			return fmt.Errorf("import %q of module %q: %w (the linked module exports %s)",
				oneLine(im.Name), oneLine(im.Module), ErrImport, orNothing(sortedNames(link.types)))
		case ok:
			have = sig.String()
		case f != nil:
			have = f.signature()
		default:
			return fmt.Errorf("import %q of module %q: %w (%s)", oneLine(im.Name), oneLine(im.Module), ErrImport, p.offerHint(im))
		}
		if have != im.Func.String() {
			return fmt.Errorf("import %q of module %q has type %s: %w (want %s)", oneLine(im.Name), oneLine(im.Module), im.Func, ErrSignature, have)
		}
	}
	return nil
}

// needsMemory checks the import of a memory. Only a link can offer one.
func (p *Plugin) needsMemory(im wasmbin.Import, link *Spec) error {
	name, module := oneLine(im.Name), oneLine(im.Module)
	if link == nil {
		return fmt.Errorf("import memory %q of module %q: %w (link a module that exports it: links: {%s: PLUGIN} of the instance, or --link %s=FILE.wasm of plugin call; "+
			"or define the memory in the module)", name, module, ErrImport, module, module)
	}
	have, ok := link.memories[im.Name]
	if !ok {
		return fmt.Errorf("import memory %q of module %q: %w (of memories the linked module exports %s)",
			name, module, ErrImport, orNothing(sortedNames(link.memories)))
	}
	if want := im.Memory; have.Min < want.Min || mostPages(have) > mostPages(want) {
		return fmt.Errorf("import memory %q of module %q has %s: %w (the linked module has %s: it needs at least the pages and at most the maximum of the import)",
			name, module, pages(want), ErrSignature, pages(have))
	}
	return nil
}

// mostPages is the size to which a memory can grow, in pages.
func mostPages(l wasmbin.Limits) uint64 {
	if l.HasMax {
		return l.Max
	}
	return wasmbin.MaxPages
}

// pages describes the limits of a memory for an error.
func pages(l wasmbin.Limits) string {
	if l.HasMax {
		return fmt.Sprintf("%d to %d pages", l.Min, l.Max)
	}
	return fmt.Sprintf("%d pages and no maximum", l.Min)
}

// offerHint says what to do about an import that nothing offers: the name that was probably
// meant, the names that are offered, and how to offer others.
func (p *Plugin) offerHint(im wasmbin.Import) string {
	names := offeredIn(im.Module)
	var modules, all []string
	for _, l := range p.cfg.Links {
		modules = append(modules, l.Name)
	}
	for i := range p.host.cfg.Functions {
		f := &p.host.cfg.Functions[i]
		modules, all = append(modules, f.Module), append(all, f.fullName())
		if f.Module == im.Module {
			names = append(names, f.Name)
		}
	}
	var hint string
	if near := abi.Nearest(im.Name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	} else if near := abi.Nearest(im.Module, modules); near != "" && near != im.Module {
		hint = fmt.Sprintf("did you mean module %q? ", near)
	}
	if len(all) > 0 {
		hint += "the embedder offers " + orNothing(all) + "; "
	}
	module := oneLine(im.Module)
	return fmt.Sprintf("%slink a module: links: {%s: PLUGIN} of the instance, or --link %s=FILE.wasm of plugin call; "+
		"or embed the host and register the function: host.NewFunction in Config.Functions", hint, module, module)
}

// importsFrom reports whether the module imports anything from the named module.
func (s *Spec) importsFrom(module string) bool {
	return slices.ContainsFunc(s.imports, func(im wasmbin.Import) bool { return im.Module == module })
}

// borrowsFrom is the name of the module that the memory is imported from, "" if it is not
// imported.
func (s *Spec) borrowsFrom() string {
	for _, im := range s.imports {
		if im.Kind == wasmbin.KindMemory {
			return im.Module
		}
	}
	return ""
}

// sortedNames are the sorted names of exports, fit for an error.
func sortedNames[T any](exports map[string]T) []string {
	var names []string
	for name := range exports {
		names = append(names, oneLine(name))
	}
	slices.Sort(names)
	return names
}

// orNothing joins the first 20 names of a list.
func orNothing(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}

// orderLinks sorts the links so that each comes after those it imports from. Where functions
// are imported in a circle, it gives the later link a circle. A link that defines a memory
// always comes before those that import it.
func (p *Plugin) orderLinks(byName map[string]*Spec) error {
	links, circles := map[string]*linked{}, map[string]*circle{}
	begun := func(name string) bool { return links[name] != nil && !slices.Contains(p.links, links[name]) }
	// waits reports whether a link has to come after one that is begun: it imports the memory
	// of that one, possibly through others.
	waits := func(name string) bool {
		for range byName {
			if name = byName[name].borrowsFrom(); byName[name] == nil || links[name] != nil {
				return begun(name)
			}
		}
		return false
	}
	var visit func(name string) error
	visit = func(name string) error {
		l := &linked{Link: Link{name, byName[name]}}
		links[name] = l
		for _, im := range l.Spec.imports {
			memory := im.Kind == wasmbin.KindMemory
			switch {
			case byName[im.Module] == nil || links[im.Module] != nil && !begun(im.Module):
			case links[im.Module] == nil && (memory || !waits(im.Module)):
				if err := visit(im.Module); err != nil {
					return err
				}
			case memory:
				return fmt.Errorf("link %q: import memory %q of module %q: %w (that one's memory comes from this link in turn: one of them has to define it)",
					name, oneLine(im.Name), oneLine(im.Module), ErrImport)
			default:
				circles[im.Module] = &circle{}
			}
		}
		p.links = append(p.links, l)
		return nil
	}
	for _, l := range p.cfg.Links {
		if links[l.Name] == nil {
			if err := visit(l.Name); err != nil {
				return err
			}
		}
	}
	for _, l := range p.links {
		l.circle = circles[l.Name]
		borrows := func(o *linked) bool { return o.Spec.borrowsFrom() == l.Name }
		l.lends = p.spec.borrowsFrom() == l.Name || slices.ContainsFunc(p.links, borrows)
	}
	return nil
}

// usesKernel reports whether the plugin or one of its links imports Extism's functions.
func (p *Plugin) usesKernel() bool {
	return p.spec.kernel || slices.ContainsFunc(p.links, func(l *linked) bool { return l.Spec.kernel })
}

// linkable reports whether the module imports anything besides WASI, which a kernel, a link or
// the embedder offers.
func (s *Spec) linkable() bool {
	return slices.ContainsFunc(s.imports, func(im wasmbin.Import) bool { return im.Module != wasiModule })
}

// compileLinks compiles the links.
func (p *Plugin) compileLinks(ctx context.Context, kind string) error {
	for _, l := range p.links {
		var err error
		if l.module, err = p.host.module(ctx, p.name+"/"+l.Name, l.Spec, kind, p.limits); err != nil {
			return fmt.Errorf("link %q: %w", l.Name, err)
		}
	}
	if len(p.links) > 0 && !p.engine.features.On(wazerox.Linking) {
		return fmt.Errorf("links: %w (linking modules is experimental in wazero, and this host does without)", ErrConfig)
	}
	for _, l := range p.links {
		if l.circle == nil {
			continue
		}
		if err := l.circle.compile(ctx, p, l); err != nil {
			return fmt.Errorf("link %q: close the circle: %w", l.Name, err)
		}
	}
	return nil
}
