//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package linear

// faults says that this system does not tell.
func faults() int64 { return -1 }

// thread says nothing either.
func thread() int { return 0 }
