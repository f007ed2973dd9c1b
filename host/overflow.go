package host

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/callstack"
)

// A guest whose calls nest too deep ends with a stack overflow. How deep that is depends
// on what its calls run on.

const (
	// overflow is what wazero says of a call for which its stack has no room.
	overflow = "stack overflow"
	// interpretedCalls is how many calls wazero's interpreter nests.
	interpretedCalls = 2000
)

// overflowed reports whether err is a stack overflow, or wraps one.
func overflowed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == overflow {
			return true
		}
	}
	return false
}

// tooDeep is the fault of a stack overflow. Of stacks that grow it names no bound: where
// one ends depends on the frames that made it grow.
func (in *instance) tooDeep(err error) *fault {
	const remedy = "recurse less deep, or use a loop that keeps what is left to do in memory"
	bound, also := "its calls nest too deep for its stack", ""
	switch {
	case in.plugin.engine.kind == EngineInterpreter:
		bound, also = fmt.Sprintf("its calls nest more than %d deep", interpretedCalls), "; the compiler has room for more"
	case in.callStack != nil:
		bound = fmt.Sprintf("its calls nest too deep for %s of stack", abi.FormatSize(callstack.Whole))
	}
	return &fault{abi.ReasonTrap, fmt.Errorf("%s: %s", trapText(err), bound), remedy + also}
}
