package fairness

import (
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is how work ended that a [Rest] admitted.
type Outcome uint8

// The outcomes.
const (
	// Neutral work says nothing: it did not begin, or was given up by who asked for it.
	Neutral Outcome = iota
	// Good work ended well.
	Good
	// Bad work failed in a way that costs.
	Bad
)

// State is that of a [Rest], in the words of circuit breakers.
type State string

// The states.
const (
	// Closed admits all.
	Closed State = "closed"
	// Open admits nothing.
	Open State = "open"
	// HalfOpen admits one probe at a time.
	HalfOpen State = "half-open"
)

// Rules say when a [Rest] begins and how long it is.
type Rules struct {
	// After is how many failures in a row begin a rest. 0 or less: none ever does.
	After int
	// First is the length of the first rest. Each bad probe doubles it, up to Most.
	First, Most time.Duration
}

// Rest refuses work for a time after it failed again and again. It is safe for concurrent
// use.
type Rest struct {
	rules Rules
	now   func() time.Duration
	// troubled says that the last outcome was bad, or that a rest is not over.
	troubled atomic.Bool

	mu       sync.Mutex
	failures int           // in a row
	length   time.Duration // of the rest, 0 where there is none
	until    time.Duration
	probing  bool
	times    int
}

// NewRest returns one by rules. now is a clock that only moves forward.
func NewRest(rules Rules, now func() time.Duration) *Rest {
	rules.First = min(rules.First, rules.Most)
	return &Rest{rules: rules, now: now}
}

// Status is what a [Rest] knows.
type Status struct {
	State State
	// Failures are those in a row, Times the rests so far.
	Failures, Times int
	// Left is what is left of the rest, Length how long it is in all. Both are 0 where
	// there is none.
	Left, Length time.Duration
}

// Admit reports whether work may begin, and whether it is a probe. Done must be called for
// all work that was admitted.
func (r *Rest) Admit() (probe, ok bool) {
	if !r.troubled.Load() {
		return false, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.length == 0:
		return false, true
	case r.probing || r.now() < r.until:
		return false, false
	}
	r.probing = true
	return true, true
}

// Troubled reports whether the last work that was not neutral failed.
func (r *Rest) Troubled() bool { return r.troubled.Load() }

// Done takes note of how admitted work ended. It reports whether a rest began or ended
// with it.
func (r *Rest) Done(probe bool, how Outcome) (changed bool) {
	if how == Neutral && !probe || how == Good && !r.troubled.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if probe {
		r.probing = false
	}
	switch {
	case how == Neutral, r.length > 0 && !probe: // what began before the rest says nothing of it
		return false
	case how == Good:
		changed = r.length > 0
		r.failures, r.length = 0, 0
		r.troubled.Store(false)
		return changed
	}
	r.failures++
	r.troubled.Store(true)
	if r.rules.After <= 0 || r.failures < r.rules.After {
		return false
	}
	r.length = min(max(r.rules.First, 2*r.length), r.rules.Most)
	r.until = r.now() + r.length
	r.times++
	return true
}

// Status returns what is known now.
func (r *Rest) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{State: Closed, Failures: r.failures, Times: r.times, Length: r.length}
	if r.length == 0 {
		return s
	}
	s.State = HalfOpen
	if s.Left = max(0, r.until-r.now()); s.Left > 0 {
		s.State = Open
	}
	return s
}
