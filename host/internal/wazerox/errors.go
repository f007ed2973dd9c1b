package wazerox

import (
	"errors"
	"fmt"
	"strings"
)

// What wazero says of a call that failed.
const (
	trapPrefix = "wasm error: "
	recovered  = " (recovered by wazero)"
	stackBegin = "wasm stack trace:\n"
	// overflow is what it says of a call for which its stack has no room.
	overflow = "stack overflow"
)

// Overflowed reports whether err is a stack overflow, or wraps one.
func Overflowed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == overflow {
			return true
		}
	}
	return false
}

// Trapped reports whether err is a trap that WebAssembly defines.
func Trapped(err error) bool { return strings.HasPrefix(err.Error(), trapPrefix) }

// TrapText is the first line of what wazero says of a trap, without its decoration.
func TrapText(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSuffix(strings.Replace(strings.TrimSpace(line), trapPrefix, "", 1), recovered) // a link's name comes before it
}

// TrapStack is the call stack that wazero adds to a trap, "" if there is none.
func TrapStack(err error) string {
	_, stack, _ := strings.Cut(err.Error(), stackBegin)
	return stack
}

// probeTrapTexts tries out whether traps and panics of the host are told from each other.
// Stack overflows count only where stacks are of a fixed size, whose probe makes some.
func probeTrapTexts(l *lab) error {
	mod, err := l.guest(l.ctx)
	if err != nil {
		return err
	}
	defer mod.Close(l.ctx)
	_, trap := mod.ExportedFunction("trap").Call(l.ctx)
	_, panicked := mod.ExportedFunction("host").Call(l.ctx, 0)
	switch {
	case trap == nil || !Trapped(trap) || Overflowed(trap) || TrapText(trap) != "unreachable" || TrapStack(trap) == "":
		return fmt.Errorf("a trap is: %w", trap)
	case !errors.Is(panicked, errStop) || Trapped(panicked) || Overflowed(panicked) || TrapText(panicked) != errStop.Error():
		return fmt.Errorf("a panic of the host is: %w", panicked)
	}
	return nil
}
