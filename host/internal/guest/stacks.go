package guest

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// The calls of a guest run on a stack outside of its memory. Where the system allows it, an
// instance has one stack of a fixed size for all its calls, which never run at the same time.
// Elsewhere each handle of an export has a stack of its own, which grows; see grownstacks.go.
// The memory that a stack has taken is kept for the next call and charged to the host's
// memory.

// openStack makes the stack of the instance. If it cannot, the stacks are wazero's.
func (in *Instance) openStack() {
	in.stackLeast = in.Env.StackLeast
	if !in.Env.Features.On(wazerox.Stacks) {
		return
	}
	reserve := wazerox.NewStack
	if in.Env.Interpreted {
		reserve = func() (*wazerox.Stack, error) {
			return wazerox.NewInterpreterStack(max(in.stackLeast, wazerox.StackKept))
		}
	}
	if s, err := reserve(); err == nil {
		in.callStack = s
	}
}

// handle makes a handle of an export, nil if the module has no such export.
func (in *Instance) handle(mod api.Module, name string) api.Function {
	fn := mod.ExportedFunction(name)
	if fn != nil && in.callStack != nil {
		in.callStack.Lend(fn)
	}
	return fn
}

// closeStack frees the stack and drops the handles that use it.
func (in *Instance) closeStack() {
	in.funcs, in.stackLeast = nil, 0
	in.holdStack(0)
	if in.callStack != nil {
		in.callStack.Free()
	}
}

// chargeStacks charges for the stack that calls took, and frees what the host has no room for.
func (in *Instance) chargeStacks() {
	switch {
	case in.callStack == nil:
		in.dropGrown()
	case !in.holdStack(int64(in.callStack.Held())):
		in.callStack.Shed()
	}
}

// takeStack charges for the least stack of a new instance. Idle instances may be evicted for
// it.
func (in *Instance) takeStack() error {
	n := in.stackLeast
	if !in.account(n) {
		what, remedy := in.noRoom()
		return &Fault{abi.ReasonMemory, errkind.As(ErrNoRoom, fmt.Errorf("%s for the stack of the interpreter, %d MiB", what, (n-1)>>20+1)), remedy}
	}
	in.stackHeld = n
	return nil
}

// holdStack changes the charge for the stack to n bytes and reports whether there was room. If
// not, the charge is stackLeast at most.
func (in *Instance) holdStack(n int64) bool {
	n = max(n, in.stackLeast)
	if n == in.stackHeld { // almost always
		return true
	}
	if in.charge(n - in.stackHeld) {
		in.stackHeld = n
		return true
	}
	if in.stackHeld >= in.stackLeast {
		in.charge(in.stackLeast - in.stackHeld)
		in.stackHeld = in.stackLeast
	}
	return false
}
