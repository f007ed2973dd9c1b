package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// newInstance makes an instance for the pool. With an image it starts from that. Otherwise its
// start section, _initialize or __wasm_call_ctors, hs_init and anchor_init run, all under the
// limits of init.
func (p *Plugin) newInstance(ctx context.Context) (*instance, error) {
	return p.startInstance(ctx, false)
}

// startInstance is newInstance for a session, if session is true.
func (p *Plugin) startInstance(ctx context.Context, session bool) (*instance, error) {
	if p.image != nil {
		return p.makeInstance(ctx, session, p.image, p.fromImage)
	}
	warm := p.state == StateReset && !p.cold
	in, err := p.makeInstance(ctx, session, nil, func(in *instance) error {
		if err := in.begun(); err != nil {
			return err
		}
		return in.initialize(ctx)
	})
	if err != nil || !warm || in.warmUp(ctx) == nil {
		return in, err
	}
	in.close() // the next one is not warmed up
	p.cold = true
	return p.startInstance(ctx, session)
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
	p := in.plugin
	in.begin(ctx, min(warmTimeout, p.limits.Timeout), p.limits.Fuel)
	defer in.state.end()
	err := in.run(abi.ReserveExport, warmRoom)
	in.shedStacks()
	in.start = uint64(in.size())
	if err != nil {
		p.log.Debug("no warm-up", "error", err)
	}
	return err
}

// warmRoom is the size that the warm-up asks for, in bytes: enough for a few hundred rows.
// ABI.md states it.
const warmRoom = 64 << 10

// bareInstance makes an instance in which nothing but the start section has run.
func (p *Plugin) bareInstance(ctx context.Context) (*instance, error) {
	return p.makeInstance(ctx, false, nil, (*instance).begun)
}

// makeInstance instantiates the module, with the memory of an image unless from is nil, and
// calls prepare. The error wraps errNoRoom if the host has no place or no memory.
func (p *Plugin) makeInstance(ctx context.Context, session bool, from *image, prepare func(*instance) error) (*instance, error) {
	in := &instance{plugin: p, ofSession: session, callData: callData{funcs: map[string]api.Function{}}}
	if err := p.takePlace(in); err != nil {
		return nil, p.failure(abi.OpInit, nil, err)
	}
	in.newMemory(from)
	in.openStack()
	in.state.inst, in.state.turn = in, p.account.Turn()
	if err := in.takeStack(); err != nil {
		in.closeStack()
		in.lin.Free()
		in.leavePlace()
		return nil, p.failure(abi.OpInit, nil, err)
	}
	in.wasi.Init(wasiCall{&in.state}, p.wasiOptions())
	began := time.Now()
	ctx, err := in.openKernel(ctx)
	if err == nil {
		err = in.takeTables()
	}
	if err == nil {
		in.begin(ctx, p.limits.InitTimeout, p.initFuel())
		defer in.state.end()
		err = in.instantiate(ctx, from)
	}
	if err == nil {
		err = prepare(in)
	}
	if err != nil {
		perr := p.failure(abi.OpInit, in, &initError{err})
		if in.crowded {
			perr.Err = as(errNoRoom, perr.Err)
		}
		in.close()
		return nil, perr
	}
	in.shedStacks()
	in.start = uint64(in.size())
	took := time.Since(began)
	if from != nil { // otherwise most of it is the guest's work, which is charged already
		p.account.Charge(took)
	}
	in.counted = true
	p.count(func(c *counters) *atomic.Int64 { return &c.made })
	p.log.Debug("instance made", "number", p.counts.made.Load(), "from_image", from != nil, "took", took)
	return in, nil
}

// takeTables charges for the tables of the instance and of its links at their largest size.
func (in *instance) takeTables() error {
	elements := in.plugin.spec.Module().Tables
	for _, l := range in.plugin.links {
		elements += l.Spec.Module().Tables
	}
	n := int64(elements) * wazerox.TableElement
	if !in.account(n) {
		what, _ := in.noRoom()
		return faultf(abi.ReasonMemory, "%s for its tables, %s", what, abi.FormatSize(n))
	}
	in.tables = n
	return nil
}

// newMemory makes the memory of the instance, with the content of an image unless from is nil.
func (in *instance) newMemory(from *image) {
	in.room.limit = in.plugin.limits.Memory
	switch {
	case !in.plugin.engine.Features.On(wazerox.Memories):
		in.lin, in.foreign = linear.NewForeign(in.account), true
	case from == nil || from.memory == nil:
		in.lin = in.newLinear(in.plugin.spec)
	default:
		in.lin, in.filled = in.newShare(from.memory)
	}
}

// newLinear makes the memory of a module. Its limit is 0 if the module has no memory of its
// own.
func (in *instance) newLinear(of *spec.Spec) *linear.Memory {
	if !of.Module().Memory {
		return linear.New(0, in.account)
	}
	return linear.New(uint64(in.plugin.limits.Memory), in.account)
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
	if err := in.writeData(in.plugin.module); err != nil {
		return err
	}
	if !in.plugin.module.Open.Start {
		return nil
	}
	return in.run(wasmbin.StartExport)
}

// instantiate makes the links and then the guest, with the memories of an image unless from is
// nil.
func (in *instance) instantiate(ctx context.Context, from *image) error {
	p := in.plugin
	ctx, err := in.openLinks(ctx, from)
	if err != nil {
		return err
	}
	in.state.Context = in.bind(ctx)
	if in.mod, err = in.instantiateModule(p.module); err != nil {
		return err
	}
	if err := in.find(p.module); err != nil {
		return err
	}
	var ok bool
	if in.denied, ok = in.mod.ExportedGlobal(wasmbin.DeniedExport).(api.MutableGlobal); !ok {
		return errors.New("the module lost its note of refused memory")
	}
	if err := in.observe(); err != nil {
		return err
	}
	if opensFiles(p.spec) {
		if err := in.wasi.Watch(in.mod, p.engine.Features.On(wazerox.OpenFiles)); err != nil { // descriptors may be free later
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
func (in *instance) instantiateModule(m *compile.Module) (mod api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			mod, err = nil, in.noStart(r)
		}
	}()
	return in.plugin.engine.RT.InstantiateModule(&in.state, m.Compiled, in.wasi.Configure(moduleConfig))
}

// noStart is the fault of an instance that wazero could not make. panicked is what wazero
// panicked with.
func (in *instance) noStart(panicked any) *fault {
	if in.crowded {
		what, _ := in.noRoom()
		return faultf(abi.ReasonMemory, "%s for the memory it starts with", what)
	}
	return faultf(abi.ReasonMemory, "no room for the memory it starts with: %v", panicked)
}

// initialize starts the guest's language runtime and then runs the plugin's init.
func (in *instance) initialize(ctx context.Context) error {
	p := in.plugin
	in.begin(ctx, p.limits.InitTimeout, p.initFuel())
	defer in.state.end()
	for _, name := range starters(p.spec) {
		if err := in.run(name); err != nil {
			return err
		}
	}
	if p.spec.Module().Exports("hs_init") {
		if err := in.run("hs_init", 0, 0); err != nil {
			return err
		}
	}
	if p.spec.Foreign {
		return nil
	}
	if err := in.findMailbox(); err != nil {
		return err
	}
	if !p.spec.Module().Exports(abi.OpInit.JSONExport()) {
		return nil
	}
	_, _, err := in.callDocument(abi.OpInit.JSONExport(), p.initRequest)
	return err
}

// starters are the exports that start a module's language runtime. Where both exist,
// _initialize calls the constructors itself.
func starters(s *spec.Spec) []string {
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if s.Module().Exports(name) {
			return []string{name}
		}
	}
	return nil
}

// findMailbox asks the guest where its mailbox is.
func (in *instance) findMailbox() error {
	if !in.plugin.spec.Module().Exports(abi.MailboxExport) {
		return nil
	}
	if err := in.run(abi.MailboxExport); err != nil {
		return err
	}
	in.mailbox, in.hasBox = uint32(in.stack[0]), true
	_, err := readMailbox(in.mem, in.mailbox)
	return err
}
