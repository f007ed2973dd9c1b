package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Errors that callers can test for with errors.Is. Those of package spec are the same there. Reading and loading
// a plugin fail with one of these. What to do next:
//
//	fix the plugin         ErrNotWasm, ErrABIVersion, ErrManifest, ErrNoExport, ErrSignature
//	fix the configuration  ErrConfig, ErrImport, ErrNoOperation, ErrDuplicate, ErrTooLarge,
//	                       ErrAddressSpace
//	mend the machine       ErrFolder: bring the folder back, then load again
//	mend what you provide  ErrEmbedder: the same call may then succeed
//	stop                   ErrClosed: the host or the plugin is closed or is closing
var (
	// ErrNotWasm marks a file that is not a WebAssembly module, or a broken one.
	ErrNotWasm = spec.ErrNotWasm
	// ErrNoExport marks an export that is promised or required, but missing.
	ErrNoExport = spec.ErrNoExport
	// ErrImport marks an import that the host does not offer.
	ErrImport = spec.ErrImport
	// ErrSignature marks an import or export whose type is not that of the contract.
	ErrSignature = spec.ErrSignature
	// ErrConfig marks a setting, grant, limit or option that is not valid.
	ErrConfig = spec.ErrConfig
	// ErrNoOperation marks an operation that the plugin does not have.
	ErrNoOperation = spec.ErrNoOperation
	// ErrTooLarge marks a file, function or module that is too large.
	ErrTooLarge = spec.ErrTooLarge
	// ErrAddressSpace marks a process whose address space is bounded to less than a host
	// needs, 2 GiB.
	ErrAddressSpace = capacity.ErrAddressSpace
	// ErrFolder marks a granted folder that cannot be opened. Unlike other errors that wrap
	// ErrConfig, it may be gone the next time.
	ErrFolder = mounts.ErrFolder
	// ErrEmbedder marks the failure of something that the embedder gave: its key-value store,
	// its file system or its transport. The plugin had no part in it, and is not paused for it.
	ErrEmbedder = guard.ErrEmbedder
	// ErrClosed marks the use of a closed host, plugin or session.
	ErrClosed = pool.ErrClosed
)

// PluginError is the error of every failed call of a guest. Error returns one line. The
// verb %+v adds what the guest wrote and its call stack. What to do about it, by its Code:
//
//	busy              retry; if it happens often, raise limits.instances, limits.queue_timeout
//	                  or a bound of the host. With ErrClosed: stop
//	circuit_open      retry, at the earliest at Stats.OpenUntil; fix the plugin
//	timeout           raise limits.timeout or the time of the build, or fix the plugin
//	fuel              raise limits.fuel, or fix the plugin
//	memory            raise limits.memory, or fix the plugin; retry if the host had no room
//	input_too_large   send less, or raise limits.input; retry if the host had no room
//	output_too_large  raise limits.output, limits.items or limits.tokens, or fix the plugin
//	denied            grant it in the configuration, or fix the plugin. With ErrFolder: bring
//	                  the folder back, then load again
//	guest_error       the message of the plugin says
//	trap              fix the plugin; make another session if the session is over
//	exit              fix the plugin
//	invalid_output    fix the plugin
//	init_failed       fix the plugin, or the settings and limits that its init has; retry if
//	                  the host had no room
//	cancelled         stop: the caller's context has ended
//
// With any Code, ErrEmbedder means that the embedder's own code failed, not the plugin.
// PluginError.Retryable tells what to retry from the rest, and Remedy says the same in words.
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
	fmt.Fprintf(&b, "%s: %s", e.Code, guesttext.Line(e.Err.Error()))
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

// Retryable reports whether the same call can succeed later although nobody changes the plugin
// or its configuration: the plugin was busy or paused, the host had no room, or code of the
// embedder failed. A caller that retries should wait, longer each time. A timeout is not
// retryable, because the call would mostly take as long again.
func (e *PluginError) Retryable() bool {
	switch {
	case errors.Is(e.Err, ErrClosed):
		return false
	case e.Code == abi.ReasonBusy, e.Code == abi.ReasonCircuitOpen:
		return true
	}
	return errors.Is(e.Err, ErrEmbedder) || errors.Is(e.Err, guest.ErrNoRoom)
}

// Reason returns the typed reason, such as "timeout".
func (e *PluginError) Reason() string { return string(e.Code) }

// PluginName returns the name of the configured plugin.
func (e *PluginError) PluginName() string { return e.Plugin }
