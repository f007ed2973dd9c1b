package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
)

// trouble is a fault of a call or an answer, with the id of the case that it fails.
type trouble struct {
	id     string
	detail string
	// reason is the reason of a failed call; empty for an answer.
	reason abi.Reason
	// at is the request that it is about.
	at *attempt
}

// attempt is a request that was sent, and what the guest left when the call failed.
type attempt struct {
	req          *request
	wrote, stack string
}

// traced is an error of a call that knows what the guest wrote in the call, and its call stack.
type traced interface{ GuestTrace() (wrote, stack string) }

func troublef(id, format string, args ...any) *trouble {
	return &trouble{id: id, detail: fmt.Sprintf(format, args...)}
}

// reasonOf is the typed reason of a failed call.
func reasonOf(err error) abi.Reason {
	var r interface{ Reason() string }
	if errors.As(err, &r) {
		return abi.Reason(r.Reason())
	}
	return abi.ReasonTrap
}

// callTrouble returns the case that the failure of a call belongs to.
func callTrouble(lane string, err error) *trouble {
	t := &trouble{id: caseAnswers, detail: err.Error(), reason: reasonOf(err)}
	if known := traced(nil); errors.As(err, &known) {
		t.detail += ofTinyGo(t.reason, known)
	}
	switch t.reason {
	case abi.ReasonInvalidOutput:
		t.id = caseDecodes
		if lane == Batch {
			t.id = caseMailbox
		}
	case abi.ReasonOutputTooLarge:
		t.id = caseSize
	case abi.ReasonDenied:
		t.id = caseDenied
	case abi.ReasonInputTooLarge:
		if lane == Batch {
			t.id = caseMailbox
		}
	case abi.ReasonInitFailed:
		t.id = caseStarts
	}
	return t
}

// ofTinyGo returns what a failure owes to TinyGo, "" for a guest of another compiler: authors know
// Go, where a deferred function stops a panic, and where garbage is collected in time.
func ofTinyGo(reason abi.Reason, t traced) string {
	wrote, stack := t.GuestTrace()
	switch {
	case reason == abi.ReasonTrap && strings.Contains("\n"+wrote, "\npanic: ") && !strings.Contains(wrote, "\ngoroutine "):
		return "; in TinyGo recover does not stop a panic: return an error"
	case (reason == abi.ReasonMemory || reason == abi.ReasonTimeout || reason == abi.ReasonFuel) && strings.Contains(stack, "runtime.alloc("):
		return "; TinyGo frees large blocks late: use one buffer again and again, or raise limits.memory"
	}
	return ""
}

// reply is a decoded answer. changes is set for operations that answer with changes, doc for
// the others. If both are nil, there is no change.
type reply struct {
	changes *abi.Changes
	doc     any
}

// outcome is the verdict of a case with its reason.
type outcome struct {
	verdict Verdict
	detail  string
}

var passed = outcome{verdict: Pass}

func skipped(format string, args ...any) outcome { return outcome{Skip, fmt.Sprintf(format, args...)} }
func failed(format string, args ...any) outcome  { return outcome{Fail, fmt.Sprintf(format, args...)} }

// clip shortens a text of a guest for a report.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
