package guest

import "github.com/anchor-host/anchor-host/host/internal/wazerox"

// wazero gives each handle of an export a stack that grows with the depth of calls, up to
// 80 MB, and never shrinks. Growing one takes up to 40 ms, in which nothing can stop the
// guest. So an instance keeps the largest of its grown stacks, if the host has room for it.

// KeptStack is the size in bytes up to which a stack does not count as grown.
const KeptStack = wazerox.StackKept

// dropGrown discards the handles whose stacks have grown, except for the largest, which it
// discards if the host has no room. It discards all handles if their sizes are not known.
func (in *Instance) dropGrown() {
	if !in.Env.Features.On(wazerox.StackSizes) {
		clear(in.funcs)
		return
	}
	largest, kept := 0, ""
	for name, fn := range in.funcs {
		switch size := wazerox.StackOf(fn); {
		case size <= KeptStack:
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
