package host

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// diskCode is a codeCache as package compile uses it.
type diskCode struct{ *codeCache }

// openCode opens the cache of machine code, nil if it cannot.
func (r *cacheRoot) openCode(ctx context.Context, features api.CoreFeatures) compile.CodeCache {
	c, err := openCodeCache(r)
	if err != nil {
		r.Log.Warn("machine code is not kept", "reason", err)
		return nil
	}
	c.features = features
	if err := c.begin(ctx); err != nil {
		r.Log.Info("machine code is not kept", "reason", err)
	}
	return diskCode{c}
}

// begin compiles the probe, so that the cache can identify the compiler by the machine code it
// makes.
func (c *codeCache) begin(ctx context.Context) error {
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(c.features).WithCompilationCache(c.wazero))
	defer rt.Close(ctx)
	defer c.clear()
	compiled, err := compile.Wasm(ctx, rt, []byte(probe))
	if err == nil {
		err = compiled.Close(ctx)
	}
	return errors.Join(err, c.identify())
}

// Wazero implements compile.CodeCache.
func (d diskCode) Wazero() wazero.CompilationCache { return d.wazero }

// Load implements compile.CodeCache.
func (d diskCode) Load(ctx context.Context, rt wazero.Runtime, key compile.Key, shell []byte) wazero.CompiledModule {
	return d.load(ctx, hex.EncodeToString(key[:]), shell, by(rt))
}

// Compile implements compile.CodeCache.
func (d diskCode) Compile(ctx context.Context, rt wazero.Runtime, key compile.Key, wasm, shell []byte) (wazero.CompiledModule, error) {
	return d.compile(ctx, rt, hex.EncodeToString(key[:]), wasm, shell)
}

// Close implements compile.CodeCache.
func (d diskCode) Close(ctx context.Context) error {
	defer d.close()
	return d.wazero.Close(ctx)
}

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
func (c *codeCache) try(ctx context.Context, rt wazero.Runtime) (works, tried bool) {
	info, err := wasmbin.Inspect([]byte(probe))
	if err != nil {
		return false, false
	}
	whole, err := wasmbin.Prepare([]byte(probe), meterOptions())
	if err != nil {
		return false, false
	}
	shell, err := wasmbin.Shell([]byte(probe), info.Facts(), meterOptions(), "probe")
	if err != nil {
		return false, false
	}
	compiled, code, _, err := c.compileApart(ctx, whole.Wasm, by(rt))
	if err != nil {
		return false, false
	}
	defer compiled.Close(ctx)
	name := c.nameOf(ctx, "probe", shell.Wasm, by(rt))
	path := filepath.Join(c.files, name)
	if code == "" || name == "" || os.Rename(code, path) != nil {
		return false, false
	}
	defer c.clear()
	return runsShell(ctx, rt, shell.Wasm, path), true
}

// runsShell reports whether the shell of the probe runs the machine code at path.
func runsShell(ctx context.Context, rt wazero.Runtime, shell []byte, path string) bool {
	o := &offer{path: path}
	var err error
	if o.file, err = os.Stat(path); err != nil {
		return false
	}
	compiled, err := compile.Wasm(ctx, rt, shell)
	if err != nil {
		return false
	}
	defer compiled.Close(ctx)
	if same, err := o.same(); err != nil || !same {
		return false
	}
	mod, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
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
