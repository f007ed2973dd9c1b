// Package compile makes modules ready to be instantiated. A [Compiler] rewrites a module so
// that it meters itself, and has wazero compile it, or takes its machine code from a cache.
// Those who need the same module share it.
//
// Compiling costs the host work before any fuel is counted. So each module is compiled in a
// goroutine of its own, and who waits for it can leave. As many are compiled at once as fit
// into a bound on memory by their estimates.
//
// An [Engine] is one wazero runtime with the functions in it that guests import. A Compiler
// has at most two: one that compiles and one that interprets.
//
// The package knows neither plugins nor instances: what it needs of a host is in [Options].
//
// wazero compiles in the goroutine that asks for it, because the host could not recover a panic in
// a goroutine of wazero. A module that is too large for the compiler is interpreted only if the
// operator says so: a call then takes up to 2,000 times the memory of its locals and operands.
package compile
