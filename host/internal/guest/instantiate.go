package guest

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/offered"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Start makes an instance. With an image it starts from that. Otherwise its start section,
// _initialize or __wasm_call_ctors, hs_init and anchor_init run, all under the limits of init.
// session says that it belongs to a session. The error is a *Failure.
func (e *Environment) Start(ctx context.Context, session bool) (*Instance, error) {
	if im := e.Image; im != nil {
		return e.make(ctx, session, im, func(in *Instance) error { return in.fromImage(im) })
	}
	warm := e.Resets && !e.withoutWarmUp
	in, err := e.make(ctx, session, nil, func(in *Instance) error {
		if err := in.begun(); err != nil {
			return err
		}
		return in.initialize(ctx)
	})
	if err != nil || !warm || in.warmUp(ctx) == nil {
		return in, err
	}
	in.Close()
	e.withoutWarmUp = true
	return e.Start(ctx, session)
}

// StartBare makes an instance in which nothing but the start section has run. The error is a
// *Failure.
func (e *Environment) StartBare(ctx context.Context) (*Instance, error) {
	return e.make(ctx, false, nil, (*Instance).begun)
}

// The warm-up is optional, and may take little. Fuel bounds it, so that whether there is one, and what
// the first call costs, does not depend on how busy the machine is. A guest without fuel has warmTime.
const (
	warmFuel = 200_000_000
	warmTime = 250 * time.Millisecond
)

// NoWarmUp is what the log says of a warm-up that failed.
const NoWarmUp = "no warm-up"

// warmUp asks the guest for room for a request before the image is made. The image then
// contains the heap that the guest sets up for this, which each call from the image would
// otherwise have to do again. After an error the instance must be replaced by one without a
// warm-up.
func (in *Instance) warmUp(ctx context.Context) error {
	if !in.Exchange.hasBox {
		return nil
	}
	b := &in.Env.Limits
	if in.Guest.fuel != nil {
		in.Begin(ctx, b.InitTimeout, min(warmFuel, b.Fuel))
	} else {
		in.Begin(ctx, min(warmTime, b.Timeout), b.Fuel)
	}
	defer in.Call.End()
	err := in.run(abi.ReserveExport, warmRoom)
	in.Stacks.chargeStacks()
	in.Memory.start = uint64(in.Guest.Size())
	if err != nil {
		in.Env.Log.Debug(NoWarmUp, "error", err)
	}
	return err
}

// warmRoom is the size that the warm-up asks for, in bytes: enough for a few hundred rows.
// ABI.md states it.
const warmRoom = 64 << 10

// make instantiates the module, with the memory of an image unless from is nil, and calls
// prepare. The error is a *Failure. It wraps ErrNoRoom if the host has no place or no memory.
func (e *Environment) make(ctx context.Context, session bool, from *Image, prepare func(*Instance) error) (*Instance, error) {
	in := &Instance{Env: e, ofSession: session, Memory: memory{env: e}, Stacks: stacks{env: e, funcs: map[string]api.Function{}}}
	in.Stacks.memory = &in.Memory
	if !e.Share.Enter(session) {
		return nil, Explain(nil, NoPlace(e.Limits.Instances))
	}
	in.newMemory(from)
	in.Stacks.openStack()
	in.Call.Instance, in.Call.Turn = in, e.Account.Turn()
	if err := in.Stacks.takeStack(); err != nil {
		in.Stacks.closeStack()
		in.Guest.lin.Free()
		e.Share.Leave(session)
		return nil, Explain(nil, err)
	}
	in.WASI.Init(&in.Call, e.WASI)
	began := time.Now()
	defer in.Call.End()
	if err := in.open(ctx, from, prepare); err != nil {
		f := Explain(in, InInit(err))
		if in.Memory.HostFull {
			f.Err = errkind.As(ErrNoRoom, f.Err)
		}
		in.Close()
		return nil, f
	}
	in.Stacks.chargeStacks()
	in.Memory.start = uint64(in.Guest.Size())
	took := time.Since(began)
	if from != nil { // otherwise most of it is the guest's work, which is charged already
		e.Account.Charge(took)
	}
	in.Life.counted = true
	e.Owner.Made(from != nil, took)
	return in, nil
}

// open instantiates the module and calls prepare, under the limits of init. The caller ends the
// state of the call.
func (in *Instance) open(ctx context.Context, from *Image, prepare func(*Instance) error) error {
	ctx, err := in.openKernel(ctx)
	if err == nil {
		err = in.Memory.takeTables()
	}
	if err != nil {
		return err
	}
	in.Begin(ctx, in.Env.Limits.InitTimeout, in.Env.Limits.InitFuel)
	if err := in.instantiate(ctx, from); err != nil {
		return err
	}
	return prepare(in)
}

// openKernel makes the instance's kernel. It returns the context for instantiating the guest,
// which links it to the kernel if the kernel is a module.
func (in *Instance) openKernel(ctx context.Context) (context.Context, error) {
	in.Extism.local = kernel.NewLocal(in.Memory.resizeKernel)
	in.Extism.Kernel = in.Extism.local
	if in.Env.Kernels == nil {
		return ctx, nil
	}
	lin := linear.New(uint64(in.Env.Limits.Memory)+kernel.PageSize, in.Memory.account)
	mod, k, err := in.Env.Kernels.open(wazerox.WithMemory(ctx, &countedMemory{Memory: lin, room: &in.Memory.room, free: kernel.PageSize}))
	if err != nil {
		lin.Free()
		if in.Memory.HostFull { // wazero's error does not name the cause
			what, _ := in.Memory.noRoom()
			err = Faultf(abi.ReasonMemory, "%s for the memory of the Extism functions", what)
		}
		return ctx, err
	}
	in.Extism.Kernel, in.Extism.kernelModule, in.Extism.local = k, mod, nil
	return wazerox.Resolving(ctx, func(module string) api.Module {
		if module == abi.EnvModule || module == offered.OldEnv {
			return mod
		}
		return nil
	}), nil
}

// takeTables charges for the tables of the instance and of its links at their largest size.
func (m *memory) takeTables() error {
	n := m.env.Tables
	if !m.account(n) {
		what, _ := m.noRoom()
		return Faultf(abi.ReasonMemory, "%s for its tables, %s", what, units.FormatSize(n))
	}
	m.tables = n
	return nil
}

// newMemory makes the memory of the instance, with the content of an image unless from is nil.
func (in *Instance) newMemory(from *Image) {
	in.Memory.room.limit = in.Env.Limits.Memory
	switch {
	case !in.Env.Features.On(wazerox.Memories):
		in.Guest.lin, in.Memory.foreign = linear.NewForeign(in.Memory.account), true
	case from == nil || from.memory == nil:
		in.Guest.lin = in.Memory.newLinear(in.Env.Code)
	default:
		in.Guest.lin, in.Guest.filled = in.newShare(from.memory)
	}
}

// newLinear makes the memory of a module. Its limit is 0 if the module has no memory of its
// own.
func (m *memory) newLinear(of *Code) *linear.Memory {
	if !of.Memory {
		return linear.New(0, m.account)
	}
	return linear.New(uint64(m.env.Limits.Memory), m.account)
}

// bind makes wazero use the instance's memory, unless wazero allocates memories itself.
func (in *Instance) bind(ctx context.Context) context.Context {
	if in.Memory.foreign {
		return ctx
	}
	return wazerox.WithMemory(ctx, &countedMemory{Memory: in.Guest.lin, room: &in.Memory.room})
}

// begun writes the data segments that were taken out of the module, and runs the start
// section.
func (in *Instance) begun() error {
	if err := in.Guest.writeData(in.Env.Code); err != nil {
		return err
	}
	if !in.Env.Code.Open.Start {
		return nil
	}
	return in.run(wasmbin.StartExport)
}

// instantiate makes the links and then the guest, with the memories of an image unless from is
// nil.
func (in *Instance) instantiate(ctx context.Context, from *Image) error {
	ctx, err := in.openLinks(ctx, from)
	if err != nil {
		return err
	}
	in.Call.Context = in.bind(ctx)
	if in.Guest.mod, err = in.instantiateModule(in.Env.Code); err != nil {
		return err
	}
	if err := in.Guest.find(in.Env.Code); err != nil {
		return err
	}
	var ok bool
	if in.Memory.denied, ok = in.Guest.mod.ExportedGlobal(wasmbin.DeniedExport).(api.MutableGlobal); !ok {
		return errors.New("the module lost its note of refused memory")
	}
	if err := in.observe(); err != nil {
		return err
	}
	if in.Env.Descriptors {
		if err := in.WASI.Watch(in.Guest.mod, in.Env.Features.On(wazerox.OpenFiles)); err != nil { // descriptors may be free later
			return &Fault{Reason: abi.ReasonBusy, Err: err, Remedy: moreFiles}
		}
	}
	return in.Late()
}

// moduleConfig is what the configurations of all modules have in common. Nothing starts by
// itself.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// instantiateModule makes a wazero instance of m. It turns panics of wazero into errors, such
// as that of a memory for which the host has no room.
func (in *Instance) instantiateModule(m *Code) (mod api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			mod, err = nil, in.noStart(r)
		}
	}()
	return in.Env.Runtime.InstantiateModule(&in.Call, m.Compiled, in.WASI.Configure(moduleConfig))
}

// noStart is the fault of an instance that wazero could not make. panicked is what wazero
// panicked with.
func (in *Instance) noStart(panicked any) *Fault {
	if in.Memory.HostFull {
		what, _ := in.Memory.noRoom()
		return Faultf(abi.ReasonMemory, "%s for the memory it starts with", what)
	}
	return Faultf(abi.ReasonMemory, "no room for the memory it starts with: %v", panicked)
}

// initialize starts the guest's language runtime and then runs the plugin's init.
func (in *Instance) initialize(ctx context.Context) error {
	e := in.Env
	in.Begin(ctx, e.Limits.InitTimeout, e.Limits.InitFuel)
	defer in.Call.End()
	for _, name := range e.Code.starters() {
		if err := in.run(name); err != nil {
			return err
		}
	}
	if e.Code.Exports("hs_init") {
		if err := in.run("hs_init", 0, 0); err != nil {
			return err
		}
	}
	if e.Foreign {
		return nil
	}
	if err := in.findMailbox(); err != nil {
		return err
	}
	if !e.Code.Exports(abi.OpInit.JSONExport()) {
		return nil
	}
	_, _, err := in.CallDocument(abi.OpInit.JSONExport(), e.InitRequest, false)
	e.Record.EndInit(in.Call.Record)
	return err
}

// findMailbox asks the guest where its mailbox is.
func (in *Instance) findMailbox() error {
	if !in.Env.Code.Exports(abi.MailboxExport) {
		return nil
	}
	if err := in.run(abi.MailboxExport); err != nil {
		return err
	}
	in.Exchange.mailbox, in.Exchange.hasBox = uint32(in.Exchange.args[0]), true
	return in.CheckMailbox()
}

// CheckMailbox checks that the guest's mailbox can be read, if it has one.
func (in *Instance) CheckMailbox() error {
	if !in.Exchange.hasBox {
		return nil
	}
	_, err := readMailbox(in.Guest.mem, in.Exchange.mailbox)
	return err
}
