package host

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// A module whose machine code is cached is made from its shell; see wasmbin.Shell. Its code is
// then not decoded, metered and checked again.

// codeFormat must change when cached files are made in another way. Changes of wasmbin need no
// new one.
const codeFormat = "3"

// probe is a module whose function probe returns 40, using a call, a table, a global and a
// memory.
const probe = "\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" + // type 0: () -> i32
	"\x03\x03\x02\x00\x00" + // functions 0 and 1
	"\x04\x04\x01\x70\x00\x01" + // a table of one
	"\x05\x03\x01\x00\x01" + // a memory of one page
	"\x06\x06\x01\x7f\x01\x41\x02\x0b" + // a mutable global of 2
	"\x07\x09\x01\x05probe\x00\x00" +
	"\x09\x07\x01\x00\x41\x00\x0b\x01\x01" + // function 1 in the table
	"\x0a\x14\x02" +
	"\x0a\x00\x41\x00\x11\x00\x00\x23\x00\x6c\x0b" + // table[0]() * global
	"\x07\x00\x41\x14\x3f\x00\x6c\x0b" // 20 * pages

// try finds out whether wazero executes the machine code under the name of a shell. The caller
// has the cache to itself.
func (e *engine) try(ctx context.Context) (works, tried bool) {
	c := e.cache
	info, err := wasmbin.Inspect([]byte(probe))
	if err != nil {
		return false, false
	}
	whole, err := wasmbin.Prepare([]byte(probe), meterOptions(wasmbin.Bounds{}, 0))
	if err != nil {
		return false, false
	}
	shell, err := wasmbin.Shell([]byte(probe), info.Facts(), meterOptions(wasmbin.Bounds{}, 0), "probe")
	if err != nil {
		return false, false
	}
	compiled, code, _, err := c.compileApart(ctx, whole.Wasm, e.compileModule)
	if err != nil {
		return false, false
	}
	defer compiled.Close(ctx)
	name := c.nameOf(ctx, "probe", shell.Wasm, e.compileModule)
	path := filepath.Join(c.files, name)
	if code == "" || name == "" || os.Rename(code, path) != nil {
		return false, false
	}
	defer c.clear()
	return e.runsShell(ctx, shell.Wasm, path), true
}

// runsShell reports whether the shell of the probe runs the machine code at path.
func (e *engine) runsShell(ctx context.Context, shell []byte, path string) bool {
	o := &offer{path: path}
	var err error
	if o.file, err = os.Stat(path); err != nil {
		return false
	}
	compiled, err := e.compileModule(ctx, shell)
	if err != nil {
		return false
	}
	defer compiled.Close(ctx)
	if same, err := o.same(); err != nil || !same {
		return false
	}
	mod, err := e.rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return false
	}
	defer mod.Close(ctx)
	if fuel, ok := mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); ok {
		fuel.Set(wasmbin.DefaultSlice)
	}
	r, err := mod.ExportedFunction("probe").Call(ctx)
	return err == nil && len(r) == 1 && r[0] == 40
}
