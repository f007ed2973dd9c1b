package guest

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/internal/units"
)

// A guest whose calls nest too deep ends with a stack overflow. How deep calls can nest
// depends on the stack that they run on.

// tooDeep is the fault of a stack overflow. It names no size for stacks that grow, because
// where such a stack ends depends on the frames that made it grow.
func (s *stacks) tooDeep(err error) *Fault {
	const remedy = "limit the recursion, or use a loop that keeps what is left to do in memory"
	bound, also := "its calls nest too deep for its stack", ""
	switch {
	case s.env.Interpreted:
		bound, also = fmt.Sprintf("its calls nest more than %d deep", wasmbin.InterpretedCalls), "; the compiler has room for more"
	case s.callStack != nil:
		bound = fmt.Sprintf("its calls nest too deep for %s of stack", units.FormatSize(wazerox.StackSize))
	}
	return &Fault{Reason: abi.ReasonTrap, Err: fmt.Errorf("%s: %s", wazerox.TrapText(err), bound), Remedy: remedy + also}
}
