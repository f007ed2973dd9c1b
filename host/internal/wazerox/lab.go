package wazerox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// lab is a runtime on which features are tried out.
type lab struct {
	ctx      context.Context
	rt       wazero.Runtime
	compiled wazero.CompiledModule
	// interpreted says that guests are interpreted.
	interpreted bool
}

// probe is a guest of the lab:
//
//	(import "probe" "call" (func $call (param i32) (result i32)))
//	(memory (export "memory") 1 4)
//	(func $deep (export "deep") (param i64) (result i64) ;; n, by n calls of itself
//	  (if (result i64) (i64.eqz (local.get 0))
//	    (then (i64.const 0))
//	    (else (i64.add (call $deep (i64.sub (local.get 0) (i64.const 1))) (i64.const 1)))))
//	(func $calls (export "calls") (param i64) (result i64) ;; n more than the host says of a memory that grew
//	  (if (result i64) (i64.eqz (local.get 0))
//	    (then (drop (memory.grow (i32.const 1))) (i64.extend_i32_u (call $call (memory.size))))
//	    (else (i64.add (call $calls (i64.sub (local.get 0) (i64.const 1))) (i64.const 1)))))
//	(func (export "size") (result i32) (memory.size))
//	(func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
//	(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
//	(func (export "trap") (result i32) (unreachable))
//	(func (export "host") (param i32) (result i32) (call $call (local.get 0)))
const probe = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0f\x03\x60\x01\x7f\x01\x7f\x60\x01\x7e\x01\x7e\x60\x00\x01\x7f" +
	"\x02\x0e\x01\x05probe\x04call\x00\x00" +
	"\x03\x08\x07\x01\x01\x02\x00\x00\x02\x00" +
	"\x05\x04\x01\x01\x01\x04" +
	"\x07\x3c\x08\x06memory\x02\x00\x04deep\x00\x01\x05calls\x00\x02\x04size\x00\x03\x04load\x00\x04\x04grow\x00\x05\x04trap\x00\x06\x04host\x00\x07" +
	"\x0a\x54\x07" +
	"\x15\x00\x20\x00\x50\x04\x7e\x42\x00\x05\x20\x00\x42\x01\x7d\x10\x01\x42\x01\x7c\x0b\x0b" +
	"\x1d\x00\x20\x00\x50\x04\x7e\x41\x01\x40\x00\x1a\x3f\x00\x10\x00\xad\x05\x20\x00\x42\x01\x7d\x10\x02\x42\x01\x7c\x0b\x0b" +
	"\x04\x00\x3f\x00\x0b\x07\x00\x20\x00\x2d\x00\x00\x0b\x06\x00\x20\x00\x40\x00\x0b\x03\x00\x00\x0b\x06\x00\x20\x00\x10\x00\x0b"

// errStop is what the host function of the lab panics with.
var errStop = errors.New("stopped by the host")

// newLab makes a runtime with the host function of the probe, and compiles the probe.
func newLab(ctx context.Context, interpreted bool) (*lab, error) {
	cfg := wazero.NewRuntimeConfig()
	if interpreted {
		cfg = wazero.NewRuntimeConfigInterpreter()
	}
	cfg = cfg.WithCoreFeatures(api.CoreFeaturesV2 | tailCall | extendedConst)
	l := &lab{ctx: ctx, rt: wazero.NewRuntimeWithConfig(ctx, cfg), interpreted: interpreted}
	_, err := l.rt.NewHostModuleBuilder("probe").NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(call), []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}).
		Export("call").Instantiate(ctx)
	if err == nil {
		l.compiled, err = l.rt.CompileModule(ctx, []byte(probe))
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() { _ = l.rt.Close(l.ctx) }

// call is given the size of the memory in pages. It returns twice that if it and the
// guest, which it asks in turn, see it too, otherwise 0. For none it panics.
func call(ctx context.Context, mod api.Module, stack []uint64) {
	pages := uint64(uint32(stack[0]))
	if pages == 0 {
		panic(errStop)
	}
	stack[0] = 0
	if r, err := mod.ExportedFunction("size").Call(ctx); err == nil && r[0] == pages && uint64(mod.Memory().Size()) == pages<<16 {
		stack[0] = 2 * pages
	}
}

// unnamed is how guests of the lab are instantiated, as often as needed.
var unnamed = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// guest makes an instance of the probe.
func (l *lab) guest(ctx context.Context) (api.Module, error) {
	return l.rt.InstantiateModule(ctx, l.compiled, unnamed)
}

// check calls a function that must return want.
func check(ctx context.Context, fn api.Function, want uint64, args ...uint64) error {
	r, err := fn.Call(ctx, args...)
	if err != nil {
		return err
	}
	if len(r) != 1 || r[0] != want {
		return fmt.Errorf("%s(%v) is %v (want %d)", fn.Definition().ExportNames(), args, r, want)
	}
	return nil
}
