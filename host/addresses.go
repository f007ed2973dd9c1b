package host

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/rlimit"
)

// Where the system bounds the addresses that the process may map (ulimit -v), the Go runtime
// ends the process when it gets no more of them, and nothing can stop it. So the host refuses
// to begin with too few, reserves none for memories and stacks, and lets guests take no
// more than leaves room for the rest.

const (
	// LeastAddressSpace is what the addresses of the process must not be bounded below, in
	// bytes: 1.25 GiB that the Go runtime reserves for itself, room to compile
	// plugins, and the least that is of use to guests.
	LeastAddressSpace = 2 << 30
	// ownAddresses is how much of it is not for guests.
	ownAddresses = 3 << 29
)

// boundByAddresses returns how much memory guests may have together, at most memory, so
// that an address space has room for it. Their memories are slices then, and one that
// grows needs up to twice its size.
func boundByAddresses(memory, space int64) (int64, error) {
	if space < LeastAddressSpace {
		return 0, fmt.Errorf("host: the address space of the process is bounded to %s: %w (at least %s are needed: raise ulimit -v, or set it to unlimited and bound the memory with a control group)",
			abi.FormatSize(space>>20<<20), ErrAddressSpace, abi.FormatSize(LeastAddressSpace))
	}
	return min(memory, (space-ownAddresses)/2), nil
}

// boundMemory is boundByAddresses for the address space of this process.
func boundMemory(memory int64) (int64, error) {
	space, bounded := rlimit.AddressSpace()
	if !bounded {
		return memory, nil
	}
	return boundByAddresses(memory, space)
}
