package guest

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fault"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// errNoExport marks an export that the guest does not have.
var errNoExport = spec.ErrNoExport

// ErrNoRoom marks that an instance could not be made because the host has no room for it.
var ErrNoRoom = pool.ErrNoRoom

// NoPlace is the fault of an instance for which the host has no place. most is how many
// instances it may have.
func NoPlace(most int) *Fault {
	return &Fault{Reason: abi.ReasonBusy, Remedy: MoreInstances,
		Err: errkind.As(ErrNoRoom, fmt.Errorf("the host has %d instances, as many as it may", most))}
}

// Fault is an error with a reason.
type Fault = fault.Fault

// Faultf is a fault with the usual remedy of its reason. The format is that of fmt.Errorf.
func Faultf(code abi.Reason, format string, args ...any) *Fault {
	return fault.New(code, format, args...)
}

// remedies are what an operator can do about each reason.
var remedies = map[abi.Reason]string{
	abi.ReasonTimeout:        "raise limits.timeout, or have the plugin do less",
	abi.ReasonTrap:           "a fault inside the plugin: its author can reproduce it with plugin call",
	abi.ReasonExit:           "a plugin must not end its own process",
	abi.ReasonFuel:           "raise limits.fuel, or have the plugin do less",
	abi.ReasonMemory:         "raise limits.memory, or have the plugin hold less",
	abi.ReasonOutputTooLarge: "raise limits.output, limits.items or limits.tokens, or have the plugin return less",
	abi.ReasonInputTooLarge:  "raise limits.input or limits.memory, or send fewer items",
	abi.ReasonBusy:           "raise limits.instances or limits.queue_timeout",
}

// The remedies if the host or the process has as much of something as it may.
const (
	// MoreMemory is the remedy if the memory of the host is used up.
	MoreMemory = "raise plugins.total_memory, Config.Memory of the host"
	moreShare  = "raise plugins.total_memory, Config.PluginShare of the host, or lower limits.instances"
	moreFiles  = mounts.HowToHaveMore
	// MoreInstances is the remedy if the host has as many instances as it may.
	MoreInstances = "raise plugins.max_instances, Config.MaxInstances of the host"
)

// NoRemedy is the remedy of a fault that has none, not even the usual one of its reason.
const NoRemedy = " "

// initError marks an error of start or init.
type initError struct{ err error }

// InInit marks err as an error of start or init.
func InInit(err error) error { return &initError{err} }

func (e *initError) Error() string { return e.err.Error() }
func (e *initError) Unwrap() error { return e.err }

// Failure is why a call failed, or why an instance could not be made, in full.
type Failure struct {
	// Fault has the remedy that is reported, "" for none.
	Fault
	// Log is the end of what the guest wrote, and Stack its call stack after a trap.
	Log, Stack string
}

// Unwrap returns the cause without its reason.
func (f *Failure) Unwrap() error { return f.Err }

// initCause is the cause of an init_failed, with the reason for which start or init failed.
type initCause struct {
	reason abi.Reason
	err    error
}

func (e *initCause) Error() string { return fmt.Sprintf("%s: %v", e.reason, e.err) }
func (e *initCause) Unwrap() error { return e.err }

// Reason returns the reason for which start or init failed. It implements pipeline.Reasoner.
func (e *initCause) Reason() string { return string(e.reason) }
