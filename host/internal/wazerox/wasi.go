package wazerox

import (
	"context"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// WASIModule is the name of the module of WASI.
const WASIModule = wasi_snapshot_preview1.ModuleName

// WASIFunctions are the WASI functions of wazero by name, none if it has none.
var WASIFunctions = sync.OnceValue(func() map[string]api.FunctionDefinition {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	compiled, err := wasi_snapshot_preview1.NewBuilder(rt).Compile(ctx)
	if err != nil {
		return nil
	}
	return compiled.ExportedFunctions()
})

// GoFunction is the Go function behind a WASI function, which can be called on any instance
// with a memory. wazero promises the definition alone.
func GoFunction(def api.FunctionDefinition) (api.GoModuleFunction, error) {
	fn, ok := def.GoFunction().(api.GoModuleFunction)
	if !ok {
		return nil, fmt.Errorf("WASI function %s is a %T (this build of wazero cannot serve it)", def.Name(), def.GoFunction())
	}
	return fn, nil
}
