package guest

import "time"

// The stacks are not checked after each call: a check takes 2 µs, longer than a short call.
// Fuel does not show exactly which call filled a stack, because a few calls with very large
// frames fill one for little fuel. But deep recursion mostly costs fuel.
const (
	// checkAtOnce is the fuel of a successful call after which the stacks are checked at once.
	checkAtOnce = 1 << 19
	// checkAfter is what the other calls of an instance use together between two checks. Each
	// counts its fuel or its time in nanoseconds, whichever is more, because a call that
	// sleeps uses no fuel.
	checkAfter = 1 << 22
	// leastCounted is the least that a call counts.
	leastCounted = 1 << 10
)

// countForStacks checks the stacks from time to time. used is the fuel of the call that ended,
// and err how it ended. A call that used much or failed is followed by a check at once, because
// calls that fill a stack mostly fail. After another call it reports that a check is still due.
func (s *stacks) countForStacks(used int64, took time.Duration, err error) (due bool) {
	s.sinceCheck += max(used, leastCounted, int64(took))
	if used >= checkAtOnce || s.sinceCheck >= checkAfter || err != nil {
		s.check()
		return false
	}
	return true
}

// check charges for the stacks, if there was a call since the last check.
func (s *stacks) check() {
	if s.sinceCheck > 0 {
		s.sinceCheck = 0
		s.chargeStacks()
	}
}

// CheckStacks charges for the stacks of an instance that nobody uses, if there was a call since the
// last check.
func (in *Instance) CheckStacks() { in.Stacks.check() }
