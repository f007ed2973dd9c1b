// Package kernel is the memory that the Extism functions of one instance work
// on. It belongs neither to the guest's linear memory nor to another instance.
//
// A handle is the offset of a block. Blocks are zeroed, live until the call
// ends, and a freed one is used again only after [Quarantine] others of its
// size, because some plugin kits free a block twice or read it after handing it
// over. Nothing a guest passes reaches outside the memory: wild handles read as
// zero, writes to them are ignored.
//
// One algorithm on one layout has two embodiments, which give the same handles
// and the same bytes for the same calls: [Linked] is a WebAssembly module,
// assembled by [Module], to which guests are linked without a Go frame in
// between; [Local] is the same in Go, for systems and engines where that is not
// possible.
//
// # Layout
//
// The memory begins with one queue of freed blocks per size class, {head, tail,
// count} as u32, which guests cannot reach. Blocks follow: a header of 16 bytes
// {size u32, next u32, tag u64}, then the bytes of the block, at a multiple of
// 16. The size is 0 in a freed block, whose next is that of its queue; in a live
// block next is 1 if it is of no class and never used again. The tag is the
// handle xor a constant. A guest that writes into a header harms nobody else:
// every address is checked when it is used, and no loop follows what it wrote.
//
// # Cost
//
// Every function takes constant time, but for the zeroing of a block, whose
// bytes are counted as debt. When the debt reaches a slice, the module calls the
// host to settle it, which may end the call.
package kernel
