package host

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/callstack"
)

// The calls of a guest have a stack that lies outside of its memory. Where it can be
// done, an instance has one of a fixed size for all its calls, which come one after the
// other. Elsewhere each handle of an export has a stack of its own, which grows with the
// depth of calls up to 80 MB and never becomes smaller. Growing one takes up to 40 ms in
// which nothing stops the guest. What memory a stack has taken is kept for the next call,
// on the account of the host's memory, and of stacks that have grown only the largest.

const (
	// keptStack is the size in bytes up to which a stack is kept.
	keptStack = callstack.Kept
	// shedFuel is what calls that end well use between two looks at the stacks, each
	// of which takes 2 µs.
	shedFuel = 1 << 19
)

// openStack makes the stack of the instance. Without one, stacks are wazero's.
func (in *instance) openStack() {
	if !in.plugin.engine.stacks {
		return
	}
	if s, err := callstack.New(); err == nil {
		in.callStack = s
	}
}

// handle makes a handle of an export, nil if there is none.
func (in *instance) handle(mod api.Module, name string) api.Function {
	fn := mod.ExportedFunction(name)
	if fn != nil && in.callStack != nil {
		in.callStack.Lend(fn)
	}
	return fn
}

// closeStack gives the stack back, and the handles that know of it.
func (in *instance) closeStack() {
	in.funcs = nil
	in.holdStack(0)
	if in.callStack != nil {
		in.callStack.Free()
	}
}

// tendStacks is told what fuel a call used and how it ended. It sheds stacks from time to
// time, and after a call that failed: large frames fill a stack for little fuel.
func (in *instance) tendStacks(used int64, err error) {
	if in.untended += used; in.untended >= shedFuel || err != nil {
		in.untended = 0
		in.shedStacks()
	}
}

// shedStacks gives back what deep calls took and the host has no room for. It lets go of
// the handles whose stacks have grown, but for one.
func (in *instance) shedStacks() {
	if in.callStack != nil {
		if !in.holdStack(int64(in.callStack.Held())) {
			in.callStack.Shed()
		}
		return
	}
	largest, kept := 0, ""
	for name, fn := range in.funcs {
		switch size := stackSize(fn); {
		case size <= keptStack:
		case size > largest:
			delete(in.funcs, kept)
			largest, kept = size, name
		default:
			delete(in.funcs, name)
		}
	}
	if !in.holdStack(int64(largest)) {
		delete(in.funcs, kept)
	}
}

// holdStack accounts for a stack of n bytes in place of the one before, and reports
// whether there was room; if not, none is held.
func (in *instance) holdStack(n int64) bool {
	if n == in.stackHeld { // as after almost every call
		return true
	}
	memory := &in.plugin.host.memory
	if memory.change(n - in.stackHeld) {
		in.stackHeld = n
		return true
	}
	memory.give(in.stackHeld)
	in.stackHeld = 0
	return false
}

// stackSize is the size of a handle's stack in bytes. wazero has no interface for it;
// where it looks other than expected, it counts as too large.
func stackSize(fn api.Function) int {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return keptStack + 1
	}
	stack := v.Elem().FieldByName("stack")
	if stack.Kind() != reflect.Slice {
		return keptStack + 1
	}
	return stack.Cap() * int(stack.Type().Elem().Size())
}
