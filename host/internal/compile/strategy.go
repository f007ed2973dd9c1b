package compile

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/units"
)

// Strategy is how instances of an engine are kept clean on this system.
type Strategy struct {
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
func (s Strategy) String() string {
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
		stacks = "hold " + units.FormatSize(wazerox.StackSize)
	}
	return fmt.Sprintf("reset by %s; memories are %s, those that grew are %s; Extism's functions are %s; stacks %s",
		s.finds, memory, grown, functions, stacks)
}

// Quick reports whether resets take little time: memories stay where they are when they grow,
// and can shrink.
func (s Strategy) Quick() bool { return s.mapped && s.shrinks }

// Strategy returns how the instances of the engine are kept clean.
func (e *Engine) Strategy(ctx context.Context) Strategy {
	memories := e.Features.On(wazerox.Memories)
	return Strategy{
		finds: linear.Finds().String(), mapped: linear.Maps() && memories, shared: linear.Shares() && memories,
		shrinks: e.Features.On(wazerox.Shrinking), linked: e.Kernel(ctx) != nil, stacks: e.Features.On(wazerox.Stacks) && !e.Interpreted,
	}
}
