package wasmbin

// Inspect decodes a module without running or compiling it. Its work and memory
// are proportional to the size of bin, whatever the module claims.
//
// It checks the binary format and all indices strictly. It does not check the types of
// operands, which the engine checks when it compiles the module. Every error wraps one of
// the sentinels of this package, and says what the author can do where that is known.
func Inspect(bin []byte) (*Info, error) {
	m, err := parse(bin)
	if err != nil {
		return nil, err
	}
	if err := m.inspectBodies(); err != nil {
		return nil, err
	}
	m.info.Compiled, m.info.Interpreted = m.estimate()
	m.info.Frame, m.info.FrameFunc = m.toll.frame, m.toll.frameFunc
	return &m.info, nil
}

// inspectBodies notes which instructions the functions use and how expensive they are.
func (m *module) inspectBodies() error {
	if m.known {
		return nil
	}
	var labels []uint32
	var open []opened
	return m.bodies(func(b *body) error {
		s := shape{open: open[:0]}
		err := m.inspectBody(b, &s, &labels)
		open = s.open
		return err
	})
}

// inspectBody does so for one function.
func (m *module) inspectBody(b *body, s *shape, labels *[]uint32) error {
	depth := 1
	var in instr
	for depth > 0 {
		*labels = (*labels)[:0]
		b.r.next(&in, labels)
		m.checkIndices(b, &in, *labels, depth)
		if b.r.err != nil {
			return b.r.err
		}
		switch immediates[in.op] {
		case immBlock, immTry:
			depth++
		case immNone:
			if in.op == opEnd {
				depth--
			}
		}
		s.count(m, &in, *labels)
		m.note(&in)
	}
	if err := b.r.finish("the end of a function"); err != nil {
		return err
	}
	m.measure(b, s)
	return nil
}

// note records an instruction in Info.Uses.
func (m *module) note(in *instr) {
	u := &m.info.Uses
	switch immediates[in.op] {
	case immTag, immTry:
		u.Exceptions = true
	case immVector:
		u.SIMD = true
	case immAtomic:
		u.Threads = true
	case immMisc:
		u.noteMisc(in.sub)
	default:
		switch in.op {
		case opMemoryGrow:
			u.MemoryGrow = true
		case opTableSet:
			u.TableWrites = true
		case opReturnCall, opReturnCallIn:
			u.TailCalls = true
		case 0x0a: // throw_ref
			u.Exceptions = true
		}
	}
}

func (u *Uses) noteMisc(sub uint32) {
	switch sub {
	case miscMemoryInit:
		u.MemoryInit = true
	case miscDataDrop, miscElemDrop:
		u.SegmentDrops = true
	case miscMemoryCopy, miscMemoryFill:
		u.BulkMemory = true
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		u.TableWrites = true
		u.TableGrow = u.TableGrow || sub == miscTableGrow
	}
}

func (m *module) measure(b *body, s *shape) {
	m.toll.add(b, s, m.funcType(b.index).arity())
}
