package codecache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// errRefuted is the error of a trial that showed that wazero does not do so.
var errRefuted = errors.New("wazero does not use the machine code under the name of a shell")

// try returns nil if wazero executes the machine code under the name of a shell. It finds that
// out once. A trial that was hindered, as by a full disk, is made again the next time.
func (c *Cache) try(ctx context.Context) error {
	c.trial.mu.Lock()
	defer c.trial.mu.Unlock()
	switch {
	case c.trial.works:
		return nil
	case c.trial.done:
		return errRefuted
	}
	err := c.tryOnce(context.WithoutCancel(ctx))
	c.trial.works, c.trial.done = err == nil, err == nil || errors.Is(err, errRefuted)
	switch {
	case err == nil:
		return nil
	case c.trial.done:
		c.o.Refuted()
	}
	return fmt.Errorf("trial of shells: %s", err.Error()) // no refusal of the module
}

// tryOnce makes the trial with a wazero of its own, because one that failed to write a file
// keeps the module in its memory.
func (c *Cache) tryOnce(ctx context.Context) error {
	info, err := wasmbin.Inspect([]byte(probe))
	if err != nil {
		return err
	}
	whole, err := wasmbin.Prepare([]byte(probe), c.o.Meter)
	if err != nil {
		return err
	}
	shell, err := wasmbin.Shell([]byte(probe), info.Facts(), c.o.Meter, "probe")
	if err != nil {
		return err
	}
	a, err := c.openApart(ctx)
	if err != nil {
		return err
	}
	defer a.close(ctx)
	code, _, err := a.machineCode(ctx, whole.Wasm)
	if err != nil {
		return err
	}
	name, err := a.nameOf(ctx, shell.Wasm)
	if err != nil {
		return err
	}
	o := &offer{path: filepath.Join(a.files, name)}
	if err = os.Rename(code, o.path); err == nil {
		o.file, err = os.Stat(o.path)
	}
	if err != nil {
		return err
	}
	return a.runs(ctx, shell.Wasm, o)
}

// runs returns nil if the shell of the probe runs the offered machine code.
func (a *apart) runs(ctx context.Context, shell []byte, o *offer) error {
	compiled, err := a.compile(ctx, shell)
	if ofFile(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errRefuted, err)
	}
	if same, err := o.same(); err != nil {
		return err
	} else if !same {
		return errRefuted
	}
	if err := meter(ctx, a.rt); err != nil {
		return err
	}
	mod, err := a.rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return fmt.Errorf("%w: %w", errRefuted, err)
	}
	if fuel, ok := mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); ok {
		fuel.Set(wasmbin.DefaultSlice)
	}
	r, err := mod.ExportedFunction("probe").Call(ctx)
	if err != nil || len(r) != 1 || r[0] != 40 {
		return errRefuted
	}
	return nil
}

// meter instantiates the function that metered code imports. The probe has the fuel not to
// call it.
func meter(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), nil, []api.ValueType{api.ValueTypeI64}).
		Export(wasmbin.TickName).Instantiate(ctx)
	return err
}
