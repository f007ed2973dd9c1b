package wasmbin

// The effect of instructions on the height of the operand stack. Values that stay there
// across blocks cost the compiler as much as locals do. For a module that is not valid the
// heights are wrong, but the engine refuses such a module.

// effects are the changes of the height by opcodes, except for control, calls and prefixed
// opcodes.
var effects = func() (t [256]int8) {
	set := func(from, to int, effect int8) {
		for op := from; op <= to; op++ {
			t[op] = effect
		}
	}
	t[opBrIf], t[opIf], t[opDrop], t[opSelect], t[0x1c] = -1, -1, -1, -2, -2
	t[opLocalGet], t[0x21], t[opGlobalGet], t[opGlobalSet], t[opTableSet] = 1, -1, 1, -1, -2
	set(0x36, 0x3e, -2) // stores
	set(opMemorySize, opMemorySize, 1)
	set(opI32Const, 0x44, 1)
	set(opI32Eq, 0x4f, -1) // comparisons, except eqz
	set(0x51, 0x66, -1)
	set(0x6a, 0x78, -1) // arithmetic, except unary operations
	set(0x7c, 0x8a, -1)
	set(0x92, 0x98, -1)
	set(0xa0, 0xa6, -1)
	t[opRefNull], t[opRefFunc] = 1, 1
	return t
}()

// miscEffects are the changes of the height by the opcodes behind 0xfc.
var miscEffects = [...]int8{miscMemoryInit: -3, miscMemoryCopy: -3, miscMemoryFill: -3, miscTableInit: -3,
	miscTableCopy: -3, miscTableGrow: -1, miscTableSize: 1, miscTableFill: -3}

// vectorEffects are the changes of the height by the opcodes behind 0xfd. Most of them take
// two values and leave one.
var vectorEffects = func() (t [256]int8) {
	for op := range t {
		t[op] = -1
	}
	set := func(effect int8, ops ...int) {
		for i := 0; i < len(ops); i += 2 {
			for op := ops[i]; op <= ops[i+1]; op++ {
				t[op] = effect
			}
		}
	}
	set(0, 0, 10, 15, 22, 24, 25, 27, 27, 29, 29, 31, 31, 33, 33, 77, 77, 83, 83, 92, 100, 103, 106, 116, 117, 122, 122, 124, 129,
		131, 132, 135, 138, 148, 148, 160, 161, 163, 164, 167, 170, 192, 193, 195, 196, 199, 202, 224, 225, 227, 227, 236, 237,
		239, 239, 248, 255)
	set(1, vecConst, vecConst)
	set(-2, 11, 11, 82, 82, 88, 91)
	return t
}()

// effect returns the change of the height by an instruction.
func (m *module) effect(in *instr) int {
	switch in.op {
	case opCall:
		return m.funcType(in.x).effect()
	case opCallIndirect:
		return m.types[in.x].effect() - 1
	case opMisc:
		if int(in.sub) < len(miscEffects) {
			return int(miscEffects[in.sub])
		}
	case opVector:
		if in.sub < 256 {
			return int(vectorEffects[in.sub])
		}
	}
	return int(effects[in.op])
}

// effect returns the change of the height by a call of such a function.
func (f FuncType) effect() int { return len(f.Results) - len(f.Params) }

// arity returns the number of parameters and results together.
func (f FuncType) arity() int { return len(f.Results) + len(f.Params) }

// funcType returns the type of a function.
func (m *module) funcType(i uint32) FuncType { return m.types[m.funcs[i]] }

// blockType returns the numbers of parameters and results of a block.
func (m *module) blockType(in *instr) (params, results int) {
	switch {
	case in.typed:
		return len(m.types[in.x].Params), len(m.types[in.x].Results)
	case in.value:
		return 0, 1
	}
	return 0, 0
}
