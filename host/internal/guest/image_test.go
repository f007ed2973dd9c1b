package guest

import "testing"

// One reset that was interrupted does not send the next ones to the cleaner; several
// slow ones do, and a single quick one brings them back.
func TestExpectedReset(t *testing.T) {
	const quick, slow, interrupted = QuickReset / 4, 4 * QuickReset, 10 * QuickReset
	took := expect(0, slow)
	if took != slow {
		t.Errorf("after one of %v: %v", slow, took)
	}
	if took = expect(took, quick); took != quick {
		t.Errorf("after a quick one: %v, want %v", took, quick)
	}
	if took = expect(took, interrupted); took > QuickReset {
		t.Errorf("after one that was interrupted: %v, more than %v", took, QuickReset)
	}
	took = quick
	n := 0
	for ; took <= QuickReset && n < 100; n++ {
		took = expect(took, slow)
	}
	if n < 2 || n > 8 {
		t.Errorf("%d slow resets until they count as slow", n)
	}
}
