package fairness

import (
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is the result of work that a [Breaker] admitted.
type Outcome uint8

// The outcomes.
const (
	// Neutral work tells nothing about the account: it did not begin, or its caller gave
	// it up.
	Neutral Outcome = iota
	// Good work ended well.
	Good
	// Bad work failed in a way that costs time.
	Bad
)

// State is the state of a [Breaker], in the terms of circuit breakers.
type State string

// The states.
const (
	// Closed admits all work.
	Closed State = "closed"
	// Open admits no work.
	Open State = "open"
	// HalfOpen admits one probe at a time.
	HalfOpen State = "half-open"
)

// Rules define when a [Breaker] begins to refuse work, and for how long.
type Rules struct {
	// After is the number of failures in a row that begin a pause. 0 or less: no number does.
	After int
	// First is the length of the first pause. Each bad probe doubles it, up to Most.
	First, Most time.Duration
}

// Breaker refuses work for a time after several failures in a row. It is safe for concurrent
// use.
type Breaker struct {
	rules Rules
	now   func() time.Duration
	// troubled reports that the last outcome that was not neutral was bad, or that a pause
	// is not over.
	troubled atomic.Bool

	mu       sync.Mutex
	failures int           // in a row
	length   time.Duration // of the pause, 0 where there is none
	until    time.Duration
	probing  bool
	times    int
}

// NewBreaker returns a Breaker with these rules. now is a clock that only moves forward.
func NewBreaker(rules Rules, now func() time.Duration) *Breaker {
	rules.First = min(rules.First, rules.Most)
	return &Breaker{rules: rules, now: now}
}

// Status describes a [Breaker].
type Status struct {
	State State
	// Failures counts the failures in a row, Times the pauses so far.
	Failures, Times int
	// Left is the remaining time of the pause, Length its whole time. Both are 0 if there is
	// no pause.
	Left, Length time.Duration
}

// Admit reports whether work may begin, and whether it is a probe. The caller must call Done
// for all work that was admitted.
func (r *Breaker) Admit() (probe, ok bool) {
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

// Troubled reports whether the last work that was not neutral failed, or a pause is not over.
func (r *Breaker) Troubled() bool { return r.troubled.Load() }

// Done records the outcome of admitted work. It reports whether a pause began or ended because
// of it.
func (r *Breaker) Done(probe bool, how Outcome) (changed bool) {
	if how == Neutral && !probe || how == Good && !r.troubled.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if probe {
		r.probing = false
	}
	switch {
	case how == Neutral, r.length > 0 && !probe: // work that began before the pause does not count
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

// Status returns the current status.
func (r *Breaker) Status() Status {
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
