package component

import (
	"fmt"
	"maps"
	"slices"
)

// The names by which a shell imports what a component exports. The import module is [Exported], a
// dot and the name of the exported function.
const (
	// Exported begins the module of those imports.
	Exported = "component"
	// Call is the function itself, with the parameters of its core form.
	Call = "call"
	// Post is the function to call with the result, when it has been read.
	Post = "post"
	// Realloc allocates memory for parameters.
	Realloc = "realloc"
	// Memory is the memory.
	Memory = "memory"
)

// Import is a function that a component imports.
type Import struct {
	// Interface is the name of its interface, with the version, or "$root" for the world's own.
	Interface, Name string
	// Type is the type of its core form in the binary format.
	Type string
}

// Export returns the name under which a shell exports the answer to the import.
func (i Import) Export() string { return i.Interface + "#" + i.Name }

// linker joins the instances of modules.
type linker struct {
	component *Component
	parsed    map[int]*coreModule
	instances []*linked // by the index of the core instance, nil for lists
	size      int       // the bytes of all instances' modules
	open      map[string]*function
	memory    *memory
}

// linked is an instance of a module whose imports are found.
type linked struct {
	mod     *coreModule
	funcs   []*function
	tables  []*table
	globals []*global
	elems   []*linkedSegment
	datas   []*linkedSegment
	exports map[string]coreExport
}

type function struct {
	in   *linked // nil for an import
	typ  string
	body []byte
	// module and name are those of an import of the result.
	module, name string
	// answer is the function of the shell that stands for an import of the component.
	answer *function
	live   bool
	index  uint32
}

// is returns the function that a function stands for.
func (f *function) is() *function {
	if f.answer != nil {
		return f.answer
	}
	return f
}

type table struct {
	tableType
	index uint32
}

type memory struct{ limits }

type global struct {
	typ  [2]byte
	init constantValue
	// used and set report that code reads or writes it.
	used, set bool
	index     uint32
}

// folded reports whether the code gets the number instead of the global.
func (g *global) folded() bool { return g.init.known && !g.set }

// constantValue is what a constant expression gives: a number, a function, or the bytes of an
// instruction.
type constantValue struct {
	known bool
	wide  bool // an i64
	value int64
	fn    *function
	raw   []byte
}

type linkedSegment struct {
	segment
	in    *linked
	at    int64
	table *table
	index uint32
}

// maxPages bounds the memory, in pages of 64 KiB.
const maxPages = 16384

// Imports lists the functions that the core instances of a component import from outside of it,
// and returns the size of its memory in bytes.
func (c *Component) Imports() (list []Import, memory uint32, err error) {
	l, err := c.link()
	switch {
	case err != nil:
		return nil, 0, err
	case l.memory == nil || l.memory.min > maxPages:
		return nil, 0, fmt.Errorf("component: no memory, or more than %d pages: %w", maxPages, ErrUnsupported)
	}
	for _, key := range slices.Sorted(maps.Keys(l.open)) {
		f := l.open[key]
		list = append(list, Import{Interface: f.module, Name: f.name, Type: f.typ})
	}
	return list, l.memory.min << 16, nil
}

// Link joins the core instances of a component and a shell into one module. The shell's imports
// from [Exported] are served by the component, its exports with the names of [Import.Export] serve
// the component, and all its other imports and exports are those of the module.
// The memory of the module has pages more than that of the component, which the shell may use.
func (c *Component) Link(shell []byte, pages uint32) ([]byte, error) {
	l, err := c.link()
	if err != nil {
		return nil, err
	}
	if l.memory == nil || uint64(l.memory.min)+uint64(pages) > maxPages {
		return nil, fmt.Errorf("component: add %d pages to the memory: there is none, or it is too large: %w", pages, ErrUnsupported)
	}
	l.memory.min += pages
	if l.memory.bounded { // the component may still grow as far as it could
		l.memory.max = min(l.memory.max+pages, 65536)
	}
	mod, err := readCore(shell)
	if err != nil {
		return nil, fmt.Errorf("component: read shell: %w", err)
	}
	own, err := l.instantiate(mod, l.forShell)
	if err != nil {
		return nil, fmt.Errorf("component: link shell: %w", err)
	}
	l.instances = append(l.instances, own)
	for _, key := range slices.Sorted(maps.Keys(l.open)) {
		e, ok := own.exports[key]
		if !ok || e.kind != sortFunc {
			return nil, fmt.Errorf("component: link %s: nothing answers it: %w", key, ErrUnsupported)
		}
		f := own.funcs[e.index]
		if f.typ != l.open[key].typ {
			return nil, fmt.Errorf("component: link %s: the answer has another type: %w", key, ErrUnsupported)
		}
		l.open[key].answer = f
	}
	wasm, err := l.emit(own)
	if err != nil {
		return nil, fmt.Errorf("component: write module: %w", err)
	}
	return wasm, nil
}

// link makes the instances of a component.
func (c *Component) link() (*linker, error) {
	l := &linker{component: c, parsed: map[int]*coreModule{}, open: map[string]*function{}}
	for i, in := range c.instances {
		var made *linked
		if in.module >= 0 {
			mod, err := l.module(in.module)
			if err == nil {
				made, err = l.instantiate(mod, func(i coreImport) (any, error) { return l.forInstance(in, i) })
			}
			if err != nil {
				return nil, fmt.Errorf("component: link core instance %d: %w", i, err)
			}
		}
		l.instances = append(l.instances, made)
	}
	return l, nil
}

// mostCopies bounds the modules of all instances, as a multiple of the file. Tools make one instance of
// each module; a thousand of one would need thousands of times the bytes of the file.
const mostCopies = 2

// mostConstants bounds the values that a constant expression holds at a time.
const mostConstants = 100

// module reads a module of the component, each once.
func (l *linker) module(i int) (*coreModule, error) {
	if l.size += len(l.component.modules[i]); l.size > mostCopies*l.component.size {
		return nil, fmt.Errorf("all instances together have more than %d times the bytes of the component: %w", mostCopies, ErrUnsupported)
	}
	if m := l.parsed[i]; m != nil {
		return m, nil
	}
	m, err := readCore(l.component.modules[i])
	l.parsed[i] = m
	return m, err
}

// forInstance finds what serves an import of an instance.
func (l *linker) forInstance(in instance, i coreImport) (any, error) {
	from, ok := in.args[i.module]
	if !ok {
		return nil, fmt.Errorf("import %s %s: no instance serves it: %w", i.module, i.name, ErrMalformed)
	}
	return l.find(item{instance: from, name: i.name}, i)
}

// find follows an item through lists to what it is.
func (l *linker) find(it item, i coreImport) (any, error) {
	for it.imported == "" && it.instance < len(l.instances) && l.instances[it.instance] == nil {
		next, ok := l.component.instances[it.instance].things[it.name]
		if !ok {
			return nil, fmt.Errorf("import %s %s: is not in the list that serves it: %w", i.module, i.name, ErrMalformed)
		}
		it = next
	}
	if it.imported != "" {
		return &function{module: it.imported, name: it.name}, nil
	}
	from := l.instances[it.instance]
	e, ok := from.exports[it.name]
	if !ok || e.kind != i.kind {
		return nil, fmt.Errorf("import %s %s: the module that serves it has no such export: %w", i.module, i.name, ErrMalformed)
	}
	switch e.kind {
	case sortFunc:
		return from.funcs[e.index], nil
	case sortTable:
		return from.tables[e.index], nil
	case sortMemory:
		return l.memory, nil
	default:
		return from.globals[e.index], nil
	}
}

// forShell finds what serves an import of the shell.
func (l *linker) forShell(i coreImport) (any, error) {
	if len(i.module) <= len(Exported) || i.module[:len(Exported)+1] != Exported+"." {
		return &function{module: i.module, name: i.name, typ: "host"}, nil
	}
	name := i.module[len(Exported)+1:]
	lift, ok := l.component.exports[name]
	if !ok || lift.imported.imported != "" {
		return nil, fmt.Errorf("the component does not export %s: %w", name, ErrUnsupported)
	}
	it, ok := map[string]item{Call: lift.fn, Post: lift.post, Realloc: lift.realloc, Memory: lift.memory}[i.name]
	if !ok || it == (item{}) {
		return nil, fmt.Errorf("the export %s has no %s: %w", name, i.name, ErrUnsupported)
	}
	return l.find(it, i)
}

// instantiate gives a module what it imports.
func (l *linker) instantiate(m *coreModule, find func(coreImport) (any, error)) (*linked, error) {
	in := &linked{mod: m, exports: map[string]coreExport{}}
	for _, i := range m.imports {
		found, err := find(i)
		if err != nil {
			return nil, err
		}
		if err := l.take(in, i, found); err != nil {
			return nil, err
		}
	}
	for i, t := range m.funcs {
		if int64(t) >= int64(len(m.types)) {
			return nil, fmt.Errorf("function of type %d: %w", t, ErrMalformed)
		}
		in.funcs = append(in.funcs, &function{in: in, typ: m.types[t], body: m.bodies[i]})
	}
	for _, t := range m.tables {
		in.tables = append(in.tables, &table{tableType: t})
	}
	if m.memory != nil {
		if l.memory != nil {
			return nil, fmt.Errorf("several memories: %w", ErrUnsupported)
		}
		l.memory = &memory{*m.memory}
	}
	for _, g := range m.globals {
		v, err := in.value(g.init)
		if err != nil {
			return nil, err
		}
		in.globals = append(in.globals, &global{typ: g.typ, init: v})
	}
	return in, in.finish()
}

// take adds what serves an import.
func (l *linker) take(in *linked, i coreImport, found any) error {
	switch x := found.(type) {
	case *function:
		if i.kind != sortFunc {
			break
		}
		in.funcs = append(in.funcs, l.typed(x, in.mod.types[i.typ]))
		return nil
	case *table:
		in.tables = append(in.tables, x)
		return nil
	case *global:
		if x.typ != i.global {
			break
		}
		in.globals = append(in.globals, x)
		return nil
	case *memory:
		if x == nil {
			break
		}
		return nil
	}
	return fmt.Errorf("import %s %s: what serves it is of another type: %w", i.module, i.name, ErrMalformed)
}

// typed gives an import of the component or of the result its type. Each import of the component is
// one function, however many modules use it.
func (l *linker) typed(f *function, typ string) *function {
	switch {
	case f.in != nil:
		return f
	case f.typ != "": // of the result
		f.typ = typ
		return f
	}
	key := Import{Interface: f.module, Name: f.name}.Export()
	if known := l.open[key]; known != nil {
		return known
	}
	f.typ = typ
	l.open[key] = f
	return f
}

// finish reads the exports and segments of an instance.
func (in *linked) finish() error {
	for _, e := range in.mod.exports {
		n := map[byte]int{sortFunc: len(in.funcs), sortTable: len(in.tables), sortMemory: 1, sortGlobal: len(in.globals)}[e.kind]
		if int64(e.index) >= int64(n) {
			return fmt.Errorf("export %s: %w", e.name, ErrMalformed)
		}
		in.exports[e.name] = e
	}
	for _, s := range in.mod.elems {
		linked, err := in.segment(s)
		if err != nil {
			return err
		}
		if s.mode == active {
			if int64(s.table) >= int64(len(in.tables)) {
				return fmt.Errorf("elements of table %d: %w", s.table, ErrMalformed)
			}
			linked.table = in.tables[s.table]
		}
		for _, f := range s.funcs {
			if f >= int64(len(in.funcs)) {
				return fmt.Errorf("element %d: %w", f, ErrMalformed)
			}
		}
		in.elems = append(in.elems, linked)
	}
	for _, s := range in.mod.datas {
		linked, err := in.segment(s)
		if err != nil {
			return err
		}
		in.datas = append(in.datas, linked)
	}
	if in.mod.start >= len(in.funcs) {
		return fmt.Errorf("start function %d: %w", in.mod.start, ErrMalformed)
	}
	return nil
}

func (in *linked) segment(s segment) (*linkedSegment, error) {
	l := &linkedSegment{segment: s, in: in}
	if s.mode != active {
		return l, nil
	}
	v, err := in.value(s.offset)
	if err == nil && !v.known {
		err = fmt.Errorf("the place of a segment is no number: %w", ErrUnsupported)
	}
	l.at = v.value
	return l, err
}

// value evaluates a constant expression.
func (in *linked) value(expr []byte) (constantValue, error) {
	r := &reader{buf: expr}
	var stack []constantValue
	for r.err == nil {
		var i instr
		r.next(&i)
		if i.op == opEnd && r.err == nil {
			break
		}
		v, err := in.constant(r, i, &stack)
		if err != nil {
			return v, err
		}
		if stack = append(stack, v); len(stack) > mostConstants {
			return v, fmt.Errorf("a constant expression holds more than %d values: %w", mostConstants, ErrUnsupported)
		}
	}
	if r.err != nil || len(stack) != 1 || !r.done() {
		return constantValue{}, fmt.Errorf("a constant expression: %w", ErrMalformed)
	}
	return stack[0], nil
}

// constant evaluates one instruction of a constant expression.
func (in *linked) constant(r *reader, i instr, stack *[]constantValue) (constantValue, error) {
	unsupported := fmt.Errorf("opcode %#x in a constant expression: %w", i.op, ErrUnsupported)
	switch i.op {
	case opI32Const, opI64Const:
		at := &reader{buf: r.buf, pos: i.imm}
		return constantValue{known: true, wide: i.op == opI64Const, value: at.signed()}, nil
	case opF32Const, opF64Const, opRefNull:
		return constantValue{raw: r.buf[i.at:r.pos]}, nil
	case opRefFunc:
		if int64(i.x) >= int64(len(in.funcs)) {
			return constantValue{}, fmt.Errorf("reference to function %d: %w", i.x, ErrMalformed)
		}
		return constantValue{fn: in.funcs[i.x]}, nil
	case opGlobalGet:
		if int64(i.x) >= int64(len(in.globals)) || in.globals[i.x].typ[1] != 0 {
			return constantValue{}, fmt.Errorf("global %d in a constant expression: %w", i.x, ErrMalformed)
		}
		return in.globals[i.x].init, nil
	case opI32Add, opI32Sub, opI32Mul:
		n := len(*stack)
		if n < 2 || !(*stack)[n-2].known || !(*stack)[n-1].known || (*stack)[n-2].wide || (*stack)[n-1].wide {
			return constantValue{}, unsupported
		}
		a, b := int32((*stack)[n-2].value), int32((*stack)[n-1].value)
		*stack = (*stack)[:n-2]
		return constantValue{known: true, value: int64(map[byte]int32{opI32Add: a + b, opI32Sub: a - b, opI32Mul: a * b}[i.op])}, nil
	}
	return constantValue{}, unsupported
}
