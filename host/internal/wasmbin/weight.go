package wasmbin

// Weights: what one instruction costs in fuel, before the bytes and elements
// that bulk operations add when they run. The unit is one ordinary instruction,
// about a nanosecond or less. Heavier weights are given only where one
// instruction leaves compiled code for the engine, so that a slice of fuel bounds
// time as well.
const (
	// weightHostCall: calling an imported function takes about 30 ns before the
	// host does anything, and simple ones (clocks) about 100 ns.
	weightHostCall = 256
	// weightLight is for those that the host says are done in no time: less than
	// 10 ns where they are linked, 30 ns where they are not.
	weightLight = 16
	// weightGrow: growing a memory or table leaves compiled code, even to fail.
	weightGrow = 256
	// weightRefFunc: the engine makes the reference outside compiled code.
	weightRefFunc = 32
	// weightBulk: the fixed part of a bulk operation.
	weightBulk = 8
	// A function's locals are set to zero at each call. Few are free; the
	// interpreter takes some nanoseconds for each of many.
	freeLocals, localsPerWeight = 64, 8
	// valuesPerWeight: values that a block is given or leaves, and those that a
	// function returns, are moved one by one.
	valuesPerWeight = 4
)

// localsWeight is what a call pays for the locals of the function.
func localsWeight(locals uint64) int {
	return int(min(max(locals, freeLocals)-freeLocals, MaxLocals) / localsPerWeight)
}

// weight is the static weight of an instruction. Instructions that only give
// code its structure and compile to nothing weigh nothing.
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

// blockWeight is what a block pays for the values that cross its borders.
func (m *module) blockWeight(in *instr) int {
	params, results := m.blockType(in)
	return (params + results) / valuesPerWeight
}

// importWeight is the weight of a call of an imported function.
func (m *module) importWeight(i int) int {
	if i < len(m.light) && m.light[i] {
		return weightLight
	}
	return weightHostCall
}

// inertAt tells whether a function is imported and calls nothing of the guest.
func (m *module) inertAt(f uint32) bool { return int(f) < len(m.inert) && m.inert[f] }

// findLight notes which imported functions are light, and which of them are inert.
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
