package wasmbin

// Weights: the fuel for one instruction, without the bytes and elements that bulk
// operations add when they run. The unit is one ordinary instruction, which takes about a
// nanosecond or less. An instruction weighs more only if it leaves compiled code for the
// engine, so that a slice of fuel also bounds time.
const (
	// weightHostCall is for imported functions. A call takes about 30 ns before the host
	// does anything, and about 100 ns for simple functions such as clocks.
	weightHostCall = 256
	// weightLight is for light imported functions. A call takes less than 10 ns if the
	// function is linked, and 30 ns if it is not.
	weightLight = 16
	// weightGrow is for growing a memory or table, which leaves compiled code even if it
	// fails.
	weightGrow = 256
	// weightRefFunc is for ref.func: the engine makes the reference outside compiled code.
	weightRefFunc = 32
	// weightBulk is the fixed part of a bulk operation.
	weightBulk = 8
	// The locals of a function are set to zero at each call. The first freeLocals are
	// free, and the next localsPerWeight weigh 1: the interpreter needs some nanoseconds
	// for each.
	freeLocals, localsPerWeight = 64, 8
	// valuesPerWeight is the number of values that weigh 1 when they are moved one by one:
	// parameters and results of blocks, and results of functions.
	valuesPerWeight = 4
)

// localsWeight returns what a call pays for the locals of the function.
func localsWeight(locals uint64) int {
	return int(min(max(locals, freeLocals)-freeLocals, MaxLocals) / localsPerWeight)
}

// weight returns the static weight of an instruction. Instructions that only structure the
// code and compile to nothing weigh nothing.
func (m *module) weight(in *instr) int {
	switch in.op {
	case 0x01, opElse, opEnd:
		return 0
	case opBlock, opLoop:
		return m.blockWeight(in)
	case opIf:
		return 1 + m.blockWeight(in)
	case opCall, opReturnCall:
		if int(in.x) < m.imported[KindFunc] {
			return m.importWeight(int(in.x))
		}
	case opCallIndirect, opReturnCallIn:
		if m.hostInTable {
			return weightHostCall
		}
	case opRefFunc:
		return weightRefFunc
	case opMemoryGrow:
		return weightGrow
	case opMisc:
		switch in.sub {
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill:
			return weightBulk
		case miscTableGrow:
			return weightGrow
		}
	}
	return 1
}

// blockWeight returns what a block pays for its parameters and results.
func (m *module) blockWeight(in *instr) int {
	params, results := m.blockType(in)
	return (params + results) / valuesPerWeight
}

// importWeight returns the weight of a call of an imported function.
func (m *module) importWeight(i int) int {
	if i < len(m.light) && m.light[i] {
		return weightLight
	}
	return weightHostCall
}

// inertAt reports whether a function is an inert import, see [MeterOptions.Inert].
func (m *module) inertAt(f uint32) bool { return int(f) < len(m.inert) && m.inert[f] }

// findLight notes which imported functions are light, and which of those are inert.
func (m *module) findLight(o *MeterOptions) {
	if o.Light == nil {
		return
	}
	for _, im := range m.info.Imports {
		if im.Kind == KindFunc {
			light := o.Light(im.Module, im.Name)
			m.light = append(m.light, light)
			m.inert = append(m.inert, light && o.Inert != nil && o.Inert(im.Module, im.Name))
		}
	}
}
