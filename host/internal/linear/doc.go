// Package linear owns the linear memories of guests and resets them.
//
// A [Memory] is the memory of one WebAssembly module, which package wazerox gives to
// wazero. Where the system can, a Memory is a mapping that reserves the
// plugin's whole limit, so that growing neither copies nor moves it. Elsewhere it is a
// slice that grows by doubling.
//
// An [Image] is the content of a memory at one moment. On Linux new memories map the
// image copy-on-write, so that they cost next to nothing until the guest writes to them.
// Elsewhere each memory gets a copy.
//
// [Memory.Restore] resets a memory to its image: it copies or zeroes what differs, up to
// the size to which the memory grew. It looks for differences in one of three ways and
// takes the best that the system has ([Finds]): in the pages that the kernel saw being
// written, in the pages that the process's page map shows as private copies, or in the
// whole memory. A page that was written once stays with the memory and is compared at
// every reset. It is not protected or discarded again, because bringing it back would
// cost the next call a page fault.
package linear
