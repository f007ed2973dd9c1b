package tables

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// probe is a module that shows what its table holds, and of which instance that is:
//
//	(type $get (func (result i32)))
//	(table 3 funcref)
//	(global $g (export "g") (mut i32) (i32.const 0))
//	(func $a (type $get) (global.get $g))
//	(func $b (type $get) (i32.add (global.get $g) (i32.const 1)))
//	(func (export "c") (param i32) (result i32) (call_indirect (type $get) (local.get 0)))
//	(elem (i32.const 1) $a $b)
var probe = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f" +
	"\x03\x04\x03\x00\x00\x01" +
	"\x04\x04\x01\x70\x00\x03" +
	"\x06\x06\x01\x7f\x01\x41\x00\x0b" +
	"\x07\x09\x02\x01g\x03\x00\x01c\x00\x02" +
	"\x09\x08\x01\x00\x41\x01\x0b\x02\x00\x01" +
	"\x0a\x16\x03\x04\x00\x23\x00\x0b\x07\x00\x23\x00\x41\x01\x6a\x0b\x07\x00\x20\x00\x11\x00\x00\x0b")

// Works tries out on a runtime whether tables can be filled: what was taken must be
// gone, and the functions must be those of the instance whose table it is.
func Works(ctx context.Context, rt wazero.Runtime) (works bool) {
	defer func() {
		if recover() != nil {
			works = false
		}
	}()
	compiled, err := rt.CompileModule(ctx, probe)
	if err != nil {
		return false
	}
	defer compiled.Close(ctx)
	e := Take(compiled)
	if e == nil || len(e.segments) != 1 {
		return false
	}
	var mods [2]api.Module
	for i := range mods {
		mods[i], err = rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			return false
		}
		defer mods[i].Close(ctx)
		if _, ok := call(ctx, mods[i], 1); ok || e.Fill(mods[i]) != nil {
			return false
		}
	}
	for i, mod := range mods {
		mod.ExportedGlobal("g").(api.MutableGlobal).Set(uint64(10 * (i + 1)))
	}
	for i, mod := range mods {
		_, zero := call(ctx, mod, 0)
		a, ok := call(ctx, mod, 1)
		b, too := call(ctx, mod, 2)
		if want := uint64(10 * (i + 1)); zero || !ok || !too || a != want || b != want+1 {
			return false
		}
	}
	return true
}

// call calls what lies at a place in the table.
func call(ctx context.Context, mod api.Module, at uint64) (result uint64, ok bool) {
	r, err := mod.ExportedFunction("c").Call(ctx, at)
	return append(r, 0)[0], err == nil
}
