package component

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
)

// WIT is the world of components that become plugins.
//
//go:embed anchor.wit
var WIT []byte

// header begins a component.
var header = []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0}

// Is reports whether a file begins as a component does.
func Is(bin []byte) bool { return bytes.HasPrefix(bin, header) }

// Component is what a component consists of.
type Component struct {
	size      int // of the file
	modules   [][]byte
	instances []instance
	core      [coreSorts][]item
	// funcs are the functions of the component's own level: each is a lift, or an import.
	funcs []lift
	// served are the names of the component's instances, types the names of its types.
	served []string
	types  []item
	// exports are the exported functions.
	exports map[string]lift
}

// The sorts of core items, as the binary format numbers them.
const (
	sortFunc = iota
	sortTable
	sortMemory
	sortGlobal
	coreSorts
)

// item is something of a core instance, or an import of the component if imported is not "".
type item struct {
	instance int
	name     string
	imported string
}

// instance is a core instance: one of a module, or a list of things of others.
type instance struct {
	module int // -1 for a list
	args   map[string]int
	things map[string]item
}

// lift is a function that the component makes of a core function, or an import if imported has a name.
type lift struct {
	fn, memory, realloc, post item
	imported                  item
}

// Read reads a component. The result aliases bin.
func Read(bin []byte) (*Component, error) {
	switch {
	case len(bin) > MaxSize:
		return nil, fmt.Errorf("component: has %d bytes, at most %d: %w", len(bin), MaxSize, ErrUnsupported)
	case !Is(bin):
		return nil, fmt.Errorf("component: read header: %w", ErrMalformed)
	}
	c := &Component{size: len(bin), exports: map[string]lift{}}
	r := &reader{buf: bin, pos: len(header)}
	for !r.done() {
		id := r.byte()
		section := r.sub(r.u32())
		if read := c.section(id, section); read {
			r.ended(section)
		} else if section.err != nil {
			r.ended(section)
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("component: read: %w", r.err)
	}
	return c, nil
}

// section reads a section. It returns false if its content is of no interest.
func (c *Component) section(id byte, r *reader) bool {
	switch id {
	case 1:
		if len(c.modules) == maxModules {
			r.fail(ErrUnsupported, "more than %d core modules", maxModules)
		}
		c.modules = append(c.modules, r.take(uint32(len(r.buf))))
	case 2:
		r.list(func() { c.instance(r) })
	case 5:
		r.list(func() { c.named(r, sortInstance, item{name: "$instance"}); skipInstance(r) })
	case 6:
		r.list(func() { c.alias(r) })
	case 7: // types are only counted
		for range r.count(maxItems) {
			c.addType(r, item{})
		}
		return false
	case 8:
		r.list(func() { c.canon(r) })
	case 9:
		r.fail(ErrUnsupported, "a start function of the component")
	case 10:
		r.list(func() { c.imports(r) })
	case 11:
		r.list(func() { c.export(r) })
	default:
		return false
	}
	return true
}

// sort reads a sort and returns it; for a core sort, core is its number.
func sort(r *reader) (sort, core byte) {
	if sort = r.byte(); sort == 0 {
		core = r.byte()
	}
	return sort, core
}

func (c *Component) instance(r *reader) {
	if len(c.instances) == maxModules {
		r.fail(ErrUnsupported, "more than %d core instances", maxModules)
		return
	}
	in := instance{module: -1, args: map[string]int{}, things: map[string]item{}}
	switch r.byte() {
	case 0:
		in.module = c.at(r, len(c.modules), "a core module")
		r.list(func() {
			name := r.name()
			r.byte()
			in.args[name] = c.at(r, len(c.instances), "a core instance")
		})
	case 1:
		r.list(func() {
			name := r.name()
			in.things[name] = c.coreItem(r, r.byte())
		})
	default:
		r.fail(ErrMalformed, "a core instance of an unknown form")
	}
	c.instances = append(c.instances, in)
}

// at reads an index of a space with n elements.
func (c *Component) at(r *reader, n int, what string) int {
	i := r.u32()
	if int64(i) >= int64(n) {
		r.fail(ErrMalformed, "index %d of %s, of which there are %d", i, what, n)
		return 0
	}
	return int(i)
}

// coreItem reads the index of a core item.
func (c *Component) coreItem(r *reader, sort byte) item {
	if sort >= coreSorts {
		r.fail(ErrUnsupported, "a core item of sort %#x", sort)
		return item{}
	}
	i := c.at(r, len(c.core[sort]), "core items")
	if r.err != nil {
		return item{}
	}
	return c.core[sort][i]
}

func (c *Component) addCore(r *reader, sort byte, it item) {
	if sort >= coreSorts || len(c.core[sort]) == maxItems {
		r.fail(ErrUnsupported, "a core item of sort %#x, or more than %d", sort, maxItems)
		return
	}
	c.core[sort] = append(c.core[sort], it)
}

func (c *Component) addType(r *reader, it item) {
	if len(c.types) == 2*maxItems {
		r.fail(ErrUnsupported, "more than %d types", len(c.types))
		return
	}
	c.types = append(c.types, it)
}

func (c *Component) addFunc(r *reader, l lift) {
	if len(c.funcs) == maxItems {
		r.fail(ErrUnsupported, "more than %d functions", maxItems)
		return
	}
	c.funcs = append(c.funcs, l)
}

// alias reads an alias: an export of an instance, of a core instance, or something of an outer
// component.
func (c *Component) alias(r *reader) {
	s, core := sort(r)
	switch r.byte() {
	case 0:
		i, name := c.at(r, len(c.served), "an instance"), ""
		if name = r.name(); r.err != nil {
			return
		}
		c.named(r, s, item{instance: -1, imported: c.served[i], name: name})
	case 1:
		i := c.at(r, len(c.instances), "a core instance")
		c.addCore(r, core, item{instance: i, name: r.name()})
	case 2:
		r.u32()
		r.u32()
		if s == sortType {
			c.addType(r, item{})
		}
	default:
		r.fail(ErrMalformed, "an alias of an unknown form")
	}
}

// The sorts of the component's own level.
const (
	sortOwnFunc  = 1
	sortType     = 3
	sortInstance = 5
)

// named adds an import of the component, or an alias of a part of one.
func (c *Component) named(r *reader, sort byte, it item) {
	switch sort {
	case sortOwnFunc:
		c.addFunc(r, lift{imported: it})
	case sortType:
		c.addType(r, it)
	case sortInstance:
		if len(c.served) == maxItems {
			r.fail(ErrUnsupported, "more than %d instances", maxItems)
			return
		}
		c.served = append(c.served, it.name)
	default:
		r.fail(ErrUnsupported, "an import or alias of sort %d", sort)
	}
}

func (c *Component) canon(r *reader) {
	switch kind := r.byte(); kind {
	case 0:
		r.byte()
		l := lift{fn: c.coreItem(r, sortFunc)}
		c.options(r, &l)
		r.u32()
		c.addFunc(r, l)
	case 1:
		r.byte()
		f := c.at(r, len(c.funcs), "a function")
		c.options(r, &lift{})
		if r.err != nil {
			return
		}
		if c.funcs[f].imported.imported == "" {
			r.fail(ErrUnsupported, "a core function made of a function that is not imported")
			return
		}
		c.addCore(r, sortFunc, c.funcs[f].imported)
	case 2, 3, 4:
		t := c.at(r, len(c.types), "a type")
		if r.err != nil {
			return
		}
		it := c.types[t]
		it.instance, it.name = -1, [...]string{"[resource-new]", "[resource-drop]", "[resource-rep]"}[kind-2]+it.name
		it.imported = cmp.Or(it.imported, rootInterface)
		c.addCore(r, sortFunc, it)
	default:
		r.fail(ErrUnsupported, "canonical function %#x, such as those of asynchronous calls", kind)
	}
}

// rootInterface stands for the interface of what the component imports by itself.
const rootInterface = "$root"

// options reads the options of a canonical function.
func (c *Component) options(r *reader, l *lift) {
	r.list(func() {
		switch option := r.byte(); option {
		case 0: // texts in UTF-8
		case 3:
			l.memory = c.coreItem(r, sortMemory)
		case 4:
			l.realloc = c.coreItem(r, sortFunc)
		case 5:
			l.post = c.coreItem(r, sortFunc)
		default:
			r.fail(ErrUnsupported, "canonical option %#x", option)
		}
	})
}

// described skips the description of an import or export, and returns its sort.
func described(r *reader) byte {
	s := r.byte()
	switch s {
	case 0:
		r.byte()
		r.u32()
	case sortOwnFunc, 4, sortInstance:
		r.u32()
	case sortType:
		if r.byte() == 0 {
			r.u32()
		}
	default:
		r.fail(ErrUnsupported, "an import or export of sort %d", s)
	}
	return s
}

// ownName reads the name of an import or export.
func ownName(r *reader) string {
	if form := r.byte(); form > 1 {
		r.fail(ErrUnsupported, "a name of form %d", form)
	}
	return r.name()
}

func (c *Component) imports(r *reader) {
	name := ownName(r)
	s := described(r)
	c.named(r, s, item{instance: -1, imported: rootInterface, name: name})
}

func (c *Component) export(r *reader) {
	name := ownName(r)
	s, _ := sort(r)
	i := r.u32()
	if r.byte() == 1 {
		described(r)
	}
	if r.err != nil {
		return
	}
	switch {
	case s == sortOwnFunc && int64(i) < int64(len(c.funcs)):
		c.exports[name] = c.funcs[i]
		c.addFunc(r, c.funcs[i])
	case s == sortType && int64(i) < int64(len(c.types)):
		c.addType(r, c.types[i])
	case s == sortInstance:
		c.named(r, s, item{name: name})
	default:
		r.fail(ErrMalformed, "an export of sort %d", s)
	}
}

// skipInstance reads an instance of a component or a list of exports.
func skipInstance(r *reader) {
	named := r.name
	if r.byte() == 0 {
		r.u32()
	} else {
		named = func() string { return ownName(r) }
	}
	r.list(func() {
		named()
		sort(r)
		r.u32()
	})
}
