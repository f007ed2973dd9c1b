package imports_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Functions that no guest could import, that take the place of the host's own, or that are
// there twice, are refused.
func TestBadFunctions(t *testing.T) {
	f := func(module, name string) imports.Function {
		return imports.Function{Module: module, Name: name, Call: func(context.Context, *guest.Call, []uint64) error { return nil }}
	}
	odd := f("m", "f")
	odd.Params = []abi.ValueType{0x7b}
	for _, fs := range [][]imports.Function{
		{{Module: "m", Name: "f"}}, {f("", "f")}, {f("m", "")}, {f("m", "f"), f("m", "f")}, {odd},
		{f("extism:host/env", "alloc")}, {f("env", "extism_alloc")}, {f("wasi_snapshot_preview1", "fd_write")},
		{f("anchor:meter", "tick")}, {f(abi.UserModule, "anchor_kv_get")},
	} {
		if err := imports.Check(fs); !errors.Is(err, spec.ErrConfig) {
			t.Errorf("%s.%s: error %v, want spec.ErrConfig", fs[0].Module, fs[0].Name, err)
		}
	}
	if err := imports.Check([]imports.Function{f("m", "f"), f("m", "g"), f(abi.UserModule, "f")}); err != nil {
		t.Errorf("good functions: %v", err)
	}
}
