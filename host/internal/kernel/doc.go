// Package kernel implements the Extism functions of one instance and the memory on which
// they work. That memory is part neither of the guest's linear memory nor of another
// instance.
//
// A handle is the offset of a block. A new block is zeroed and lives until the call ends.
// The memory of a freed block is used again only after [Quarantine] further blocks of its
// size class were freed, because some plugin kits free a block twice or read it after they
// handed it over. No argument of a guest reaches outside the memory: a read at an invalid
// handle returns 0, and a write there is ignored.
//
// One algorithm has two implementations, which return the same handles and leave the same
// bytes for the same calls. [Linked] is a WebAssembly module, assembled by [Module], that
// guests call without a Go frame in between. [Local] is written in Go, for systems and
// engines on which modules cannot be linked.
//
// # Layout
//
// The memory begins with one queue of freed blocks per size class, {head, tail, count} as
// u32, which guests cannot reach. Blocks follow: a header of 16 bytes {size u32, next u32,
// tag u64}, then the bytes of the block, at a multiple of 16. In a freed block size is 0,
// and next is the following block of its queue. In a live block next is 1 if the block is
// of no class; such a block is never used again. The tag is the handle xor a constant. A
// guest that writes into a header harms nobody else: every address is checked when it is
// used, and no loop follows values that a guest wrote.
//
// # Cost
//
// Every function takes constant time, except that a new block is zeroed; its bytes count as
// debt. When the debt reaches [Slice], the module calls the host to settle it. The host may
// end the call there.
package kernel
