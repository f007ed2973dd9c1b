package host

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// wazero gives each handle of an export a stack that grows with the depth of calls up to
// 80 MB and never becomes smaller. Growing one takes up to 40 ms in which nothing stops
// the guest. Of those that have grown an instance keeps the largest, if the host has room.

// keptStack is the size in bytes up to which a stack does not count as grown.
const keptStack = wazerox.StackKept

// shedGrown lets go of the handles whose stacks have grown, but for one.
func (in *instance) shedGrown() {
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
