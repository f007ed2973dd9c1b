package guest

import "github.com/anchor-host/anchor-host/host/internal/wazerox"

// wazero gives each handle of an export a stack that grows with the depth of calls, up to
// 80 MB, and never shrinks. Growing one takes up to 40 ms, in which nothing can stop the
// guest. So an instance keeps the largest of its grown stacks, if the host has room for it.

// KeptStack is the size in bytes up to which a stack does not count as grown.
const KeptStack = wazerox.StackKept

// dropGrown discards the handles whose stacks have grown, except for the largest, which it
// discards if the host has no room. It discards all handles if their sizes are not known.
func (s *stacks) dropGrown() {
	if !s.env.Features.On(wazerox.StackSizes) {
		clear(s.funcs)
		return
	}
	largest, kept := 0, ""
	for name, fn := range s.funcs {
		switch size := wazerox.StackOf(fn); {
		case size <= KeptStack:
		case size > largest:
			delete(s.funcs, kept)
			largest, kept = size, name
		default:
			delete(s.funcs, name)
		}
	}
	if !s.holdStack(int64(largest)) {
		delete(s.funcs, kept)
	}
}
