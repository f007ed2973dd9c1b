package wasmbin

// The decoders of the sections with declarations, and of types.

func (r *reader) valueType(what string) ValueType {
	at := r.pos
	t := ValueType(r.byte(what))
	switch {
	case r.err != nil || t.known():
	case t.reference():
		r.fail(ErrUnsupported, at, "%s: a typed function reference", what)
	default:
		r.fail(ErrMalformed, at, "%s: unknown value type %#x", what, byte(t))
	}
	return t
}

func (r *reader) refType(what string) ValueType {
	at := r.pos
	t := r.valueType(what)
	if r.err == nil && t != FuncRef && t != ExternRef && t != ExnRef {
		r.fail(ErrMalformed, at, "%s: %v is no reference type", what, t)
	}
	return t
}

func (m *module) readTypes(r *reader) {
	n := r.bounded(3, MaxDeclared, "the types")
	m.types = make([]FuncType, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		switch form := r.byte("a type"); form {
		case 0x60:
			t := FuncType{Params: r.valueTypes("parameters"), Results: r.valueTypes("results")}
			m.types = append(m.types, t)
			m.toll.values += uint64(t.arity())
		case 0x4e, 0x4f, 0x50, 0x5e, 0x5f:
			r.fail(ErrUnsupported, at, "type form %#x (garbage collection)", form)
		default:
			r.fail(ErrMalformed, at, "unknown type form %#x", form)
		}
	}
}

func (r *reader) valueTypes(what string) []ValueType {
	n := r.bounded(1, MaxArity, what)
	if n == 0 {
		return nil
	}
	ts := make([]ValueType, n)
	for i := range ts {
		ts[i] = r.valueType(what)
	}
	return ts
}

// typeIndex reads the index of a type that must exist.
func (m *module) typeIndex(r *reader) uint32 {
	at := r.pos
	i := r.u32("a type index")
	if r.err == nil && int(i) >= len(m.types) {
		r.fail(ErrMalformed, at, "type %d of %d", i, len(m.types))
		return 0
	}
	return i
}

func (m *module) readImports(r *reader) {
	for n := r.bounded(4, MaxDeclared, "the imports"); n > 0 && r.err == nil; n-- {
		im := Import{Module: r.name("an import's module"), Name: r.name("an import's name")}
		at := r.pos
		im.Kind = Kind(r.byte("an import's kind"))
		switch im.Kind {
		case KindFunc:
			m.funcs = append(m.funcs, m.typeIndex(r))
			if r.err == nil {
				im.Func = m.types[m.funcs[len(m.funcs)-1]]
			}
		case KindTable:
			im.Table = TableType{Elem: r.refType("an imported table"), Limits: r.limits("table")}
			m.tables = append(m.tables, im.Table)
		case KindMemory:
			im.Memory = m.memory(r)
			m.memories = append(m.memories, im.Memory)
		case KindGlobal:
			im.Global = r.globalType()
			m.globals = append(m.globals, im.Global)
		case KindTag:
			m.tag(r)
		default:
			r.fail(ErrMalformed, at, "import %q %q of unknown kind %d", im.Module, im.Name, im.Kind)
			return
		}
		m.imported[im.Kind]++
		m.info.Imports = append(m.info.Imports, im)
	}
}

func (m *module) tag(r *reader) {
	r.zero("the attribute of a tag")
	m.typeIndex(r)
	m.tags++
	m.info.Uses.Exceptions = true
}

func (m *module) readTags(r *reader) {
	for n := r.count(2, "the tags"); n > 0 && r.err == nil; n-- {
		m.tag(r)
	}
}

func (r *reader) limits(what string) Limits {
	at := r.pos
	flags := r.byte(what + " limits")
	if flags&^3 != 0 {
		if flags < 8 {
			r.fail(ErrUnsupported, at, "a 64-bit %s (memory64)", what)
		} else {
			r.fail(ErrMalformed, at, "%s limits with flags %#x", what, flags)
		}
		return Limits{}
	}
	l := Limits{Min: uint64(r.u32("a minimum")), HasMax: flags&1 != 0, Shared: flags&2 != 0}
	if l.HasMax {
		if l.Max = uint64(r.u32("a maximum")); l.Max < l.Min {
			r.fail(ErrMalformed, at, "%s maximum %d below its minimum %d", what, l.Max, l.Min)
		}
	}
	if l.Shared && what == "table" {
		r.fail(ErrMalformed, at, "a shared table")
	}
	return l
}

func (m *module) memory(r *reader) Limits {
	at := r.pos
	l := r.limits("memory")
	if l.Min > MaxPages || l.Max > MaxPages {
		r.fail(ErrMalformed, at, "a memory of more than %d pages", MaxPages)
	}
	if l.Shared {
		m.info.Uses.Threads = true
		if !l.HasMax {
			r.fail(ErrMalformed, at, "a shared memory without a maximum")
		}
	}
	return l
}

func (r *reader) globalType() GlobalType {
	g := GlobalType{Type: r.valueType("a global's type")}
	at := r.pos
	switch mut := r.byte("a global's mutability"); mut {
	case 0:
	case 1:
		g.Mutable = true
	default:
		r.fail(ErrMalformed, at, "global mutability %d", mut)
	}
	return g
}

func (m *module) readFunctions(r *reader) {
	n := r.count(1, "the functions")
	m.info.Functions = n
	for i := 0; i < n && r.err == nil; i++ {
		m.funcs = append(m.funcs, m.typeIndex(r))
	}
}

func (m *module) readTables(r *reader) {
	for n := r.bounded(3, MaxDeclared, "the tables"); n > 0 && r.err == nil; n-- {
		if r.pos < r.end && r.buf[r.pos] == 0x40 {
			r.fail(ErrUnsupported, r.pos, "a table with an initialiser (typed function references)")
			return
		}
		m.tables = append(m.tables, TableType{Elem: r.refType("a table"), Limits: r.limits("table")})
	}
	m.info.Tables = m.tables[m.imported[KindTable]:]
}

func (m *module) readMemories(r *reader) {
	for n := r.count(2, "the memories"); n > 0 && r.err == nil; n-- {
		m.memories = append(m.memories, m.memory(r))
	}
	m.info.Memories = m.memories[m.imported[KindMemory]:]
}

func (m *module) readGlobals(r *reader) {
	for n := r.bounded(3, MaxDeclared, "the globals"); n > 0 && r.err == nil; n-- {
		g := r.globalType()
		m.constExpr(r, nil)
		m.globals = append(m.globals, g)
	}
	m.info.Globals = m.globals[m.imported[KindGlobal]:]
}

func (m *module) readExports(r *reader) {
	n := r.bounded(3, MaxDeclared, "the exports")
	seen := make(map[string]bool, n)
	for ; n > 0 && r.err == nil; n-- {
		at := r.pos
		e := Export{Name: r.name("an export's name")}
		e.Kind = Kind(r.byte("an export's kind"))
		e.Index = r.u32("an export's index")
		if r.err != nil {
			return
		}
		if seen[e.Name] {
			r.fail(ErrMalformed, at, "export %q appears twice", e.Name)
			return
		}
		seen[e.Name] = true
		if !m.resolve(&e) {
			r.fail(ErrMalformed, at, "export %q is %v %d, which does not exist", e.Name, e.Kind, e.Index)
			return
		}
		m.info.Exports = append(m.info.Exports, e)
	}
}

// resolve fills in the type of an export. It reports false if the index is out of range.
func (m *module) resolve(e *Export) bool {
	i := int(e.Index)
	switch {
	case e.Kind == KindFunc && i < len(m.funcs):
		e.Func = m.types[m.funcs[i]]
	case e.Kind == KindTable && i < len(m.tables):
		e.Table = m.tables[i]
	case e.Kind == KindMemory && i < len(m.memories):
		e.Memory = m.memories[i]
	case e.Kind == KindGlobal && i < len(m.globals):
		e.Global = m.globals[i]
	case e.Kind == KindTag && i < m.tags:
	default:
		return false
	}
	return true
}

func (m *module) readStart(r *reader) {
	at := r.pos
	i := r.u32("the start function")
	switch {
	case r.err != nil:
	case int(i) >= len(m.funcs):
		r.fail(ErrMalformed, at, "function %d of %d", i, len(m.funcs))
	case len(m.types[m.funcs[i]].Params)+len(m.types[m.funcs[i]].Results) > 0:
		r.fail(ErrMalformed, at, "function %d has signature %v instead of () -> ()", i, m.types[m.funcs[i]])
	}
	m.info.Start, m.info.HasStart = i, true
}

func (m *module) readDataCount(r *reader) {
	m.dataCount = int(r.u32("the number of data segments"))
}

func (m *module) readData(r *reader) {
	n := r.bounded(2, MaxDeclared, "the data segments")
	m.info.DataSegments = n
	for i := 0; i < n && r.err == nil; i++ {
		at := r.pos
		switch flag := r.u32("a data segment"); flag {
		case 0:
			m.constExpr(r, nil)
		case 1:
		case 2:
			r.index(1, "memory")
			m.constExpr(r, nil)
		default:
			r.fail(ErrMalformed, at, "data segment of unknown kind %d", flag)
		}
		m.info.DataBytes += len(r.take(r.u32("a data segment's size"), "a data segment"))
	}
}

// readElements checks the element segments.
func (m *module) readElements(r *reader) {
	m.info.ElemSegments = m.elements(r, nil)
}
