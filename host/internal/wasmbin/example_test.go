package wasmbin_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

func read(name string) []byte {
	bin, err := os.ReadFile("../../../testdata/wasm/meter/" + name)
	if err != nil {
		panic(err)
	}
	return bin
}

func ExampleInspect() {
	info, err := wasmbin.Inspect(read("indices.wasm"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, im := range info.Imports {
		fmt.Printf("imports %s %s.%s %v\n", im.Kind, im.Module, im.Name, im.Func)
	}
	fmt.Println("writes tables:", info.Uses.TableWrites)

	_, err = wasmbin.Inspect([]byte("\x7fELF\x02\x01\x01\x00"))
	fmt.Println(err)
	// Output:
	// imports func env.zero () -> (i32)
	// writes tables: true
	// not a WebAssembly module: an ELF executable or library (build for wasm, for Go with GOOS=wasip1 GOARCH=wasm)
}

func ExampleMeter() {
	metered, err := wasmbin.Meter(read("spin_loop.wasm"), wasmbin.MeterOptions{MaxMemoryPages: 1024})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)

	budget := errors.New("out of fuel")
	slices := 0
	tick := func(_ context.Context, stack []uint64) {
		if slices++; slices > 10 {
			panic(budget)
		}
		stack[0] = wasmbin.DefaultSlice
	}
	host := rt.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder()
	host.WithGoFunction(api.GoFunc(tick), nil, []api.ValueType{api.ValueTypeI64}).Export(wasmbin.TickName).Instantiate(ctx)

	guest, err := rt.Instantiate(ctx, metered)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = guest.ExportedFunction("run").Call(ctx)
	fmt.Println(errors.Is(err, budget))
	// Output: true
}
