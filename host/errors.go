package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrNotWasm marks a file that is not a WebAssembly module, or a broken one.
	ErrNotWasm = errors.New("not a usable module")
	// ErrABIVersion marks a module of another version of the contract.
	ErrABIVersion = errors.New("other ABI version")
	// ErrManifest marks a manifest that is missing, broken or contradictory.
	ErrManifest = errors.New("invalid manifest")
	// ErrNoExport marks an export that is promised or required, but missing.
	ErrNoExport = errNoExport
	// ErrImport marks an import that the host does not offer.
	ErrImport = errors.New("unusable import")
	// ErrSignature marks an import or export whose type is not that of the contract.
	ErrSignature = errors.New("wrong signature")
	// ErrConfig marks a setting, grant, limit or option that is not valid.
	ErrConfig = errors.New("invalid configuration")
	// ErrNoOperation marks an operation that the plugin does not have.
	ErrNoOperation = errors.New("no such operation")
	// ErrDuplicate marks a name that two plugins share.
	ErrDuplicate = errors.New("name is taken")
	// ErrTooLarge marks a file, function or module that is too large.
	ErrTooLarge = errors.New("too large")
	// ErrAddressSpace marks a process whose address space is bounded below
	// [LeastAddressSpace].
	ErrAddressSpace = errors.New("too few addresses")
	// ErrClosed marks the use of a closed host or plugin.
	ErrClosed = pool.ErrClosed
)

// PluginError is the error of every failed call of a guest. Error returns one line. The
// verb %+v adds what the guest wrote and its call stack.
type PluginError struct {
	// Plugin is the name of the configured plugin, Step the name of the step, "" if the
	// call was not made by one.
	Plugin, Step string
	// Operation is the operation that was called, or the name of an export.
	Operation abi.Operation
	// Code is the typed reason.
	Code abi.Reason
	// Err is the cause. It wraps context.DeadlineExceeded after a timeout, context.Canceled
	// after a cancellation.
	Err error
	// Remedy says what to do about the error, "" if the host does not know.
	Remedy string
	// Log is the end of what the guest wrote to stderr, stdout and the log during the call,
	// at most 8 KiB.
	Log string
	// Stack is the call stack inside the guest after a trap, at most 8 KiB.
	Stack string
}

// Error returns the plugin, the operation, the reason, the cause and the remedy on one
// line.
func (e *PluginError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %q: ", e.Plugin)
	if e.Operation != "" {
		fmt.Fprintf(&b, "%s: ", e.Operation)
	}
	fmt.Fprintf(&b, "%s: %s", e.Code, oneLine(e.Err.Error()))
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return b.String()
}

// Format implements fmt.Formatter. The verb %+v adds Log and Stack.
func (e *PluginError) Format(f fmt.State, verb rune) {
	switch verb {
	case 'q':
		fmt.Fprintf(f, "%q", e.Error())
	default:
		fmt.Fprint(f, e.Error())
	}
	if verb != 'v' || !f.Flag('+') {
		return
	}
	if e.Log != "" {
		fmt.Fprintf(f, "\nguest output:\n%s", strings.TrimRight(e.Log, "\n"))
	}
	if e.Stack != "" {
		fmt.Fprintf(f, "\nguest stack:\n%s", e.Stack)
	}
}

// Unwrap returns the cause.
func (e *PluginError) Unwrap() error { return e.Err }

// Reason returns the typed reason, such as "timeout".
func (e *PluginError) Reason() string { return string(e.Code) }

// PluginName returns the name of the configured plugin.
func (e *PluginError) PluginName() string { return e.Plugin }

// oneLine makes the text of a guest fit for one line of an error.
func oneLine(s string) string { return guesttext.Line(s) }

// clip cuts s at a rune boundary to at most n bytes and marks the cut.
func clip(s string, n int) string { return guesttext.Clip(s, n) }
