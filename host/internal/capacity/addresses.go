package capacity

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/rlimit"
	"github.com/anchor-host/anchor-host/internal/units"
)

// The system may bound the addresses that the process may map (ulimit -v). If the Go
// runtime gets no more of them it ends the process, and nothing can stop it. So the host
// refuses to begin with too few, reserves none for memories and stacks, and limits the
// memory of guests so that enough is left for everything else.

// ErrAddressSpace marks a process whose address space is bounded to less than a host needs.
var ErrAddressSpace = errors.New("too few addresses")

const (
	// leastAddressSpace is the smallest address space that a host starts in, in bytes: 1.25
	// GiB that the Go runtime reserves for itself, room to compile plugins, and the least
	// that is of use to guests.
	leastAddressSpace = 2 << 30
	// ownAddresses is the part of the address space that guests do not get, in bytes.
	ownAddresses = 3 << 29
)

// boundByAddresses returns how many bytes of memory guests may have together in an address
// space of that size, at most memory. Memories are slices there, and one that grows needs
// up to twice its size.
func boundByAddresses(memory, space int64) (int64, error) {
	if space < leastAddressSpace {
		return 0, fmt.Errorf("host: the address space of the process is bounded to %s: %w (at least %s are needed: raise ulimit -v, or set it to unlimited and bound the memory with a control group)",
			units.FormatSize(space>>20<<20), ErrAddressSpace, units.FormatSize(leastAddressSpace))
	}
	return min(memory, (space-ownAddresses)/2), nil
}

// BoundMemory returns how many bytes of memory guests may have together in this process, at
// most memory. Its error wraps [ErrAddressSpace].
func BoundMemory(memory int64) (int64, error) {
	space, bounded := rlimit.AddressSpace()
	if !bounded {
		return memory, nil
	}
	return boundByAddresses(memory, space)
}
