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
func (s *stacks) openStack() {
	s.stackLeast = s.env.StackLeast
	if !s.env.Features.On(wazerox.Stacks) {
		return
	}
	reserve := wazerox.NewStack
	if s.env.Interpreted {
		reserve = func() (*wazerox.Stack, error) {
			return wazerox.NewInterpreterStack(max(s.stackLeast, wazerox.StackKept))
		}
	}
	if made, err := reserve(); err == nil {
		s.callStack = made
	}
}

// handle makes a handle of an export, nil if the module has no such export.
func (s *stacks) handle(mod api.Module, name string) api.Function {
	fn := mod.ExportedFunction(name)
	if fn != nil && s.callStack != nil {
		s.callStack.Lend(fn)
	}
	return fn
}

// closeStack frees the stack and drops the handles that use it.
func (s *stacks) closeStack() {
	s.funcs, s.stackLeast = nil, 0
	s.holdStack(0)
	if s.callStack != nil {
		s.callStack.Free()
	}
}

// chargeStacks charges for the stack that calls took, and frees what the host has no room for.
func (s *stacks) chargeStacks() {
	switch {
	case s.callStack == nil:
		s.dropGrown()
	case !s.holdStack(int64(s.callStack.Held())):
		s.callStack.Shed()
	}
}

// takeStack charges for the least stack of a new instance. Idle instances may be evicted for
// it.
func (s *stacks) takeStack() error {
	n := s.stackLeast
	if !s.memory.account(n) {
		what, remedy := s.memory.noRoom()
		return &Fault{Reason: abi.ReasonMemory, Err: errkind.As(ErrNoRoom, fmt.Errorf("%s for the stack of the interpreter, %d MiB", what, (n-1)>>20+1)), Remedy: remedy}
	}
	s.stackHeld = n
	return nil
}

// holdStack changes the charge for the stack to n bytes and reports whether there was room. If
// not, the charge is stackLeast at most.
func (s *stacks) holdStack(n int64) bool {
	n = max(n, s.stackLeast)
	if n == s.stackHeld { // almost always
		return true
	}
	if s.memory.charge(n - s.stackHeld) {
		s.stackHeld = n
		return true
	}
	if s.stackHeld >= s.stackLeast {
		s.memory.charge(s.stackLeast - s.stackHeld)
		s.stackHeld = s.stackLeast
	}
	return false
}
