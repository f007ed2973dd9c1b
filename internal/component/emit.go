package component

import (
	"fmt"
	"slices"
)

// emitter writes the result.
type emitter struct {
	linker *linker
	all    []*linked // the instances in their order
	// live are the functions that can run: imports first.
	live    []*function
	todo    []*function
	types   map[string]uint32
	typed   []string
	tables  []*table
	globals []*global
	elems   []*linkedSegment
	datas   []*linkedSegment
	starts  []*function
}

// emit writes the module with the exports of the shell.
func (l *linker) emit(shell *linked) ([]byte, error) {
	e := &emitter{linker: l, types: map[string]uint32{}}
	for _, in := range l.instances {
		if in != nil {
			e.all = append(e.all, in)
		}
	}
	if l.memory == nil {
		return nil, fmt.Errorf("there is no memory: %w", ErrUnsupported)
	}
	exports := e.exports(shell)
	e.roots(exports)
	if err := e.mark(); err != nil {
		return nil, err
	}
	e.number()
	code, err := e.code()
	if err != nil {
		return nil, err
	}
	return e.module(exports, code), nil
}

// exports are the exports of the shell that do not answer imports of the component.
func (e *emitter) exports(shell *linked) (list []coreExport) {
	for _, x := range shell.mod.exports {
		if e.linker.open[x.name] == nil {
			list = append(list, x)
		}
	}
	return list
}

// roots marks what is used from outside, and what tables hold.
func (e *emitter) roots(exports []coreExport) {
	shell := e.all[len(e.all)-1]
	for _, x := range exports {
		if x.kind == sortFunc {
			e.use(shell.funcs[x.index])
		}
	}
	for _, in := range e.all {
		e.tables = append(e.tables, in.tables...)
		e.elems = append(e.elems, in.elems...)
		e.datas = append(e.datas, in.datas...)
		for _, g := range in.globals {
			if g.init.fn != nil {
				e.use(g.init.fn)
			}
		}
		for _, s := range in.elems {
			for _, f := range s.funcs {
				if f >= 0 {
					e.use(in.funcs[f])
				}
			}
		}
		if in.mod.start >= 0 {
			e.use(in.funcs[in.mod.start])
			e.starts = append(e.starts, in.funcs[in.mod.start].is())
		}
	}
	e.tables = unique(e.tables)
}

func unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	return slices.DeleteFunc(list, func(x T) bool {
		was := seen[x]
		seen[x] = true
		return was
	})
}

func (e *emitter) use(f *function) {
	if f = f.is(); !f.live {
		f.live = true
		e.todo = append(e.todo, f)
	}
}

// mark finds all that can run, and the globals that it reads and writes.
func (e *emitter) mark() error {
	for len(e.todo) > 0 {
		f := e.todo[len(e.todo)-1]
		e.todo = e.todo[:len(e.todo)-1]
		e.live = append(e.live, f)
		if f.in == nil {
			continue
		}
		r := &reader{buf: f.body}
		skipLocals(r)
		for !r.done() {
			var i instr
			if r.next(&i); r.err != nil {
				return r.err
			}
			if err := e.marked(f.in, &i); err != nil {
				return err
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// marked checks the indices of an instruction, and marks what it uses.
func (e *emitter) marked(in *linked, i *instr) error {
	for _, x := range [...]struct {
		kind  kind
		index uint32
	}{{i.kx, i.x}, {i.ky, i.y}} {
		if x.kind == none {
			continue
		}
		n := [...]int{ofFunc: len(in.funcs), ofTable: len(in.tables), ofMemory: 1, ofGlobal: len(in.globals),
			ofType: len(in.mod.types), ofElem: len(in.elems), ofData: len(in.datas)}[x.kind]
		if int64(x.index) >= int64(n) {
			return fmt.Errorf("an instruction has index %d of %d: %w", x.index, n, ErrMalformed)
		}
		switch x.kind {
		case ofFunc:
			e.use(in.funcs[x.index])
		case ofGlobal:
			g := in.globals[x.index]
			if g.used = true; i.op == opGlobalSet {
				g.set = true
			}
		}
	}
	return nil
}

// number gives everything its index.
func (e *emitter) number() {
	order := map[*function]int{}
	for _, in := range e.all {
		for _, f := range in.funcs {
			if f = f.is(); order[f] == 0 {
				order[f] = len(order) + 1
			}
		}
	}
	slices.SortFunc(e.live, func(a, b *function) int {
		if imported := a.in == nil; imported != (b.in == nil) {
			if imported {
				return -1
			}
			return 1
		}
		return order[a] - order[b]
	})
	for i, f := range e.live {
		f.index = uint32(i)
	}
	for i, t := range e.tables {
		t.index = uint32(i)
	}
	for _, in := range e.all {
		e.globals = append(e.globals, in.globals...)
	}
	e.globals = slices.DeleteFunc(unique(e.globals), func(g *global) bool { return !g.used || g.folded() })
	for i, g := range e.globals {
		g.index = uint32(i)
	}
	for i, s := range e.elems {
		s.index = uint32(i)
	}
	for i, s := range e.datas {
		s.index = uint32(i)
	}
}

// typeIndex returns the index of a type in the result.
func (e *emitter) typeIndex(t string) uint32 {
	i, ok := e.types[t]
	if !ok {
		i = uint32(len(e.typed))
		e.types[t] = i
		e.typed = append(e.typed, t)
	}
	return i
}

func skipLocals(r *reader) {
	r.list(func() {
		r.u32()
		r.byte()
	})
}

// code returns the code section.
func (e *emitter) code() ([]byte, error) {
	bodies := slices.DeleteFunc(slices.Clone(e.live), func(f *function) bool { return f.in == nil })
	n := len(bodies)
	if len(e.starts) > 0 {
		n++
	}
	out := unsigned(nil, uint32(n))
	var body []byte
	for _, f := range bodies {
		var err error
		if body, err = e.body(body[:0], f); err != nil {
			return nil, err
		}
		out = sized(out, body)
	}
	if len(e.starts) > 0 {
		body = append(body[:0], 0)
		for _, f := range e.starts {
			body = unsigned(append(body, opCall), f.index)
		}
		out = sized(out, append(body, opEnd))
	}
	return out, nil
}

// body appends the body of a function with the indices of the result.
func (e *emitter) body(out []byte, f *function) ([]byte, error) {
	r := &reader{buf: f.body}
	skipLocals(r)
	from := 0 // what lies before is written
	for !r.done() {
		var i instr
		r.next(&i)
		if i.kx == none {
			continue
		}
		out = append(out, f.body[from:i.at]...)
		from = r.pos
		if g := f.global(&i); g != nil && i.op == opGlobalGet && g.folded() {
			out = number(out, g.init)
			continue
		}
		out = append(out, f.body[i.at:i.imm]...)
		if out = e.index(out, f.in, i.kx, i.x, i.op); i.ky != none {
			out = e.index(out, f.in, i.ky, i.y, i.op)
		}
	}
	return append(out, f.body[from:]...), r.err
}

// global returns the global that an instruction names, nil if it names none.
func (f *function) global(i *instr) *global {
	if i.kx != ofGlobal {
		return nil
	}
	return f.in.globals[i.x]
}

// number appends the instruction of a constant.
func number(out []byte, v constantValue) []byte {
	if v.wide {
		return Signed(append(out, opI64Const), v.value)
	}
	return Signed(append(out, opI32Const), v.value)
}

// index appends an index of the result for one of an instance. The type of a block is signed.
func (e *emitter) index(out []byte, in *linked, k kind, i uint32, op byte) []byte {
	switch k {
	case ofFunc:
		return unsigned(out, in.funcs[i].is().index)
	case ofTable:
		return unsigned(out, in.tables[i].index)
	case ofGlobal:
		return unsigned(out, in.globals[i].index)
	case ofElem:
		return unsigned(out, in.elems[i].index)
	case ofData:
		return unsigned(out, in.datas[i].index)
	case ofType:
		t := e.typeIndex(in.mod.types[i])
		if op == opCallThrough || op == opReturnCallThrough {
			return unsigned(out, t)
		}
		return Signed(out, int64(t))
	}
	return unsigned(out, 0)
}

// module puts the sections together.
func (e *emitter) module(exports []coreExport, code []byte) []byte {
	shell := e.all[len(e.all)-1]
	var imports, funcs, tables, globals, exported, elems, datas list
	for _, f := range e.live {
		if f.in == nil {
			imports.add(unsigned(append(text(text(nil, f.module), f.name), sortFunc), e.typeIndex(f.typ)))
		} else {
			funcs.add(unsigned(nil, e.typeIndex(f.typ)))
		}
	}
	if len(e.starts) > 0 {
		funcs.add(unsigned(nil, e.typeIndex("\x60\x00\x00")))
	}
	for _, t := range e.tables {
		tables.add(t.append([]byte{t.ref}))
	}
	for _, g := range e.globals {
		globals.add(e.global(g))
	}
	for _, x := range exports {
		index := x.index
		if x.kind == sortFunc {
			index = shell.funcs[x.index].is().index
		}
		exported.add(unsigned(append(text(nil, x.name), x.kind), index))
	}
	for _, s := range e.elems {
		elems.add(s.elements())
	}
	for _, s := range e.datas {
		datas.add(s.data())
	}
	var types list
	for _, t := range e.typed {
		types.add([]byte(t))
	}
	out := slices.Clone(coreHeader)
	out = types.section(out, 1)
	out = imports.section(out, 2)
	out = funcs.section(out, 3)
	out = tables.section(out, 4)
	out = sized(append(out, 5), e.linker.memory.append([]byte{1}))
	out = globals.section(out, 6)
	out = exported.section(out, 7)
	if len(e.starts) > 0 {
		out = sized(append(out, 8), unsigned(nil, uint32(len(e.live))))
	}
	out = elems.section(out, 9)
	if datas.n > 0 {
		out = sized(append(out, 12), unsigned(nil, uint32(datas.n)))
	}
	out = sized(append(out, 10), code)
	return datas.section(out, 11)
}

// global returns a global. One that no code writes need not be changeable: a host would keep its
// state.
func (e *emitter) global(g *global) []byte {
	out := []byte{g.typ[0], 0}
	if g.set {
		out[1] = 1
	}
	switch v := g.init; {
	case v.known:
		out = number(out, v)
	case v.fn != nil:
		out = unsigned(append(out, opRefFunc), v.fn.is().index)
	default:
		out = append(out, v.raw...)
	}
	return append(out, opEnd)
}

func (l limits) append(out []byte) []byte {
	if !l.bounded {
		return unsigned(append(out, 0), l.min)
	}
	return unsigned(unsigned(append(out, 1), l.min), l.max)
}

// elements returns a segment of elements, in the form with expressions.
func (s *linkedSegment) elements() []byte {
	var out []byte
	switch s.mode {
	case active:
		out = unsigned([]byte{6}, s.table.index)
		out = append(Signed(append(out, opI32Const), s.at), opEnd)
	case passive:
		out = []byte{5}
	default:
		out = []byte{7}
	}
	out = unsigned(append(out, s.ref), uint32(len(s.funcs)))
	for _, f := range s.funcs {
		if f < 0 {
			out = append(out, opRefNull, s.ref, opEnd)
		} else {
			out = append(unsigned(append(out, opRefFunc), s.in.funcs[f].is().index), opEnd)
		}
	}
	return out
}

func (s *linkedSegment) data() []byte {
	if s.mode == passive {
		return sized([]byte{1}, s.bytes)
	}
	return sized(append(Signed([]byte{0, opI32Const}, s.at), opEnd), s.bytes)
}

// list is the content of a section.
type list struct {
	n    int
	data []byte
}

func (l *list) add(b []byte) {
	l.n++
	l.data = append(l.data, b...)
}

// section appends the section, unless it is empty.
func (l *list) section(out []byte, id byte) []byte {
	if l.n == 0 {
		return out
	}
	n := unsigned(nil, uint32(l.n))
	out = unsigned(append(out, id), uint32(len(n)+len(l.data)))
	return append(append(out, n...), l.data...)
}

func sized(out, b []byte) []byte { return append(unsigned(out, uint32(len(b))), b...) }

func text(out []byte, s string) []byte { return append(unsigned(out, uint32(len(s))), s...) }

// unsigned appends a number in LEB128.
func unsigned(out []byte, v uint32) []byte {
	for ; v > 0x7f; v >>= 7 {
		out = append(out, byte(v)|0x80)
	}
	return append(out, byte(v))
}

// Signed appends a signed number in LEB128.
func Signed(out []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		if v >>= 7; v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}
