package host

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

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
