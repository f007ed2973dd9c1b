package machinecode

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"
)

func compile(t *testing.T, rt wazero.Runtime) wazero.CompiledModule {
	t.Helper()
	m, err := rt.CompileModule(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The compiler's code is given back where the system can, an interpreter has none.
func TestWorks(t *testing.T) {
	compiler := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler())
	defer compiler.Close(t.Context())
	if got := Works(t.Context(), compiler); got != discards {
		t.Errorf("works: %t", got)
	}
	interpreter := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer interpreter.Close(t.Context())
	if Works(t.Context(), interpreter) {
		t.Error("an interpreter has code")
	}
}

// Code that others use stays, and goes with the last of them.
func TestCloseKeepsWhatIsUsed(t *testing.T) {
	if !discards {
		t.Skip("pages cannot be given back")
	}
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler())
	defer rt.Close(t.Context())
	first := compile(t, rt)
	c, found := find(first)
	if !found {
		t.Fatal("no code")
	}
	defer runtime.KeepAlive(c.owner)
	second, third := compile(t, rt), compile(t, rt)
	mod, err := rt.InstantiateModule(t.Context(), third, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []wazero.CompiledModule{first, second} {
		if err := Close(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if r, err := mod.ExportedFunction("f").Call(t.Context()); err != nil || r[0] != 42 {
			t.Fatalf("result %v, error %v", r, err)
		}
	}
	if err := mod.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Close(t.Context(), third); err != nil || !bytes.Equal(c.bytes, make([]byte, len(c.bytes))) {
		t.Errorf("error %v, or the code is still there", err)
	}
	if _, found := find(third); found {
		t.Error("a closed module has code")
	}
	if !runs(t.Context(), rt) {
		t.Error("the module does not work when it is compiled again")
	}
}
