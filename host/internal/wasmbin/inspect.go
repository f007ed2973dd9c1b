package wasmbin

import (
	"crypto/sha256"
	"fmt"
	"math"
	"time"
)

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
	m.info.Code, err = m.codeDigest()
	return &m.info, err
}

// codeDigest returns a digest of all that the output of [Prepare] depends on, if the module's data are
// no part of it: the sections but data and custom ones, and the names. Otherwise it returns zeros.
func (m *module) codeDigest() (digest [sha256.Size]byte, err error) {
	m.known = true // the bodies are inspected
	if _, lifted, err := m.liftable(); !lifted || err != nil {
		return digest, err
	}
	h := sha256.New()
	for _, s := range m.sections {
		if s.id != secData && (s.id != secCustom || s.name == "name") {
			fmt.Fprintf(h, "%d %d ", s.id, s.end-s.pos)
			h.Write(m.bin[s.pos:s.end])
		}
	}
	h.Sum(digest[:0])
	return digest, nil
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

// add adds a function.
func (t *toll) add(b *body, s *shape, values int) {
	cost := uint64(s.cost(b.locals))
	w := s.work + workBody + 40*min(cost, math.MaxInt32) + 130*b.locals + workValue*uint64(values)
	if w > t.largest {
		t.largest, t.largestFunc = w, b.index
	}
	t.work += w
	nanos := w + w/1024*w/200_000 + 8*s.walked + 30*b.locals*uint64(s.sets) + 150*min(cost, math.MaxInt32)
	if nanos > t.long {
		t.long, t.longFunc = nanos, b.index
	}
	t.nanos += nanos
	ops := uint64(s.ops) + b.locals
	t.ops += ops
	if ops > t.most {
		t.most, t.mostFunc = ops, b.index
	}
	t.locals += b.locals
	if frame := 2 * 8 * (b.locals + uint64(s.peak) + 8); frame > t.frame {
		t.frame, t.frameFunc = frame, b.index
	}
}

// estimate returns the estimates for the compiler and for the interpreter.
func (m *module) estimate() (compiled, interpreted Estimate) {
	t := &m.toll
	i := &m.info
	declared := uint64(len(m.types)+len(i.Imports)+len(i.Exports)+len(m.globals)+len(m.tables)+i.DataSegments+i.ElemSegments) +
		uint64(len(i.Customs))
	file := share{"the bytes of the module", uint64(2 * i.Size), uint64(40 * i.Size)}
	types := share{"parameters and results of all types", 130 * t.values, 1200 * t.values}
	declarations := share{"what the module declares", 1200 * declared, 6000 * declared}
	functions := share{"the number of functions", 1100 * uint64(i.Functions), 4000 * uint64(i.Functions)}
	locals := share{"the locals of all functions", 3 * t.locals, 20 * t.locals}
	compiled = addUp(16<<20, file, types, declarations, functions, locals,
		share{fmt.Sprintf("function %d", t.largestFunc), t.largest, 0}, share{fmt.Sprintf("function %d", t.longFunc), 0, t.long},
		share{"the code", t.work / 75, t.nanos - t.long})
	interpreted = addUp(16<<20, file, types, declarations, functions, locals,
		share{fmt.Sprintf("function %d", t.mostFunc), 250 * t.most, 0},
		share{"the code", 50 * t.ops, 250 * t.ops})
	return compiled, interpreted
}

// share is the memory and time, in bytes and nanoseconds, that one part needs.
type share struct {
	what         string
	bytes, nanos uint64
}

func addUp(base uint64, shares ...share) (e Estimate) {
	bytes, nanos, most, longest := base, uint64(0), uint64(0), uint64(0)
	for _, s := range shares {
		bytes, nanos = bytes+s.bytes, nanos+s.nanos
		if s.bytes > most {
			most, e.Mostly = s.bytes, s.what
		}
		if s.nanos > longest {
			longest, e.Longest = s.nanos, s.what
		}
	}
	e.Memory, e.Time = int64(min(bytes, math.MaxInt64)), time.Duration(min(nanos, math.MaxInt64))
	return e
}
