package machinecode

import "syscall"

// discards says that discard does anything.
const discards = true

// discard has pages of a private mapping read as zeros and take no memory. It fails only
// for what is not mapped.
func discard(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }
