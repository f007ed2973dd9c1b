package failurescmd

import (
	"testing"

	"github.com/anchor-host/anchor-host/internal/failures"
)

// The list shows the message of a panic, which is in the log, and not only that the plugin trapped.
func TestCause(t *testing.T) {
	for want, f := range map[string]failures.Failure{
		"panicked at src/lib.rs:14 (unreachable)": {Reason: "trap", Text: "unreachable", Log: "info: before\nerror: panicked at src/lib.rs:14\n"},
		"unreachable":    {Reason: "trap", Text: "unreachable"},
		"not done in 2s": {Reason: "timeout", Text: "not done in 2s", Log: "info: before"},
	} {
		if got := cause(&f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
