package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/rlimit"
)

// The system may bound the addresses that the process may map (ulimit -v). If the Go
// runtime gets no more of them it ends the process, and nothing can stop it. So the host
// refuses to begin with too few, reserves none for memories and stacks, and limits the
// memory of guests so that enough is left for everything else.

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
			abi.FormatSize(space>>20<<20), ErrAddressSpace, abi.FormatSize(leastAddressSpace))
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

// strategy is how a host keeps instances clean on this system.
type strategy struct {
	// finds says how a reset finds what a call wrote.
	finds string
	// mapped says that linear memories are reserved mappings, which grow without being copied.
	// Otherwise they are slices.
	mapped bool
	// shared says that further instances of a plugin share its image and copy the pages that
	// they write. Otherwise each starts with a copy of the image.
	shared bool
	// shrinks says that a reset shrinks a memory that a call grew. Otherwise an instance whose
	// memory grew is replaced.
	shrinks bool
	// linked says that compiled guests are linked to a module with Extism's functions.
	// Otherwise each use of such a function is a call of the host.
	linked bool
	// stacks says that compiled guests run on stacks of a fixed size. Otherwise their stacks
	// grow with the depth of calls, and nothing stops a guest while its stack grows.
	stacks bool
}

// String describes the strategy in one line.
func (s strategy) String() string {
	memory, grown, functions, stacks := "slices", "replaced", "calls of the host", "grow"
	if s.mapped {
		memory = "reserved mappings"
	}
	if s.shared {
		memory += " that share their image"
	}
	if s.shrinks {
		grown = "shrunk"
	}
	if s.linked {
		functions = "linked to guests"
	}
	if s.stacks {
		stacks = "hold " + abi.FormatSize(wazerox.StackSize)
	}
	return fmt.Sprintf("reset by %s; memories are %s, those that grew are %s; Extism's functions are %s; stacks %s",
		s.finds, memory, grown, functions, stacks)
}

// Strategy finds out by trying how the host keeps instances clean on this system, and says it
// in one line. quick is false where memories move when they grow or cannot shrink, so that a
// reset takes longer. It makes an engine and closes it; errors are those of that.
func (h *Host) Strategy(ctx context.Context) (line string, quick bool, err error) {
	s, err := h.strategy(ctx)
	return s.String(), s.mapped && s.shrinks, err
}

func (h *Host) strategy(ctx context.Context) (strategy, error) {
	e, err := compile.NewEngine(ctx, h.cfg.compileOptions(nil), h.engineKind(EngineAuto) == EngineInterpreter)
	if err != nil {
		return strategy{}, err
	}
	return strategy{
		finds: linear.Finds().String(), mapped: linear.Maps() && e.Features.On(wazerox.Memories), shared: linear.Shares() && e.Features.On(wazerox.Memories),
		shrinks: e.Features.On(wazerox.Shrinking), linked: e.Kernel(ctx) != nil, stacks: e.Features.On(wazerox.Stacks),
	}, e.Close(ctx)
}

// bootID identifies the start of the system. The guest's monotonic clock goes on in every
// process that sees the same bootID. It is "" if the system does not tell. Tests replace
// it.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // a container may have its own monotonic clock
	return strings.TrimSpace(string(id)) + " " + space
})
