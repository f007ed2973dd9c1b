package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// instance is one guest with its memory. One goroutine owns it from checkout to
// return, and only the owner closes it. What happens to its state between calls
// is its plugin's; an instance whose call failed is reset or closed, never used
// as it is.
type instance struct {
	plugin *Plugin
	mod    api.Module
	mem    api.Memory
	lin    *linear.Memory
	// foreign says that the memory is wazero's and lin only its account, seen how
	// large it was last; denied is set by the guest when it gets no more.
	foreign bool
	seen    uint64
	denied  api.MutableGlobal
	// filled says that the memory held the image from the start.
	filled  bool
	fuel    api.MutableGlobal
	globals []api.MutableGlobal
	funcs   map[string]api.Function
	// files are its descriptors, nil if it cannot change them; blind says why
	// they cannot be watched. live counts the files it has open.
	files *descriptors
	blind error
	live  int
	// fixed replaces clock and random numbers, nil if they are real.
	fixed *fixedSources
	// kernel is the memory of the Extism functions; local is the same, where it
	// is in Go and the guest reaches it through the host.
	kernel kernel.Kernel
	local  *kernel.Local
	// kernelModule is what the guest is linked to, nil where the kernel is local.
	kernelModule api.Module
	// members are the instances it is linked to beside.
	members []*member
	// stubs are the modules that close circles among them.
	stubs []api.Module
	room  room
	vars  vars
	http  lastHTTP
	out   capture
	state callState

	// mailbox is the address of the mailbox, reserved the largest room asked
	// for.
	mailbox  uint32
	hasBox   bool
	batch    abi.BatchWriter
	document []byte
	stack    [2]uint64

	// bare says that only the start section has run, and that this instance
	// serves one call: a program's main, which may end with exit code 0.
	bare bool
	// outside says that it asked the network or the key-value store.
	outside bool
	// spoiled says that a call ended in a way after which only closing is safe.
	spoiled bool
	calls   int
	// resetTook is how long the last reset took, 0 before the first.
	resetTook time.Duration
	// start is the size of the memory after init.
	start uint64
}

// newInstance makes an instance, from the image if there is one. Otherwise it
// starts it: the start section, _initialize or __wasm_call_ctors, hs_init,
// anchor_init, all under the limits of init.
func (p *Plugin) newInstance(ctx context.Context) (*instance, error) {
	if p.image != nil {
		return p.makeInstance(ctx, p.image, p.fromImage)
	}
	warm := p.state == StateReset && !p.cold
	in, err := p.makeInstance(ctx, nil, func(in *instance) error {
		if err := in.begun(); err != nil {
			return err
		}
		return in.initialize(ctx)
	})
	if err != nil || !warm || in.warmUp(ctx) == nil {
		return in, err
	}
	in.close() // the next one does without
	p.cold = true
	return p.newInstance(ctx)
}

// warmTimeout bounds the warm-up, which may be left out.
const warmTimeout = 250 * time.Millisecond

// warmUp asks the guest for room before its image is made. With that and what the
// guest does on this occasion its heap is ready, which otherwise each call from
// the image would have to do again. A guest it ends badly for is as it was in its
// next instance.
func (in *instance) warmUp(ctx context.Context) error {
	if !in.hasBox {
		return nil
	}
	p := in.plugin
	in.begin(ctx, min(warmTimeout, p.limits.Timeout), p.limits.Fuel)
	defer in.state.end()
	err := in.run(abi.ReserveExport, warmRoom)
	in.start = uint64(in.mem.Size())
	if err != nil {
		p.log.Debug("no warm-up", "error", err)
	}
	return err
}

// warmRoom is the room asked for, what a few hundred rows need. ABI.md names it.
const warmRoom = 64 << 10

// bareInstance makes an instance without running any of its functions but the
// start section.
func (p *Plugin) bareInstance(ctx context.Context) (*instance, error) {
	return p.makeInstance(ctx, nil, (*instance).begun)
}

// makeInstance instantiates the module, on a memory of the image if that is not
// nil, and has it prepared for calls.
func (p *Plugin) makeInstance(ctx context.Context, from *image, prepare func(*instance) error) (*instance, error) {
	if !p.host.instances.take(1) {
		return nil, p.failure(abi.OpInit, nil, &fault{code: abi.ReasonBusy,
			err: fmt.Errorf("the host has %d instances, as many as it may", p.host.cfg.MaxInstances), remedy: "raise the host's instances"})
	}
	in := &instance{plugin: p, funcs: map[string]api.Function{}}
	in.newMemory(from)
	in.state.inst = in
	in.out.limit = int(p.limits.LogBytes)
	began := time.Now()
	ctx, err := in.openKernel(ctx)
	if err == nil {
		in.begin(ctx, p.limits.InitTimeout, p.initFuel())
		defer in.state.end()
		err = in.instantiate(ctx)
	}
	if err == nil {
		err = prepare(in)
	}
	if err != nil {
		perr := p.failure(abi.OpInit, in, &initError{err})
		in.close()
		return nil, perr
	}
	in.start = uint64(in.mem.Size())
	p.log.Debug("instance made", "number", p.made.Add(1), "from_image", from != nil, "took", time.Since(began))
	return in, nil
}

// newMemory makes the memory of the instance.
func (in *instance) newMemory(from *image) {
	limit, account := uint64(in.plugin.limits.Memory), in.plugin.host.memory.change
	in.room.limit = in.plugin.limits.Memory + kernel.PageSize
	switch {
	case in.plugin.engine.portable:
		in.lin, in.foreign = linear.NewForeign(account), true
		return
	case from == nil:
		in.lin = linear.New(limit, account)
		return
	}
	in.lin, in.filled = linear.NewFrom(from.memory, limit, account)
}

// bind has wazero use the memory of the instance, if it is one.
func (in *instance) bind(ctx context.Context) context.Context {
	if in.foreign {
		return ctx
	}
	return linear.Bind(ctx, &countedMemory{Memory: in.lin, room: &in.room})
}

// observe accounts for the growth of a memory that is wazero's. A guest that is
// metered draws fuel whenever its memory has grown, so nothing grows unseen.
func (in *instance) observe() error {
	if !in.foreign || in.mem == nil {
		return nil
	}
	size := uint64(in.mem.Size())
	if size == in.seen {
		return nil
	}
	if !in.room.change(int64(size) - int64(in.seen)) {
		return faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.plugin.limits.Memory))
	}
	in.seen = size
	if !in.lin.Observe(size) {
		return faultf(abi.ReasonMemory, "no room in the memory of the host for %s more", abi.FormatSize(int64(size)))
	}
	return nil
}

// begun writes the data segments that are left to the host and runs the start
// section.
func (in *instance) begun() error {
	open := in.plugin.module.open
	mem := in.wholeMemory()
	for _, s := range open.Data {
		copy(mem[s.Offset:], s.Bytes)
	}
	if !open.Start {
		return nil
	}
	return in.run(wasmbin.StartExport)
}

// instantiate makes the links and the guest itself.
func (in *instance) instantiate(ctx context.Context) error {
	p := in.plugin
	ctx, err := in.openLinks(ctx)
	if err != nil {
		return err
	}
	in.state.Context = in.bind(ctx)
	if in.mod, err = in.instantiateModule(p.module); err != nil {
		return err
	}
	in.mem = in.mod.Memory()
	fuel, ok := in.mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal)
	if !ok {
		return errors.New("the module lost its fuel counter")
	}
	in.fuel = fuel
	if in.denied, ok = in.mod.ExportedGlobal(wasmbin.DeniedExport).(api.MutableGlobal); !ok {
		return errors.New("the module lost its note of refused memory")
	}
	if err := in.observe(); err != nil {
		return err
	}
	if p.spec.descriptors {
		in.files, in.blind = watchDescriptors(in.mod, len(p.mounts), &in.live)
	}
	if err := in.openGlobals(); err != nil {
		return err
	}
	return in.late()
}

// instantiateModule asks wazero for an instance. Its own panics, such as that of
// a memory the host's budget has no room for, become errors.
func (in *instance) instantiateModule(m *module) (mod api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			mod, err = nil, faultf(abi.ReasonMemory, "no room for the memory it starts with: %v", r)
		}
	}()
	return in.plugin.engine.rt.InstantiateModule(&in.state, m.compiled, in.moduleConfig())
}

func (in *instance) moduleConfig() wazero.ModuleConfig {
	p := in.plugin
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(&in.out).WithStderr(&in.out).
		WithNanosleep(in.state.sleep).WithFSConfig(fsConfig(p.mounts, &in.live))
	if p.cfg.Deterministic {
		in.fixed = newFixedSources()
		return cfg.WithRandSource(in.fixed).
			WithWalltime(in.fixed.walltime, sys.ClockResolution(time.Millisecond)).
			WithNanotime(in.fixed.nanotime, sys.ClockResolution(time.Millisecond))
	}
	return cfg.WithSysWalltime().WithSysNanotime().WithRandSource(randomSource)
}

// initialize runs what starts the guest's language runtime, then the plugin's
// own init.
func (in *instance) initialize(ctx context.Context) error {
	p := in.plugin
	in.begin(ctx, p.limits.InitTimeout, p.initFuel())
	defer in.state.end()
	for _, name := range starters(p.spec) {
		if err := in.run(name); err != nil {
			return err
		}
	}
	if p.spec.exports["hs_init"] {
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
	if !p.spec.exports[abi.OpInit.JSONExport()] {
		return nil
	}
	_, _, err := in.callDocument(abi.OpInit.JSONExport(), p.initRequest)
	return err
}

// starters are the exports that start a module's language runtime: _initialize
// calls the constructors itself where there are both.
func starters(s *Spec) []string {
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if s.exports[name] {
			return []string{name}
		}
	}
	return nil
}

// findMailbox asks the guest where its mailbox is.
func (in *instance) findMailbox() error {
	if !in.plugin.spec.exports[abi.MailboxExport] {
		return nil
	}
	if err := in.run(abi.MailboxExport); err != nil {
		return err
	}
	in.mailbox, in.hasBox = uint32(in.stack[0]), true
	_, err := readMailbox(in.mem, in.mailbox)
	return err
}

// begin prepares the instance for a call.
func (in *instance) begin(ctx context.Context, limit time.Duration, fuel int64) {
	in.state.begin(ctx, limit, fuel)
	in.kernel.Reset()
	in.out.reset()
	in.lin.Refused = false
	if in.denied != nil {
		in.denied.Set(0)
	}
	if in.fuel != nil { // the first slice, which the guest would come for at once
		in.state.drawn = min(wasmbin.DefaultSlice, fuel)
		in.fuel.Set(uint64(in.state.drawn))
	}
	for _, m := range in.members {
		m.fuel.Set(0)
		m.lin.Refused = false
	}
}

// run calls an export with i32 arguments and leaves its result in in.stack.
func (in *instance) run(name string, args ...uint64) error {
	if err := in.enter(name, args...); err != nil {
		return err
	}
	return in.late()
}

// enter is run for callers that ask themselves whether the call is late.
func (in *instance) enter(name string, args ...uint64) error {
	fn, err := in.function(name)
	if err != nil {
		return err
	}
	copy(in.stack[:], args)
	return fn.CallWithStack(&in.state, in.stack[:])
}

// late is the error of a call that came to its end after its time.
func (in *instance) late() error {
	if f := in.state.check(); f != nil {
		return f
	}
	return nil
}

// function returns the handle of an export. Making one costs 12 KB, so each is
// made once.
func (in *instance) function(name string) (api.Function, error) {
	if fn, ok := in.funcs[name]; ok {
		return fn, nil
	}
	fn := in.mod.ExportedFunction(name)
	if fn == nil {
		return nil, fmt.Errorf("export %q: %w", name, ErrNoExport)
	}
	in.funcs[name] = fn
	return fn, nil
}

// fuelLeft is what the guest and its links have not used of the fuel they drew;
// negative when an operation cost more.
func (in *instance) fuelLeft() int64 {
	left := int64(0)
	if in.fuel != nil { // it is during the start section
		left = int64(in.fuel.Get())
	}
	for _, m := range in.members {
		if m.fuel != nil {
			left += int64(m.fuel.Get())
		}
	}
	return left
}

// fuelOwed is what the counters are below zero, together.
func (in *instance) fuelOwed() int64 {
	owed := int64(0)
	if in.fuel != nil {
		owed = max(0, -int64(in.fuel.Get()))
	}
	for _, m := range in.members {
		if m.fuel != nil {
			owed += max(0, -int64(m.fuel.Get()))
		}
	}
	return owed
}

// fuelUsed is the fuel of the current or last call.
func (in *instance) fuelUsed() int64 {
	return max(0, in.state.used())
}

// worn reports whether the instance should make way for a new one.
func (in *instance) worn() bool {
	limit := float64(in.plugin.limits.Memory)
	start := float64(in.start)
	return in.calls >= recycleCalls || limit > start && float64(in.mem.Size()) > start+recycleHeadroom*(limit-start)
}

// close frees the instance. Only its owner calls it, once.
func (in *instance) close() {
	if in.mod != nil {
		if err := in.mod.Close(context.Background()); err != nil {
			in.plugin.log.Warn("close instance", "error", err)
		}
	}
	in.closeLinks()
	in.kernel.Close()
	in.lin.Free()
	in.plugin.host.instances.give(1)
}

// resettable reports whether an instance is sound after a call that ended with
// err: the guest was stopped by this package or by a trap that WebAssembly
// defines, so that memory and globals are all that is left of the call. An
// exit closes the instance, a stack overflow leaves its stack behind, and after
// anything else nothing is known.
func resettable(err error) bool {
	if err == nil {
		return true
	}
	var f *fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		return false
	case errors.As(err, &f):
		return true
	}
	trap, ok := strings.CutPrefix(err.Error(), "wasm error: ")
	return ok && !strings.HasPrefix(trap, "stack overflow")
}

// faultOf classifies the error of a call. The remedy is empty where the
// reason's usual one serves. in may be nil.
func (in *instance) faultOf(err error) *fault {
	var f *fault
	var exit *sys.ExitError
	switch {
	case errors.As(err, &f):
		return in.explain(f)
	case errors.As(err, &exit):
		return &fault{abi.ReasonExit, fmt.Errorf("the guest ended itself with exit code %d", exit.ExitCode()), in.lastWords()}
	case in != nil && in.refused():
		return faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.plugin.limits.Memory))
	}
	return &fault{abi.ReasonTrap, errors.New(trapText(err)), in.lastWords()}
}

// explain points to the memory where a guest that was refused more of it used up
// its time or fuel, as one that asks again and again does.
func (in *instance) explain(f *fault) *fault {
	if in == nil || !in.refused() || f.remedy != "" || f.code != abi.ReasonTimeout && f.code != abi.ReasonFuel {
		return f
	}
	return &fault{f.code, f.err, fmt.Sprintf("it was refused more memory than %s: raise limits.memory, or limits.%s",
		abi.FormatSize(in.plugin.limits.Memory), f.code)}
}

// lastWords quotes what a guest wrote before it died: language runtimes write
// the cause of a panic to stderr.
func (in *instance) lastWords() string {
	if in == nil {
		return ""
	}
	log := in.out.tail()
	words := firstLine(log)
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			words = line
			break
		}
	}
	if words == "" {
		return ""
	}
	return "the guest wrote: " + oneLine(clip(words, maxWords))
}

// maxWords bounds what an error quotes of a guest's output.
const maxWords = 160

// exitedWell reports whether err is the exit of a guest with code 0.
func exitedWell(err error) bool {
	var exit *sys.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 0
}

// saturate multiplies without overflow.
func saturate(v int64, factor float64) int64 {
	if f := float64(v) * factor; f < math.MaxInt64 {
		return int64(f)
	}
	return math.MaxInt64
}
