// Package linear owns the linear memories of guests and puts them back.
//
// A [Memory] is the back end of one WebAssembly memory, given to wazero through
// its experimental allocator. Where the system can, it is a mapping that reserves
// the plugin's whole limit, so that growth neither copies nor moves; elsewhere
// it is a slice that grows by doubling.
//
// An [Image] is the content of a memory at one moment. On Linux new memories map
// it copy-on-write, so that they cost next to nothing until they are written to;
// elsewhere it is copied into them. [Image.Restore] puts it back: all of the
// memory is compared with it, and what differs is copied or zeroed, up to where
// the memory had grown. That needs no help of the system and scales with
// processors, unlike page protection or throwing pages away.
//
// wazero cannot make a memory smaller. [Shrink] does it by setting a field of its
// memory and growing by one page; [CanShrink] tries that out on a runtime. Where
// it fails, a memory that grew cannot be restored and its instance must go.
package linear
