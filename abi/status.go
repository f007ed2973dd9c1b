package abi

// Status is what an operation's export returns.
type Status int32

// The statuses. Every other value is an error, and so is any value when the
// guest has called error_set with a message.
const (
	StatusDone     Status = 0
	StatusNoChange Status = 1
	// StatusError is what the SDK returns for errors.
	StatusError Status = -1
)

// Reason is why a call failed: the same words in errors, diagnostics and
// metrics.
type Reason string

// The reasons.
const (
	ReasonTimeout        Reason = "timeout"
	ReasonFuel           Reason = "fuel"
	ReasonMemory         Reason = "memory"
	ReasonTrap           Reason = "trap"
	ReasonExit           Reason = "exit"
	ReasonGuestError     Reason = "guest_error"
	ReasonInvalidOutput  Reason = "invalid_output"
	ReasonOutputTooLarge Reason = "output_too_large"
	ReasonInputTooLarge  Reason = "input_too_large"
	ReasonDenied         Reason = "denied"
	ReasonBusy           Reason = "busy"
	ReasonInitFailed     Reason = "init_failed"
	ReasonCancelled      Reason = "cancelled"
)
