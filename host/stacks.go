package host

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// The handle of an export has a stack of its own, which lies outside of the guest's
// memory, grows with the depth of calls up to 100 MB, and never becomes smaller. Growing
// one takes up to 30 ms in which nothing stops the guest, so an instance keeps the
// largest that has grown, on the account of the host's memory, and no other.

const (
	// keptStack is the size in bytes up to which a stack is kept.
	keptStack = 256 << 10
	// shallowFuel is what a call must have used to be looked at: a short one has not
	// called deep.
	shallowFuel = 50_000
)

// shedStacks lets go of the handles whose stacks have grown, but for one.
func (in *instance) shedStacks() {
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
