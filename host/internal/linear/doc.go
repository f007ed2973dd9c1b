// Package linear owns the linear memories of guests and puts them back.
//
// A [Memory] is the back end of one WebAssembly memory, given to wazero by
// package wazerox. Where the system can, it is a mapping that reserves
// the plugin's whole limit, so that growth neither copies nor moves; elsewhere
// it is a slice that grows by doubling.
//
// An [Image] is the content of a memory at one moment. On Linux new memories map
// it copy-on-write, so that they cost next to nothing until they are written to;
// elsewhere it is copied into them. [Memory.Restore] puts it back: what differs is
// copied or zeroed, up to where the memory had grown. What may differ is found in
// one of three ways, the best that the system has ([Finds]): the pages that the
// kernel saw being written, the pages that the page map of the process shows not
// to be the image's any more, or all of them. A page that was written once stays
// in the memory and is compared at every reset, but is never protected or thrown
// away again: the fault that brings it back would fall into the next call. Where all
// that was written was written under a [Watch] that saw no page fault, the pages are
// those of the time before, and the kernel need not be asked. They are then put back from
// a copy of the memory's own, if it is small.
package linear
