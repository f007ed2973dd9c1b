// Package linkage checks that the imports of a module and of the modules linked to it are
// offered, and orders the linked ones.
//
// wazero instantiates one module after the other. Of modules that import from each other, the
// first gets stubs that call through a table, which is filled when the second exists. A memory has
// no stub, so its owner is made first.
package linkage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Link is a module under the name by which others import from it.
type Link struct {
	Name string
	Spec *spec.Spec
}

// Offer is what a module gets besides the functions of this contract and of Extism.
type Offer struct {
	// WASI offers the WASI functions to a foreign module. Others always have them.
	WASI bool
	// Functions are those of the embedder.
	Functions []Function
}

// Function is a function of the embedder. Type is its type as text.
type Function struct{ Module, Name, Type string }

// Linked is a link in its order: after those it imports from.
type Linked struct {
	Link
	// Circle says that a module before it imports functions of it.
	Circle bool
	// Lends says that another module imports its memory.
	Lends bool
}

// wasiRemedy is the remedy for a module that imports WASI functions and does not get them.
const wasiRemedy = "offer them: wasi: true of the instance, or --wasi of plugin call"

// Check checks that every import of a module and of its links is offered. It returns the links
// in their order. Errors wrap spec.ErrImport, spec.ErrSignature or spec.ErrConfig.
func Check(plugin *spec.Spec, links []Link, offer Offer) ([]Linked, error) {
	offer.WASI = offer.WASI || !plugin.Foreign
	if plugin.WASI && !offer.WASI {
		return nil, fmt.Errorf("the module imports WASI functions: %w (%s)", spec.ErrConfig, wasiRemedy)
	}
	c := &checker{plugin: plugin, links: links, offer: offer, byName: map[string]*spec.Spec{}}
	for _, l := range links {
		if err := c.add(l); err != nil {
			return nil, err
		}
	}
	if err := c.needs(plugin); err != nil {
		return nil, err
	}
	for _, l := range links {
		if err := c.needs(l.Spec); err != nil {
			return nil, fmt.Errorf("link %q: %w", l.Name, err)
		}
		others := func(o Link) bool { return o.Spec.Module().ImportsFrom(l.Name) }
		if !plugin.Module().ImportsFrom(l.Name) && !slices.ContainsFunc(links, others) {
			return nil, fmt.Errorf("link %q: %w: nothing imports from it (give it the name that the import has)", l.Name, spec.ErrConfig)
		}
	}
	return c.order()
}

// checker is the state of one Check.
type checker struct {
	plugin *spec.Spec
	links  []Link
	offer  Offer
	byName map[string]*spec.Spec
}

// add checks what is stated of one link.
func (c *checker) add(l Link) error {
	switch {
	case l.Spec == nil || l.Name == "":
		return fmt.Errorf("link %q: %w (it needs a name and a module)", l.Name, spec.ErrConfig)
	case l.Name == offered.WASI || l.Name == abi.EnvModule || strings.HasPrefix(l.Name, wasmbin.HostPrefix):
		return fmt.Errorf("link %q: %w (the name is taken by this host)", l.Name, spec.ErrConfig)
	case c.byName[l.Name] != nil:
		return fmt.Errorf("link %q: %w: it is there twice", l.Name, spec.ErrConfig)
	case !l.Spec.Foreign:
		return fmt.Errorf("link %q: %w (only modules that do not speak the contract can be linked)", l.Name, spec.ErrConfig)
	case l.Spec.WASI && !c.offer.WASI:
		return fmt.Errorf("link %q imports WASI functions: %w (%s)", l.Name, spec.ErrConfig, wasiRemedy)
	}
	c.byName[l.Name] = l.Spec
	return nil
}

// needs checks the imports of one module. Links are checked by the exports of the original
// module, without those that the host adds to it.
func (c *checker) needs(of *spec.Spec) error {
	for _, im := range of.Module().Imports {
		var have string
		link := c.byName[im.Module]
		if im.Kind == wasmbin.KindMemory {
			if err := needsMemory(im, link); err != nil {
				return err
			}
			continue
		}
		f := slices.IndexFunc(c.offer.Functions, func(f Function) bool { return f.Module == im.Module && f.Name == im.Name })
		switch sig, ok := offered.Function(im.Module, im.Name); {
		case link != nil && link.Module().Exports(im.Name):
			have = link.Module().Functions[im.Name].String()
		case link != nil:
			return fmt.Errorf("import %q of module %q: %w (the linked module exports %s)",
				guesttext.Line(im.Name), guesttext.Line(im.Module), spec.ErrImport, orNothing(sortedNames(link.Module().Functions)))
		case ok:
			have = sig
		case f >= 0:
			have = c.offer.Functions[f].Type
		default:
			return fmt.Errorf("import %q of module %q: %w (%s)", guesttext.Line(im.Name), guesttext.Line(im.Module), spec.ErrImport, c.hint(im))
		}
		if have != im.Func.String() {
			return fmt.Errorf("import %q of module %q has type %s: %w (want %s)", guesttext.Line(im.Name), guesttext.Line(im.Module), im.Func, spec.ErrSignature, have)
		}
	}
	return nil
}

// needsMemory checks the import of a memory. Only a link can offer one.
func needsMemory(im wasmbin.Import, link *spec.Spec) error {
	name, module := guesttext.Line(im.Name), guesttext.Line(im.Module)
	if link == nil {
		return fmt.Errorf("import memory %q of module %q: %w (link a module that exports it: links: {%s: PLUGIN} of the instance, or --link %s=FILE.wasm of plugin call; "+
			"or define the memory in the module)", name, module, spec.ErrImport, module, module)
	}
	have, ok := link.Module().Memories[im.Name]
	if !ok {
		return fmt.Errorf("import memory %q of module %q: %w (of memories the linked module exports %s)",
			name, module, spec.ErrImport, orNothing(sortedNames(link.Module().Memories)))
	}
	if want := im.Memory; have.Min < want.Min || mostPages(have) > mostPages(want) {
		return fmt.Errorf("import memory %q of module %q has %s: %w (the linked module has %s: it needs at least the pages and at most the maximum of the import)",
			name, module, pages(want), spec.ErrSignature, pages(have))
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

// hint says what to do about an import that nothing offers: the name that was probably
// meant, the names that are offered, and how to offer others.
func (c *checker) hint(im wasmbin.Import) string {
	names := offered.Names(im.Module)
	var modules, all []string
	for _, l := range c.links {
		modules = append(modules, l.Name)
	}
	for _, f := range c.offer.Functions {
		modules, all = append(modules, f.Module), append(all, f.Module+"."+f.Name)
		if f.Module == im.Module {
			names = append(names, f.Name)
		}
	}
	var hint string
	if near := nearest.Name(im.Name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	} else if near := nearest.Name(im.Module, modules); near != "" && near != im.Module {
		hint = fmt.Sprintf("did you mean module %q? ", near)
	}
	if len(all) > 0 {
		hint += "the embedder offers " + orNothing(all) + "; "
	}
	module := guesttext.Line(im.Module)
	return fmt.Sprintf("%slink a module: links: {%s: PLUGIN} of the instance, or --link %s=FILE.wasm of plugin call; "+
		"or embed the host and register the function: host.NewFunction in Config.Functions", hint, module, module)
}

// sortedNames are the sorted names of exports, fit for an error.
func sortedNames[T any](exports map[string]T) []string {
	var names []string
	for name := range exports {
		names = append(names, guesttext.Line(name))
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

// order sorts the links so that each comes after those it imports from. Where functions are
// imported in a circle, the later link closes it. A link that defines a memory always comes
// before those that import it.
func (c *checker) order() ([]Linked, error) {
	o := &orderer{byName: c.byName, begun: map[string]bool{}, done: map[string]bool{}, circles: map[string]bool{}}
	for _, l := range c.links {
		if !o.begun[l.Name] {
			if err := o.visit(l.Name); err != nil {
				return nil, err
			}
		}
	}
	for i := range o.out {
		l := &o.out[i]
		borrows := func(m Linked) bool { return m.Spec.Module().BorrowsFrom() == l.Name }
		l.Circle = o.circles[l.Name]
		l.Lends = c.plugin.Module().BorrowsFrom() == l.Name || slices.ContainsFunc(o.out, borrows)
	}
	return o.out, nil
}

// orderer is the state of ordering: the links that are begun and done, those that close a circle,
// and the result.
type orderer struct {
	byName               map[string]*spec.Spec
	begun, done, circles map[string]bool
	out                  []Linked
}

// visit appends a link after those it imports from.
func (o *orderer) visit(name string) error {
	o.begun[name] = true
	for _, im := range o.byName[name].Module().Imports {
		memory := im.Kind == wasmbin.KindMemory
		switch {
		case o.byName[im.Module] == nil || o.done[im.Module]:
		case !o.begun[im.Module] && (memory || !o.waits(im.Module)):
			if err := o.visit(im.Module); err != nil {
				return err
			}
		case memory:
			return fmt.Errorf("link %q: import memory %q of module %q: %w (that one's memory comes from this link in turn: one of them has to define it)",
				name, guesttext.Line(im.Name), guesttext.Line(im.Module), spec.ErrImport)
		default:
			o.circles[im.Module] = true
		}
	}
	o.done[name] = true
	o.out = append(o.out, Linked{Link: Link{name, o.byName[name]}})
	return nil
}

// waits reports whether a link has to come after one that is begun and not done: it imports the
// memory of that one, possibly through others.
func (o *orderer) waits(name string) bool {
	for range o.byName {
		if name = o.byName[name].Module().BorrowsFrom(); o.byName[name] == nil || o.begun[name] {
			return o.begun[name] && !o.done[name]
		}
	}
	return false
}
