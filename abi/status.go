package abi

import "strconv"

// Status is the result of an operation's export.
type Status int32

// The statuses. Every other value is an error, and so is any value when the
// guest has called error_set with a message.
const (
	// StatusDone says that the output is the answer.
	StatusDone Status = 0
	// StatusNoChange says that nothing changes. The output is ignored.
	StatusNoChange Status = 1
	// StatusError is the status that SDKs return for errors.
	StatusError Status = -1
)

// String returns what the status means.
func (s Status) String() string {
	switch s {
	case StatusDone:
		return "done"
	case StatusNoChange:
		return "no change"
	}
	return "error " + strconv.Itoa(int(s))
}

// Reason says why a call failed. Errors, diagnostics and metrics use the same words.
type Reason string

// The reasons.
const (
	// ReasonTimeout says that the call did not end within its time.
	ReasonTimeout Reason = "timeout"
	// ReasonFuel says that the call used up its fuel.
	ReasonFuel Reason = "fuel"
	// ReasonMemory says that the guest asked for more memory than it may have.
	ReasonMemory Reason = "memory"
	// ReasonTrap says that the guest trapped, or called a host function wrongly.
	ReasonTrap Reason = "trap"
	// ReasonExit says that the guest ended itself.
	ReasonExit Reason = "exit"
	// ReasonGuestError says that the guest reported an error.
	ReasonGuestError Reason = "guest_error"
	// ReasonInvalidOutput says that the answer breaks the contract.
	ReasonInvalidOutput Reason = "invalid_output"
	// ReasonOutputTooLarge says that the answer is longer than it may be.
	ReasonOutputTooLarge Reason = "output_too_large"
	// ReasonInputTooLarge says that the request does not fit.
	ReasonInputTooLarge Reason = "input_too_large"
	// ReasonDenied says that the guest attempted something that it is not granted.
	ReasonDenied Reason = "denied"
	// ReasonBusy says that no instance became free in time.
	ReasonBusy Reason = "busy"
	// ReasonCircuitOpen says that the plugin failed repeatedly and is not called for a while.
	ReasonCircuitOpen Reason = "circuit_open"
	// ReasonInitFailed says that init failed, for any reason.
	ReasonInitFailed Reason = "init_failed"
	// ReasonCancelled says that the build was cancelled.
	ReasonCancelled Reason = "cancelled"
)

// Reasons is every reason.
var Reasons = []Reason{
	ReasonTimeout, ReasonFuel, ReasonMemory, ReasonTrap, ReasonExit, ReasonGuestError, ReasonInvalidOutput,
	ReasonOutputTooLarge, ReasonInputTooLarge, ReasonDenied, ReasonBusy, ReasonCircuitOpen, ReasonInitFailed,
	ReasonCancelled,
}
