// Package wasmbin reads and rewrites the WebAssembly binary format, so that the
// host knows a guest before compiling it and can stop it while it runs.
//
//	info, err := wasmbin.Inspect(bin)           // what it says about itself; nothing runs
//	metered, err := wasmbin.Meter(bin, wasmbin.MeterOptions{MaxMemoryPages: 1024})
//
// It takes the bytes of strangers: every count, size and index is checked against
// the file, memory stays proportional to it, and every failure is an error that
// says what the author can do. It covers what wazero accepts by default (core 2.0)
// and tail calls and extended constant expressions; other proposals are
// refused by name. So are typed function references as types and initialisers of
// tables, which wazero reads even where their instructions are switched off.
//
// # Metering
//
// [Meter] inserts a counter, a mutable i64 global exported as [FuelExport], and
// an import, [TickModule] [TickName], of type () -> i64. The guest's work is
// subtracted from the counter, and where it is negative the guest calls tick and
// adds the result, the next slice of fuel, until it is not.
//
// The contract with the host:
//
//   - The counter starts at 0, so that the first check, of the start function
//     too, asks for the first slice. The host may set it before a call.
//   - tick returns a positive slice, such as [DefaultSlice], or panics to stop the
//     guest: deadline, budget, cancellation. It may not return; the counter then
//     stays negative and the next check asks again. The instance is in the state
//     of that instant and must be reset or dropped.
//   - Fuel used so far is the sum of all slices, and of what the host set, minus
//     the counter. This holds at every moment, in tick and after a trap too, and
//     does not depend on the size of slices.
//   - The counter must not be handed to a guest: when guests are linked to
//     each other, resolve their imports against the exports of the original module.
//
// # State
//
// [Prepare] also opens a module's state to the host: every mutable number is an
// exported global, every mutable v128 has two exported functions, the start
// function is an export, and data segments are handed to the host where the module
// does without them. With the memory that is all there is to capture and put back,
// unless [Info.Uncaptured] says why not.
//
// # Fuel
//
// One unit is one executed instruction; those that compile to nothing (block,
// loop, else, end, nop) weigh nothing, and those that leave compiled code weigh
// more, see the constants in weight.go. Bulk operations add the number of bytes
// or elements before they run; growing a memory or table adds the bytes or
// elements that were granted. A call pays one unit for every eight locals beyond
// the first 64, and for every four results; a block for every four values it is
// given or leaves, a loop in each turn for those it is given.
//
// Short functions without branches that only hand arguments on, or compute a little, are
// written out where they are called, see inline.go: the caller pays for them, and a trap
// in them names it.
//
// Charges are taken in advance, for the region that follows: a function's body
// without its loops at its entry, a loop's body without inner loops at each
// iteration. It is an upper bound: a branch past some instructions does not give
// their fuel back. Regions longer than 96 instructions pay piece by
// piece where they have branches, so that jumping over the rest of a long one costs
// little; see region.
// The charge is static, the same for the same path on every machine and in both
// engines, and ends in the same total for every size of slices.
//
// Checks, which cost more than charges, stand at loop heads, at the entries of
// functions that call others (few inert imports aside), are long or have many
// locals, at bulk operations, within those of more than 256 KiB, and after one to
// two thousand instructions without a loop. Every cycle of a program passes one.
// At loops and entries the code that asks the host stands outside of what it
// interrupts, see checks.go.
package wasmbin
