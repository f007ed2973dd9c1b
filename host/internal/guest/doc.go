// Package guest runs one guest: an [Instance] is a module with its memory, which is made, called,
// reset and freed here. The package knows neither the host nor the plugin. What the instances of a
// plugin have in common is in an [Environment], which the plugin fills; what they take is charged
// to the plugin's share of the host's room.
//
// Guests are hostile. Every pointer, length and count from a guest is checked where it enters: only
// mem.go reads at addresses of a guest, only part.go reads memories as a whole, to capture and
// restore them. A call ends with its time and its fuel, whatever the guest does. A host function
// ends the call of its guest with a panic of a [Fault], which wazero returns.
//
// An instance has one owner at a time: whoever made it, or borrowed it from a pool. Its methods are
// for the owner, and so are those of a [Call], which is the running call of the instance and the
// context of the host functions in it. The path of a call has no locks, and what is common to all
// instances is only read.
//
// After a trap that WebAssembly defines, and after the host has stopped a guest, a call has left
// nothing but memory and globals, so a reset makes the instance new. After any other error, and in
// a guest that keeps its state, nobody knows what is left, and the instance is closed. A message
// of error_set is an error whatever the status says, because kits of several languages report
// errors with the message alone.
package guest

// The files of this package, in the order to read them. Each has one role.
//
//	what is common         environment
//	what an instance is    instance, part, members, image
//	how it starts          instantiate, kernel, reset
//	a call                 call, exchange, mailbox, mem, receipt, nested, tally
//	how a call fails       faults, explain, overflow
//	what guests import     hostcall, extism, wasicall, embedder
//	what bounds a call     fuel, turns, charging, stacks, grownstacks, stackcheck
//	for tests of the host  inspect
