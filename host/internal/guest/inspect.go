package guest

import "github.com/anchor-host/anchor-host/host/internal/wazerox"

// What tests of package host look at: the state and the stacks of an instance.

// Values are the values of the mutable globals of the guest, without those of type v128.
func (in *Instance) Values() (values []uint64) {
	for _, g := range in.Guest.globals {
		values = append(values, g.Get())
	}
	return values
}

// Content is a copy of the guest's memory as the image has it, and the values of the globals
// as in instance.values.
func (im *Image) Content() (memory []byte, globals []uint64) {
	memory = make([]byte, im.memory.Size())
	im.memory.Fill(memory)
	return memory, im.globals
}

// OwnMemory reports whether this package allocated the memory of the guest, and not wazero.
func (m *memory) OwnMemory() bool { return !m.foreign }

// StackBytes is what the stack that all calls share holds, in bytes, 0 if each handle has its
// own.
func (s *stacks) StackBytes() int64 {
	if s.callStack == nil {
		return 0
	}
	return int64(s.callStack.Held())
}

// StackSizes are the sizes in bytes of the stacks of a new handle of a function, and of the
// handles that were used.
func (in *Instance) StackSizes(function string) (unused int, used []int) {
	for _, fn := range in.Stacks.funcs {
		used = append(used, wazerox.StackOf(fn))
	}
	return wazerox.StackOf(in.Stacks.handle(in.Guest.mod, function)), used
}
