// Package callstack has the calls of compiled guests run on stacks of a fixed size.
//
// wazero gives each handle of a function a stack of 10 KB and doubles it whenever
// calls need more, up to 80 MB. Each time it clears the new one and copies the old one,
// which takes 40 ms in the end, and nothing stops the guest meanwhile. A [Stack] is a
// mapping instead. Its pages come into being as calls reach them, it never moves, and
// where [Size] bytes are used wazero ends the call with a stack overflow.
//
// wazero has no interface for this. Its handle is a struct with fields that say where
// its stack lies. [Stack.Lend] sets them, provided that they hold what those of a new
// handle hold. A stack of more than 50,000,000 bytes wazero does not make larger, so the
// mapping is; but what lies beyond Size cannot be touched. [Works] tries all of it out
// on a runtime. Where it fails, stacks are wazero's.
package callstack
