package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/callstack"
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
	part
	// foreign says that the memory is wazero's and lin only its account, seen how
	// large it was last; denied is set by the guest when it gets no more.
	foreign bool
	seen    uint64
	denied  api.MutableGlobal
	funcs   map[string]api.Function
	// callStack is what they run on, nil where each has a stack of its own. stackHeld
	// is what is accounted for it, or for one of those.
	callStack *callstack.Stack
	stackHeld int64
	// stackLeast is what is held of it at least: all that calls can take, where they are
	// interpreted.
	stackLeast int64
	// untended is the fuel used since somebody looked at the stacks.
	untended int64
	// files are its descriptors, nil if it cannot change them; blind says why
	// they cannot be watched. live counts the files it has open.
	files *descriptors
	blind error
	live  int
	// errno is why a mount refused what the guest just asked for, if wazero has no
	// name for that.
	errno wasiErrno
	// ofSession says that it is a session's.
	ofSession bool
	// tables is what is accounted for its tables.
	tables int64
	// crowded says that the host had no room for memory that was asked for, overShare that
	// the plugin had its share of it, futile that nothing idle could make room.
	crowded, overShare, futile bool
	// fixed replaces clock and random numbers, nil if they are real.
	fixed *fixedSources
	// kernel is the memory of the Extism functions; local is the same, where it
	// is in Go and the guest reaches it through the host.
	kernel kernel.Kernel
	local  *kernel.Local
	// kernelModule is what the guest is linked to, nil where the kernel is local.
	kernelModule api.Module
	// members are the instances of its links, in their order.
	members []*part
	// stubs are the modules that close circles among them.
	stubs []api.Module
	room  room
	// decoded is what the answer of this call takes outside of the guest.
	decoded int64
	vars    vars
	http    lastHTTP
	out     capture
	state   callState

	// mailbox is the address of the mailbox, reserved the largest room asked
	// for.
	mailbox  uint32
	hasBox   bool
	batch    abi.BatchWriter
	document []byte
	stack    [2]uint64

	// tenant is whom the calls of the instance served, "" if there were none; it is known
	// where their state is kept.
	tenant string
	// halted says that the last call was stopped before the guest returned.
	halted bool

	// bare says that only the start section has run, and that this instance
	// serves one call: a program's main, which may end with exit code 0.
	bare bool
	// outside says that it asked the network or the key-value store, or looked at a
	// clock that another process may find elsewhere.
	outside bool
	// spoiled says that a call ended in a way after which only closing is safe.
	spoiled bool
	calls   int
	// counted says that it is among the instances made.
	counted bool
	// watching follows the page faults of a call; quiet says that the last one had none.
	watching linear.Watch
	quiet    bool
	// yielded is when the scheduler was last let run.
	yielded time.Duration
	// resetTook is how long a reset is expected to take, 0 before the first.
	resetTook time.Duration
	// start is the size of the memory that the guest uses after init, in bytes.
	start uint64
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
	more := int64(size) - int64(in.seen)
	if !in.room.change(more) {
		return faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.plugin.limits.Memory))
	}
	in.seen = size
	if !in.lin.Observe(size) {
		what, remedy := in.noRoom()
		return &fault{abi.ReasonMemory, fmt.Errorf("%s for %s more", what, abi.FormatSize(more)), remedy}
	}
	return nil
}

// begin prepares the instance for a call.
func (in *instance) begin(ctx context.Context, limit time.Duration, fuel int64) {
	in.state.begin(ctx, limit, fuel)
	in.prepare(fuel)
}

// prepare is the part of begin that writes to the guest, its links and its kernel.
func (in *instance) prepare(fuel int64) {
	in.kernel.Reset()
	in.out.reset()
	in.lin.Refused, in.crowded, in.futile = false, false, false
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
	in.halted = true
	err = fn.CallWithStack(&in.state, in.stack[:])
	in.halted = err != nil
	return err
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
	fn := in.handle(in.mod, name)
	if fn == nil {
		return nil, fmt.Errorf("export %q: %w", name, ErrNoExport)
	}
	in.funcs[name] = fn
	return fn, nil
}

// worn reports whether the instance should make way for a new one.
func (in *instance) worn() bool {
	limit := float64(in.plugin.limits.Memory)
	start := float64(in.start)
	return in.calls >= in.plugin.recycleAfter || limit > start && float64(in.size()) > start+recycleHeadroom*(limit-start)
}

// close frees the instance. Only its owner calls it, once.
func (in *instance) close() {
	in.handIn()
	if in.counted {
		in.plugin.count(func(c *counters) *atomic.Int64 { return &c.closed })
	}
	if in.mod != nil {
		if err := in.mod.Close(context.Background()); err != nil {
			in.plugin.log.Warn("close instance", "error", err)
		}
		in.plugin.module.instances.Add(-1)
	}
	in.closeLinks()
	in.kernel.Close()
	in.lin.Free()
	in.closeStack()
	in.charge(-in.tables)
	in.leavePlace()
}
