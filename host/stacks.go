package host

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// The handle of an export has a stack of its own, which lies outside of the guest's
// memory, grows with the depth of calls up to 100 MB, and never becomes smaller. One
// that has grown goes with its handle.

const (
	// keptStack is the size in bytes up to which a stack is kept.
	keptStack = 256 << 10
	// shallowFuel is what a call must have used to be looked at: a short one has not
	// called deep.
	shallowFuel = 50_000
)

// shedStacks lets go of the handles whose stacks have grown.
func (in *instance) shedStacks() {
	for name, fn := range in.funcs {
		if stackSize(fn) > keptStack {
			delete(in.funcs, name)
		}
	}
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
