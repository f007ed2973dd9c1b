// Package machinecode gives the memory of machine code back when its module is closed.
//
// wazero maps the code of a compiled module, 8 MB for a small guest of stock Go, and
// unmaps it in a finalizer: some time after the second collection that follows, and
// after none while Go's heap grows by little, for it does not know of the mapping.
// [Close] empties the pages at once and leaves the mapping to the finalizer.
//
// wazero has no interface for this. Its engine is a struct with a map of the modules
// that are compiled, each with its code and the number of those who use it. What cannot
// be found there, or is still used, is left alone. [Works] tries it out on a runtime.
package machinecode
