package host

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/compile"
)

// The stacks are looked at after calls that failed or used much, and after others when
// they used enough together.
func TestStacksAreLookedAt(t *testing.T) {
	in := &instance{plugin: &Plugin{host: &Host{}, engine: &compile.Engine{}}}
	in.plugin.tending.Store(true) // no timer
	for i, c := range []struct {
		used int64
		err  error
		left int64
	}{
		{tendCall - 1, nil, tendCall - 1},
		{tendCall, nil, 0},
		{0, nil, tendLeast},
		{0, errors.New("trap"), 0},
	} {
		if in.tendStacks(c.used, c.err); in.untended != c.left {
			t.Errorf("call %d: %d units of fuel are left for the next look, want %d", i, in.untended, c.left)
		}
	}
	for in.untended+tendCall-1 < tendFuel {
		before := in.untended
		if in.tendStacks(tendCall-1, nil); in.untended != before+tendCall-1 {
			t.Fatalf("looked at after %d units of fuel", before)
		}
	}
	if in.tendStacks(tendCall-1, nil); in.untended != 0 {
		t.Errorf("not looked at after %d units of fuel", in.untended)
	}
	in.state.seen = in.state.began + tendFuel // a call that slept
	in.untended = 1
	if in.tendStacks(0, nil); in.untended != 0 {
		t.Errorf("not looked at after a call of %v", in.state.took())
	}
}
