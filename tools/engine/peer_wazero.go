package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/anchor-host/anchor-host/abi"
)

// plainWazero is the name in rows.
const plainWazero = "plain wazero"

// plain runs a module on wazero alone: without a meter, timeout or limits, and with wazero's
// own memory. It has only as much of Extism's functions, in Go, as the programs need.
type plain struct {
	rt       wazero.Runtime
	compiled wazero.CompiledModule
	extism   plainExtism
	inst     api.Module
	funcs    map[string]api.Function
}

// newPlain compiles a module and makes an instance. It keeps both until the row is measured.
func (s *suite) newPlain(ctx context.Context, wasm []byte) (*plain, error) {
	features := api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst
	p := &plain{rt: wazero.NewRuntimeWithConfig(ctx, s.peerConfig().WithCoreFeatures(features))}
	s.later(func() {
		if err := p.rt.Close(context.Background()); err != nil {
			s.progress("close %s: %v", plainWazero, err)
		}
	})
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.rt); err != nil {
		return nil, err
	}
	if err := p.extism.offer(ctx, p.rt); err != nil {
		return nil, err
	}
	var err error
	if p.compiled, err = p.rt.CompileModule(ctx, wasm); err != nil {
		return nil, err
	}
	return p, p.renew(ctx)
}

// renew replaces the instance by a new one.
func (p *plain) renew(ctx context.Context) error {
	if p.inst != nil {
		if err := p.inst.Close(ctx); err != nil {
			return err
		}
	}
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize", "__wasm_call_ctors").WithSysNanotime().WithSysWalltime()
	inst, err := p.rt.InstantiateModule(ctx, p.compiled, cfg)
	p.inst, p.funcs = inst, map[string]api.Function{}
	return err
}

func (p *plain) call(ctx context.Context, function string, input []byte) ([]byte, error) {
	f := p.funcs[function]
	if f == nil {
		if f = p.inst.ExportedFunction(function); f == nil {
			return nil, fmt.Errorf("%s: no export %q", plainWazero, function)
		}
		p.funcs[function] = f
	}
	p.extism.begin(input)
	var stack [1]uint64
	if err := f.CallWithStack(ctx, stack[:]); err != nil {
		return nil, err
	}
	if int32(stack[0]) != 0 || p.extism.failed {
		return nil, fmt.Errorf("%s: %s: status %d", plainWazero, function, int32(stack[0]))
	}
	return append([]byte(nil), p.extism.output...), nil
}

// plainExtism has enough of Extism for programs that read an input and set an output. It
// never reuses memory blocks.
type plainExtism struct {
	data   []byte
	used   uint64
	input  []byte
	output []byte
	failed bool
}

func (x *plainExtism) begin(input []byte) {
	if x.data == nil {
		x.data = make([]byte, 16<<20)
	}
	x.used, x.output, x.failed = 8, nil, false
	at := x.alloc(uint64(len(input)))
	x.input = x.data[at : at+uint64(len(input))]
	copy(x.input, input)
}

// alloc returns the address of n bytes. The number n is stored before them.
func (x *plainExtism) alloc(n uint64) uint64 {
	binary.LittleEndian.PutUint64(x.data[x.used:], n)
	at := x.used + 8
	x.used = (at + n + 7) &^ 7
	return at
}

// offer instantiates the functions. Functions that the programs do not need return 0.
func (x *plainExtism) offer(ctx context.Context, rt wazero.Runtime) error {
	le := binary.LittleEndian
	funcs := map[string]func(s []uint64){
		"alloc":          func(s []uint64) { s[0] = x.alloc(s[0]) },
		"free":           func([]uint64) {},
		"length":         func(s []uint64) { s[0] = le.Uint64(x.data[s[0]-8:]) },
		"load_u8":        func(s []uint64) { s[0] = uint64(x.data[s[0]]) },
		"load_u64":       func(s []uint64) { s[0] = le.Uint64(x.data[s[0]:]) },
		"store_u8":       func(s []uint64) { x.data[s[0]] = byte(s[1]) },
		"store_u64":      func(s []uint64) { le.PutUint64(x.data[s[0]:], s[1]) },
		"input_length":   func(s []uint64) { s[0] = uint64(len(x.input)) },
		"input_offset":   func(s []uint64) { s[0] = 16 },
		"input_load_u8":  func(s []uint64) { s[0] = uint64(x.input[s[0]]) },
		"input_load_u64": func(s []uint64) { s[0] = le.Uint64(x.input[s[0]:]) },
		"output_set":     func(s []uint64) { x.output = x.data[s[0] : s[0]+s[1]] },
		"error_set":      func([]uint64) { x.failed = true },
	}
	modules := map[string]wazero.HostModuleBuilder{}
	for _, im := range abi.Imports {
		f := funcs[im.Name]
		if f == nil {
			f = func(s []uint64) { clear(s[:min(1, len(s))]) }
		}
		if modules[im.Module] == nil {
			modules[im.Module] = rt.NewHostModuleBuilder(im.Module)
		}
		modules[im.Module].NewFunctionBuilder().
			WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { f(s) }), valueTypes(im.Params), valueTypes(im.Results)).
			Export(im.Name)
	}
	var errs []error
	for _, m := range modules {
		_, err := m.Instantiate(ctx)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func valueTypes(types []abi.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(types))
	for i, t := range types {
		out[i] = api.ValueType(t)
	}
	return out
}
