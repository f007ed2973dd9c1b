package host

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// start makes an instance. With an image it starts from that. Otherwise its start section,
// _initialize or __wasm_call_ctors, hs_init and anchor_init run, all under the limits of init.
// session says that it belongs to a session. The error is a *failure.
func (e *environment) start(ctx context.Context, session bool) (*instance, error) {
	if im := e.image; im != nil {
		return e.make(ctx, session, im, func(in *instance) error { return in.fromImage(im) })
	}
	warm := e.resets && !e.withoutWarmUp
	in, err := e.make(ctx, session, nil, func(in *instance) error {
		if err := in.begun(); err != nil {
			return err
		}
		return in.initialize(ctx)
	})
	if err != nil || !warm || in.warmUp(ctx) == nil {
		return in, err
	}
	in.close()
	e.withoutWarmUp = true
	return e.start(ctx, session)
}

// startBare makes an instance in which nothing but the start section has run. The error is a
// *failure.
func (e *environment) startBare(ctx context.Context) (*instance, error) {
	return e.make(ctx, false, nil, (*instance).begun)
}

// warmTimeout bounds the warm-up, which is optional.
const warmTimeout = 250 * time.Millisecond

// warmUp asks the guest for room for a request before the image is made. The image then
// contains the heap that the guest sets up for this, which each call from the image would
// otherwise have to do again. After an error the instance must be replaced by one without a
// warm-up.
func (in *instance) warmUp(ctx context.Context) error {
	if !in.hasBox {
		return nil
	}
	b := &in.env.bounds
	in.begin(ctx, min(warmTimeout, b.timeout), b.fuel)
	defer in.state.end()
	err := in.run(abi.ReserveExport, warmRoom)
	in.chargeStacks()
	in.start = uint64(in.size())
	if err != nil {
		in.env.log.Debug("no warm-up", "error", err)
	}
	return err
}

// warmRoom is the size that the warm-up asks for, in bytes: enough for a few hundred rows.
// ABI.md states it.
const warmRoom = 64 << 10

// make instantiates the module, with the memory of an image unless from is nil, and calls
// prepare. The error is a *failure. It wraps errNoRoom if the host has no place or no memory.
func (e *environment) make(ctx context.Context, session bool, from *image, prepare func(*instance) error) (*instance, error) {
	in := &instance{env: e, ofSession: session, callData: callData{funcs: map[string]api.Function{}}}
	if !e.share.Enter(session) {
		return nil, failureOf(nil, noPlace(e.bounds.instances))
	}
	in.newMemory(from)
	in.openStack()
	in.state.inst, in.state.turn = in, e.account.Turn()
	if err := in.takeStack(); err != nil {
		in.closeStack()
		in.lin.Free()
		e.share.Leave(session)
		return nil, failureOf(nil, err)
	}
	in.wasi.Init(wasiCall{&in.state}, e.wasi)
	began := time.Now()
	defer in.state.end()
	if err := in.open(ctx, from, prepare); err != nil {
		f := failureOf(in, inInit(err))
		if in.hostFull {
			f.err = as(errNoRoom, f.err)
		}
		in.close()
		return nil, f
	}
	in.chargeStacks()
	in.start = uint64(in.size())
	took := time.Since(began)
	if from != nil { // otherwise most of it is the guest's work, which is charged already
		e.account.Charge(took)
	}
	in.counted = true
	e.owner.Made(from != nil, took)
	return in, nil
}

// open instantiates the module and calls prepare, under the limits of init. The caller ends the
// state of the call.
func (in *instance) open(ctx context.Context, from *image, prepare func(*instance) error) error {
	ctx, err := in.openKernel(ctx)
	if err == nil {
		err = in.takeTables()
	}
	if err != nil {
		return err
	}
	in.begin(ctx, in.env.bounds.initTimeout, in.env.bounds.initFuel)
	if err := in.instantiate(ctx, from); err != nil {
		return err
	}
	return prepare(in)
}

// takeTables charges for the tables of the instance and of its links at their largest size.
func (in *instance) takeTables() error {
	n := in.env.tables
	if !in.account(n) {
		what, _ := in.noRoom()
		return faultf(abi.ReasonMemory, "%s for its tables, %s", what, abi.FormatSize(n))
	}
	in.tables = n
	return nil
}

// newMemory makes the memory of the instance, with the content of an image unless from is nil.
func (in *instance) newMemory(from *image) {
	in.room.limit = in.env.bounds.memory
	switch {
	case !in.env.features.On(wazerox.Memories):
		in.lin, in.foreign = linear.NewForeign(in.account), true
	case from == nil || from.memory == nil:
		in.lin = in.newLinear(in.env.code)
	default:
		in.lin, in.filled = in.newShare(from.memory)
	}
}

// newLinear makes the memory of a module. Its limit is 0 if the module has no memory of its
// own.
func (in *instance) newLinear(of *code) *linear.Memory {
	if !of.memory {
		return linear.New(0, in.account)
	}
	return linear.New(uint64(in.env.bounds.memory), in.account)
}

// bind makes wazero use the instance's memory, unless wazero allocates memories itself.
func (in *instance) bind(ctx context.Context) context.Context {
	if in.foreign {
		return ctx
	}
	return wazerox.WithMemory(ctx, &countedMemory{Memory: in.lin, room: &in.room})
}

// begun writes the data segments that were taken out of the module, and runs the start
// section.
func (in *instance) begun() error {
	if err := in.writeData(in.env.code); err != nil {
		return err
	}
	if !in.env.code.open.Start {
		return nil
	}
	return in.run(wasmbin.StartExport)
}

// instantiate makes the links and then the guest, with the memories of an image unless from is
// nil.
func (in *instance) instantiate(ctx context.Context, from *image) error {
	ctx, err := in.openLinks(ctx, from)
	if err != nil {
		return err
	}
	in.state.Context = in.bind(ctx)
	if in.mod, err = in.instantiateModule(in.env.code); err != nil {
		return err
	}
	if err := in.find(in.env.code); err != nil {
		return err
	}
	var ok bool
	if in.denied, ok = in.mod.ExportedGlobal(wasmbin.DeniedExport).(api.MutableGlobal); !ok {
		return errors.New("the module lost its note of refused memory")
	}
	if err := in.observe(); err != nil {
		return err
	}
	if in.env.descriptors {
		if err := in.wasi.Watch(in.mod, in.env.features.On(wazerox.OpenFiles)); err != nil { // descriptors may be free later
			return &fault{code: abi.ReasonBusy, err: err, remedy: moreFiles}
		}
	}
	return in.late()
}

// moduleConfig is what the configurations of all modules have in common. Nothing starts by
// itself.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// instantiateModule makes a wazero instance of m. It turns panics of wazero into errors, such
// as that of a memory for which the host has no room.
func (in *instance) instantiateModule(m *code) (mod api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			mod, err = nil, in.noStart(r)
		}
	}()
	return in.env.rt.InstantiateModule(&in.state, m.compiled, in.wasi.Configure(moduleConfig))
}

// noStart is the fault of an instance that wazero could not make. panicked is what wazero
// panicked with.
func (in *instance) noStart(panicked any) *fault {
	if in.hostFull {
		what, _ := in.noRoom()
		return faultf(abi.ReasonMemory, "%s for the memory it starts with", what)
	}
	return faultf(abi.ReasonMemory, "no room for the memory it starts with: %v", panicked)
}

// initialize starts the guest's language runtime and then runs the plugin's init.
func (in *instance) initialize(ctx context.Context) error {
	e := in.env
	in.begin(ctx, e.bounds.initTimeout, e.bounds.initFuel)
	defer in.state.end()
	for _, name := range e.code.starters() {
		if err := in.run(name); err != nil {
			return err
		}
	}
	if e.code.exports("hs_init") {
		if err := in.run("hs_init", 0, 0); err != nil {
			return err
		}
	}
	if e.foreign {
		return nil
	}
	if err := in.findMailbox(); err != nil {
		return err
	}
	if !e.code.exports(abi.OpInit.JSONExport()) {
		return nil
	}
	_, _, err := in.callDocument(abi.OpInit.JSONExport(), e.initRequest)
	return err
}

// findMailbox asks the guest where its mailbox is.
func (in *instance) findMailbox() error {
	if !in.env.code.exports(abi.MailboxExport) {
		return nil
	}
	if err := in.run(abi.MailboxExport); err != nil {
		return err
	}
	in.mailbox, in.hasBox = uint32(in.stack[0]), true
	_, err := readMailbox(in.mem, in.mailbox)
	return err
}
