package kernel

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// A stub traps until it is filled, then calls the real functions.
func TestStub(t *testing.T) {
	ctx := t.Context()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(context.Background())
	_, err := rt.NewHostModuleBuilder(FillFrom).NewFunctionBuilder().WithGoFunction(api.GoFunc(
		func(_ context.Context, s []uint64) { s[0] -= s[1] }), []api.ValueType{0x7e, 0x7e}, []api.ValueType{0x7e}).Export("minus").
		NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), nil, nil).Export("nothing").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	functions := []Function{{"nothing", nil, nil}, {"minus", []byte{0x7e, 0x7e}, []byte{0x7e}}}
	stub, err := rt.Instantiate(ctx, Stub(functions))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stub.ExportedFunction("minus").Call(ctx, 7, 5); err == nil {
		t.Error("an empty stub answers")
	}
	_, err = rt.Instantiate(experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == FillModule {
			return stub
		}
		return nil // the host's module
	}), Filler(functions))
	if err != nil {
		t.Fatal(err)
	}
	r, err := stub.ExportedFunction("minus").Call(ctx, 7, 5)
	if err != nil || r[0] != 2 {
		t.Errorf("7 - 5 = %v, error %v", r, err)
	}
}
