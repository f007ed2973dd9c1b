package guest

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// The stacks are looked at after calls that failed or used much, and after others when
// they used enough together.
func TestStacksAreLookedAt(t *testing.T) {
	in := &stacks{env: &Environment{Features: &wazerox.States{}}, memory: &memory{}}
	for i, c := range []struct {
		used int64
		err  error
		left int64
	}{
		{checkAtOnce - 1, nil, checkAtOnce - 1},
		{checkAtOnce, nil, 0},
		{0, nil, leastCounted},
		{0, errors.New("trap"), 0},
	} {
		if in.countForStacks(c.used, 0, c.err); in.sinceCheck != c.left {
			t.Errorf("call %d: %d units of fuel are left for the next look, want %d", i, in.sinceCheck, c.left)
		}
	}
	for in.sinceCheck+checkAtOnce-1 < checkAfter {
		before := in.sinceCheck
		if in.countForStacks(checkAtOnce-1, 0, nil); in.sinceCheck != before+checkAtOnce-1 {
			t.Fatalf("looked at after %d units of fuel", before)
		}
	}
	if in.countForStacks(checkAtOnce-1, 0, nil); in.sinceCheck != 0 {
		t.Errorf("not looked at after %d units of fuel", in.sinceCheck)
	}
	in.sinceCheck = 1
	if in.countForStacks(0, checkAfter, nil); in.sinceCheck != 0 {
		t.Error("not looked at after a call that slept")
	}
}
