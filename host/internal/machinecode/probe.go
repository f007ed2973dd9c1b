package machinecode

import (
	"bytes"
	"context"
	"runtime"

	"github.com/tetratelabs/wazero"
)

// probe is a module with code:
//
//	(func (export "f") (result i32) (i32.const 42))
var probe = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" +
	"\x03\x02\x01\x00" +
	"\x07\x05\x01\x01f\x00\x00" +
	"\x0a\x06\x01\x04\x00\x41\x2a\x0b")

// Works tries out on a runtime whether code can be given back: when the last of those
// who compiled a module closes it, not before, and so that it can be compiled again.
func Works(ctx context.Context, rt wazero.Runtime) bool {
	if !discards {
		return false
	}
	first, err := rt.CompileModule(ctx, probe)
	if err != nil {
		return false
	}
	c, found := find(first)
	if !found {
		_ = first.Close(ctx)
		return false
	}
	defer runtime.KeepAlive(c.owner)
	second, err := rt.CompileModule(ctx, probe)
	if err != nil {
		_ = first.Close(ctx)
		return false
	}
	whole := bytes.Clone(c.bytes)
	kept := Close(ctx, first) == nil && bytes.Equal(c.bytes, whole)
	gone := Close(ctx, second) == nil && bytes.Equal(c.bytes, make([]byte, len(whole))) && bytes.Equal(c.entries, make([]byte, len(c.entries)))
	return kept && gone && runs(ctx, rt)
}

// runs reports whether the probe works when it is compiled anew.
func runs(ctx context.Context, rt wazero.Runtime) bool {
	mod, err := rt.InstantiateWithConfig(ctx, probe, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return false
	}
	defer mod.Close(ctx)
	r, err := mod.ExportedFunction("f").Call(ctx)
	return err == nil && len(r) == 1 && r[0] == 42
}
