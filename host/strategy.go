package host

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Strategy is how this system keeps instances clean. [ProbeStrategy] finds it out by trying.
type Strategy struct {
	// Finds says how a reset finds what a call wrote.
	Finds string
	// Mapped says that linear memories are reserved mappings, which grow without being copied.
	// Otherwise they are slices.
	Mapped bool
	// Shared says that further instances of a plugin share its image and copy the pages that
	// they write. Otherwise each starts with a copy of the image.
	Shared bool
	// Shrinks says that a reset shrinks a memory that a call grew. Otherwise an instance whose
	// memory grew is replaced.
	Shrinks bool
	// Linked says that compiled guests are linked to a module with Extism's functions.
	// Otherwise each use of such a function is a call of the host.
	Linked bool
	// Stacks says that compiled guests run on stacks of a fixed size. Otherwise their stacks
	// grow with the depth of calls, and nothing stops a guest while its stack grows.
	Stacks bool
}

// String describes the strategy in one line.
func (s Strategy) String() string {
	memory, grown, functions, stacks := "slices", "replaced", "calls of the host", "grow"
	if s.Mapped {
		memory = "reserved mappings"
	}
	if s.Shared {
		memory += " that share their image"
	}
	if s.Shrinks {
		grown = "shrunk"
	}
	if s.Linked {
		functions = "linked to guests"
	}
	if s.Stacks {
		stacks = "hold " + abi.FormatSize(wazerox.StackSize)
	}
	return fmt.Sprintf("reset by %s; memories are %s, those that grew are %s; Extism's functions are %s; stacks %s",
		s.Finds, memory, grown, functions, stacks)
}

// ProbeStrategy finds out by trying how this system keeps instances clean. It makes an engine
// for that and closes it. Errors are those of making or closing the engine, or wrap
// ErrAddressSpace.
func ProbeStrategy(ctx context.Context) (Strategy, error) {
	if _, err := boundMemory(0); err != nil {
		return Strategy{}, err
	}
	cfg := Config{Logger: slog.New(slog.DiscardHandler)}
	e, err := compile.NewEngine(ctx, cfg.compileOptions(nil), false)
	if err != nil {
		return Strategy{}, err
	}
	return Strategy{
		Finds: linear.Finds().String(), Mapped: linear.Maps(), Shared: linear.Shares(),
		Shrinks: e.Features.On(wazerox.Shrinking), Linked: e.Kernel(ctx) != nil, Stacks: e.Features.On(wazerox.Stacks),
	}, e.Close(ctx)
}
