package offered

import (
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

func typeNames(ts []api.ValueType) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = api.ValueTypeName(t)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// What is said to be offered of WASI is what wazero offers.
func TestWASI(t *testing.T) {
	all := wazerox.WASIFunctions()
	if WASI != wazerox.WASIModule || len(all) != len(wasi) {
		t.Errorf("module %s with %d functions, wazero has %s with %d", WASI, len(wasi), wazerox.WASIModule, len(all))
	}
	for name, def := range all {
		got, ok := Function(WASI, name)
		if want := typeNames(def.ParamTypes()) + " -> " + typeNames(def.ResultTypes()); !ok || got != want {
			t.Errorf("%s is %s (want %s)", name, got, want)
		}
	}
}
