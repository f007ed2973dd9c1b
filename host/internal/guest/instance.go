package guest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Instance is one guest with its memory. One goroutine owns it from the moment the pool lends
// it until it is returned, and only the owner closes it. After a failed call an instance is
// reset or closed before anything else uses it.
//
// Each part of its state has a type, whose methods touch nothing else.
type Instance struct {
	// Env is what the instances of the plugin have in common.
	Env *Environment
	// ofSession says that the instance belongs to a session, not to the pool.
	ofSession bool
	// Guest is the guest itself. members are its links in the order of Environment.Links. stubs
	// are the modules that close circles among the links.
	Guest   part
	members []*part
	stubs   []api.Module
	// WASI is what the guest and its links see through WASI, with what they wrote.
	WASI wasi.State
	// Memory is what the instance is charged for, Stacks what its calls run on, Extism what the guest
	// sees through Extism's functions, Exchange what calls exchange with it, and Life what the calls so
	// far mean for the next one.
	Memory   memory
	Stacks   stacks
	Extism   extism
	Exchange exchange
	Life     life
	// Call is the running or the last call.
	Call Call
	// Bare says that only the start section has run. Such an instance serves one call, such as
	// a program's main, which may end with exit code 0.
	Bare bool
}

// memory is the memory that an instance is charged for, besides its linear memories, which
// charge for themselves.
type memory struct {
	env *Environment
	// foreign says that wazero allocates the memory, and lin only charges for it. seen is the
	// last size that was charged.
	foreign bool
	seen    uint64
	// denied is a global that the guest sets when its memory cannot grow.
	denied api.MutableGlobal
	// room bounds the linear memories of the guest and its kernel, and what is decoded of an
	// answer, together.
	room room
	// tables is the charge for the instance's tables, and kernel the size of a kernel in Go, in bytes.
	tables int64
	kernel uint64
	// HostFull says that the host refused memory during the call, and noVictim that no idle
	// instance is left to evict. refusedBy says who refused memory last.
	HostFull, noVictim bool
	refusedBy          capacity.Refusal
	// start is the size of the guest's memory after init, in bytes.
	start uint64
}

// stacks are what the calls of an instance run on.
type stacks struct {
	env *Environment
	// memory is what the stacks are charged to.
	memory *memory
	// callStack is the stack that all calls share, nil if each handle has its own.
	callStack *wazerox.Stack
	// funcs are the handles of the exports called so far.
	funcs map[string]api.Function
	// stackHeld is the charge for the stack, in bytes. It is at least stackLeast, which is the
	// most that calls can take when they are interpreted, and else 0.
	stackHeld, stackLeast int64
	// sinceCheck is the fuel used since the stacks were last checked.
	sinceCheck int64
}

// extism is what the guest sees through Extism's functions.
type extism struct {
	// Kernel is the memory of Extism's functions.
	Kernel kernel.Kernel
	// kernelModule is the kernel's module if the guest is linked to it. Otherwise it is nil,
	// and local is the kernel: Go code in the host that the guest calls.
	kernelModule api.Module
	local        *kernel.Local
	vars         vars
	// HTTP is the status and the headers of the last response.
	HTTP Response
}

// Response is the status and the headers of the last response in a call.
type Response struct {
	// Status is the status code, 0 without a response. Headers are a JSON object.
	Status  int
	Headers []byte
}

// exchange is what calls exchange with the guest.
type exchange struct {
	// args holds the arguments and the result of an export.
	args [2]uint64
	// mailbox is the address of the guest's mailbox, valid if hasBox is true.
	mailbox uint32
	hasBox  bool
	// batch and document are the buffers of the two lanes.
	batch    abi.BatchWriter
	document []byte
	// decoded is the memory that the decoded answer takes in the host, in bytes.
	decoded int64
}

// Call is the context of one call into a guest. Host functions receive it as their
// context and find it by a type assertion, which costs almost nothing.
type Call struct {
	context.Context
	// Instance is the instance that is called.
	Instance *Instance
	// Op is the operation that the call serves, "" for none. Whoever lends the instance sets it.
	Op abi.Operation
	// done is the Done channel of the caller's context.
	done <-chan struct{}
	// Began and deadline are times of the clock. seen is the last time read from it. Limit is
	// the time that the call may take.
	Began, deadline, seen time.Duration
	Limit                 time.Duration
	// drawn is the fuel handed out to the guest, and hosted the fuel that the host used on its
	// behalf. unchecked is the part of hosted since the last check. Fuel is the most that the
	// call may use.
	drawn, hosted, unchecked, Fuel int64
	// depth is the number of calls that this one lies in.
	depth int
	// Turn is the call's use of a processor; see turns.go.
	Turn fairness.Turn

	// Received and Returned are the bytes of the request and of the answer. Batch says that
	// they are of the batch lane. Waited is how long the call waited for a processor since it
	// began.
	Received, Returned int64
	Waited             time.Duration
	Batch              bool
	// Excuse is the fault of the call if the code of the embedder used up its time.
	Excuse *Fault
	// Record collects what the call does, nil if nobody asks.
	Record *record.Call
	// tally is what calls until now counted.
	tally Tally
}

// life is what the calls so far mean for the next use of the instance.
type life struct {
	calls int
	// counted says that the instance is among those counted as made.
	counted bool
	// Tenant is the tenant that the calls served, "" if there were none. The borrower sets it,
	// and only if instances keep their state.
	Tenant string
	// Halted says that the last call was stopped before the guest returned.
	Halted bool
	// Unusable says that a call ended in a way that requires closing the instance.
	Unusable bool
	// Outside says that the guest used the network or the key-value store, so that its state
	// may be different in the next process. WASI knows of the clocks.
	Outside bool
	// ResetTook is the estimate for the next reset, 0 before the first.
	ResetTook time.Duration
}

// observe charges for the growth of a memory that wazero allocated. A metered guest draws fuel
// whenever its memory has grown, so no growth is missed.
func (in *Instance) observe() error {
	if !in.Memory.foreign || in.Guest.mem == nil {
		return nil
	}
	size := uint64(in.Guest.mem.Size())
	if size == in.Memory.seen {
		return nil
	}
	more := int64(size) - int64(in.Memory.seen)
	if !in.Memory.room.change(more) {
		return Faultf(abi.ReasonMemory, "needs more than %s", units.FormatSize(in.Env.Limits.Memory))
	}
	in.Memory.seen = size
	if !in.Guest.lin.Observe(size) {
		what, remedy := in.Memory.noRoom()
		return &Fault{Reason: abi.ReasonMemory, Err: fmt.Errorf("%s for %s more", what, units.FormatSize(more)), Remedy: remedy}
	}
	return nil
}

// Begin prepares the instance, its links and its kernel for a call.
func (in *Instance) Begin(ctx context.Context, limit time.Duration, fuel int64) {
	in.Call.begin(ctx, limit, fuel)
	in.Extism.Kernel.Reset()
	in.WASI.Output.Reset()
	in.Guest.lin.Refused, in.Memory.HostFull, in.Memory.noVictim = false, false, false
	if in.Memory.denied != nil {
		in.Memory.denied.Set(0)
	}
	if in.Guest.fuel != nil { // else the guest would ask for its first slice at once
		in.Call.drawn = min(wasmbin.DefaultSlice, fuel)
		in.Guest.fuel.Set(uint64(in.Call.drawn))
	}
	for _, m := range in.members {
		m.fuel.Set(0)
		m.lin.Refused = false
	}
}

// run calls an export with i32 arguments. The result is in in.args.
func (in *Instance) run(name string, args ...uint64) error {
	if err := in.enter(name, args...); err != nil {
		return err
	}
	return in.Late()
}

// enter is run without checking whether the call has exceeded its time.
func (in *Instance) enter(name string, args ...uint64) error {
	fn, err := in.Stacks.function(in.Guest.mod, name)
	if err != nil {
		return err
	}
	copy(in.Exchange.args[:], args)
	in.Life.Halted = true
	err = fn.CallWithStack(&in.Call, in.Exchange.args[:])
	in.Life.Halted = err != nil
	return err
}

// Late returns the fault of a call that ended after its deadline, or after its context was
// done.
func (in *Instance) Late() error {
	if f := in.Call.check(); f != nil {
		return f
	}
	return nil
}

// lateAfter is Late for a call that ended with err. If err is about the same, it is returned: it
// also says where the guest was stopped.
func (in *Instance) lateAfter(err error) error {
	late := in.Call.check()
	var stopped *Fault
	switch {
	case late == nil:
		return nil
	case errors.As(err, &stopped) && stopped.Reason == late.Reason:
		return err
	}
	return late
}

// function returns the handle of an export. Each handle is made once, because it takes 12 KB.
func (s *stacks) function(mod api.Module, name string) (api.Function, error) {
	if fn, ok := s.funcs[name]; ok {
		return fn, nil
	}
	fn := s.handle(mod, name)
	if fn == nil {
		return nil, fmt.Errorf("export %q: %w", name, errNoExport)
	}
	s.funcs[name] = fn
	return fn, nil
}

// recycleHeadroom is the part of the memory left after init that an instance may grow into.
// When it has grown by more, it is replaced.
const recycleHeadroom = 0.75

// Worn reports whether a new instance should replace this one.
func (in *Instance) Worn() bool {
	limit := float64(in.Env.Limits.Memory)
	start := float64(in.Memory.start)
	return in.WASI.Abandoned() || in.Life.calls >= in.Env.RecycleAfter || limit > start && float64(in.Guest.Size()) > start+recycleHeadroom*(limit-start)
}

// LastUsed is when the instance's last call last read the clock.
func (in *Instance) LastUsed() time.Duration { return in.Call.seen }

// Close frees the instance. Only its owner calls it, and only once.
func (in *Instance) Close() {
	in.HandIn()
	if in.Life.counted {
		in.Env.Owner.Count(Closed)
	}
	if in.Guest.mod != nil {
		if err := in.Guest.mod.Close(context.Background()); err != nil {
			in.Env.Log.Warn("close instance", "error", err)
		}
	}
	in.closeLinks()
	in.Extism.Kernel.Close()
	in.Guest.lin.Free()
	in.Stacks.closeStack()
	in.Memory.charge(-in.Memory.tables)
	in.Env.Share.Leave(in.ofSession)
}
