// Package wasmbin reads and rewrites the WebAssembly binary format, so that the
// host knows a guest before it compiles it and can stop it while it runs.
//
//	info, err := wasmbin.Inspect(bin)           // describes the module; nothing runs
//	metered, err := wasmbin.Meter(bin, wasmbin.MeterOptions{MaxMemoryPages: 1024})
//
// It is made for the bytes of strangers: it checks every count, size and index against
// the file, its memory stays proportional to the file, and every failure is an error
// that says what the author can do. It accepts what wazero accepts by default (core 2.0),
// tail calls, and extended constant expressions; it refuses other proposals by name. It
// also refuses types of typed function references and tables with initialisers, which
// wazero reads even where their instructions are switched off.
//
// # Metering
//
// [Meter] inserts a counter, a mutable i64 global exported as [FuelExport], and
// an import, [TickModule] [TickName], of type () -> i64. The guest subtracts its work
// from the counter. Where the counter is negative, the guest calls tick and adds the
// result, the next slice of fuel, until the counter is not negative.
//
// The contract with the host:
//
//   - The counter starts at 0, so that the first check, also that of the start function,
//     asks for the first slice. The host may set the counter before a call.
//   - tick returns a positive slice, such as [DefaultSlice], or panics to stop the
//     guest because of a deadline, a budget or a cancellation. After a panic the counter
//     stays negative, and the next check asks again. The instance is in the state
//     of that instant and must be reset or closed.
//   - The fuel used so far is the sum of all slices and of the values that the host set,
//     minus the counter. This holds at every moment, also in tick and after a trap, and
//     does not depend on the size of the slices.
//   - A guest must not get the counter: when guests are linked to each other, the host
//     must resolve their imports against the exports of the original module.
//
// # State
//
// [Prepare] also opens a module's state to the host. It exports every mutable global that
// is a number, two functions for every mutable v128, and the start function. It hands the
// data segments to the host where the module does not need them. Together with the memory
// this is the whole state that a host captures and resets, unless [Info.Uncaptured] says
// why it is not.
//
// # Fuel
//
// One unit is one executed instruction. Instructions that compile to nothing (block,
// loop, else, end, nop) weigh nothing, and those that leave compiled code weigh
// more, see the constants in weight.go. Bulk operations add the number of bytes
// or elements before they run. Growing a memory or table adds the bytes or
// elements that were granted. A call pays one unit for every eight locals beyond
// the first 64, and one for every four results. A block pays one for every four
// parameters and results, and a loop pays for its parameters in each iteration.
//
// Short functions without branches that only pass arguments on, or compute a little, are
// written out where they are called, see inline.go. The caller pays for them, and a trap
// in them names the caller.
//
// A charge is taken in advance, for the region that follows: at the entry of a function
// for its body without loops, and at each iteration of a loop for its body without inner
// loops. It is an upper bound, because a branch past some instructions does not give
// their fuel back. A region of more than 96 instructions that has branches pays piece by
// piece, so that a branch past the rest of it costs little; see region.
// The charge is static. It is the same for the same path on every machine and in both
// engines, and its total is the same for every size of the slices. Stock Go pays 1.2 to 2.6
// times the instructions that it executes.
//
// A check costs more than a charge. Checks stand at loop heads; at the entries of
// functions that are long, have many locals, or call others than a few inert imports; at
// bulk operations, and within those of more than 256 KiB; and after one to two thousand
// instructions without a loop. Every cycle of a program passes a check. At loops and
// entries the code that calls the host stands outside of the code that it interrupts, see
// checks.go.
package wasmbin
