package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// A plugin whose calls for a tenant fail again and again is paused for that tenant: its calls fail at
// once and use no processor. Only calls count, not the init and self-tests of Load.

// CircuitState says whether a plugin is paused, in the terms of a circuit breaker.
type CircuitState string

// largeRequest is the part of a plugin's memory from which on a request may be why it did not suffice.
const largeRequest = 8

// The states of a plugin. CircuitClosed admits calls, CircuitOpen refuses them, and CircuitHalfOpen
// admits one call at a time, whose outcome decides.
const (
	CircuitClosed   = CircuitState(fairness.Closed)
	CircuitOpen     = CircuitState(fairness.Open)
	CircuitHalfOpen = CircuitState(fairness.HalfOpen)
)

// admit refuses a call of a paused plugin, and says whether an admitted call is a probe. For
// each admitted call judge must be called.
func (l *lending) admit(ctx context.Context) (probe bool, err error) {
	if !l.breakers.Troubled() {
		return false, nil
	}
	tenant := TenantOf(ctx)
	probe, ok := l.breakers.Admit(tenant)
	if ok {
		return probe, nil
	}
	s := l.breakers.Status(tenant)
	when := "while one call tries it"
	if s.Left > 0 {
		when = fmt.Sprintf("for %v more", s.Left.Round(time.Millisecond))
	}
	return false, &guest.Fault{Reason: abi.ReasonCircuitOpen, Remedy: "fix the plugin; limits.break_after says after how many failures it is paused",
		Err: fmt.Errorf("not called %s, as %d calls failed in a row", when, s.Failures)}
}

// judge records how an admitted call ended.
func (l *lending) judge(ctx context.Context, probe bool, how fairness.Outcome, failed *PluginError) {
	if how != fairness.Bad && !l.breakers.Troubled() {
		return
	}
	tenant := TenantOf(ctx)
	if !l.breakers.Done(tenant, probe, how) {
		return
	}
	if how == fairness.Good {
		l.setup.log.Info("the plugin is called again for one tenant")
		return
	}
	s := l.breakers.Status(tenant)
	l.setup.log.Warn("the plugin is paused for one tenant", "failures_in_a_row", s.Failures, "for", s.Length, "last_failure", failed.Code, "step", failed.Step, "error", failed.Err)
}

// outcome returns what a failed call means for the plugin's rest. in is nil if the call did
// not begin.
func outcome(in *guest.Instance, failed *PluginError) fairness.Outcome {
	switch {
	case errors.Is(failed, guest.ErrNoRoom), errors.Is(failed, ErrEmbedder): // the plugin is not the cause
		return fairness.Neutral
	case in != nil && (failed.Code == abi.ReasonGuestError || failed.Code == abi.ReasonDenied): // the guest works, and reported an error or lacks a grant
		return fairness.Good
	case blamed(in, failed.Code):
		return fairness.Bad
	}
	return fairness.Neutral
}

// blamed reports whether the plugin is the cause of a failure, and not its caller or the host.
func blamed(in *guest.Instance, code abi.Reason) bool {
	began := in != nil
	switch code {
	case abi.ReasonMemory: // beside a request of that size, other requests fit
		return !began || !in.Memory.HostFull && in.Call.Received < in.Env.Limits.Memory/largeRequest
	case abi.ReasonTrap, abi.ReasonExit, abi.ReasonInvalidOutput, abi.ReasonOutputTooLarge:
		return !began || !in.Memory.HostFull
	case abi.ReasonInitFailed:
		return true
	case abi.ReasonFuel: // a call within a call may have had only what its caller had left
		return began && in.Call.Fuel == in.Env.Limits.Fuel
	case abi.ReasonTimeout: // the caller may have given up before the call's own timeout
		return began && guest.Clock()-in.Call.Began >= in.Call.Limit/10*9
	}
	return false
}
