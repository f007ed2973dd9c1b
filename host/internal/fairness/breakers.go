package fairness

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxBroken bounds the callers of which failures are known.
const maxBroken = 1000

// Breakers has a [Breaker] for each caller, so that what one asks for takes nothing from the others. It is
// safe for concurrent use.
type Breakers struct {
	rules    Rules
	now      func() time.Duration
	troubled atomic.Int64 // the length of of

	mu    sync.Mutex
	of    map[string]*Breaker // only of callers whose last work failed, or that are paused
	times int                 // of callers that are no longer there
}

// NewBreakers returns Breakers that all have these rules. now is a clock that only moves forward.
func NewBreakers(rules Rules, now func() time.Duration) *Breakers {
	return &Breakers{rules: rules, now: now, of: map[string]*Breaker{}}
}

// Troubled reports whether the last work of any caller that was not neutral failed, or a pause is not
// over. If not, Admit admits, and Done has nothing to do for work that is not bad.
func (r *Breakers) Troubled() bool { return r.troubled.Load() > 0 }

// Admit reports whether work of a caller may begin, and whether it is a probe. Done must be called for
// all work that was admitted.
func (r *Breakers) Admit(caller string) (probe, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.of[caller]; one != nil {
		return one.Admit()
	}
	return false, true
}

// Done records the outcome of admitted work. It reports whether a pause began or ended because of it.
func (r *Breakers) Done(caller string, probe bool, how Outcome) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.troubled.Store(int64(len(r.of))) }()
	one := r.of[caller]
	if one == nil {
		if how != Bad {
			return false
		}
		r.makeRoom()
		one = NewBreaker(r.rules, r.now)
		r.of[caller] = one
	}
	if changed = one.Done(probe, how); !one.Troubled() {
		r.drop(caller)
	}
	return changed
}

// makeRoom forgets a caller if there are as many as there may be, rather one that does not rest.
func (r *Breakers) makeRoom() {
	if len(r.of) < maxBroken {
		return
	}
	victim := ""
	for caller, one := range r.of {
		if victim = caller; one.Status().State == Closed {
			break
		}
	}
	r.drop(victim)
}

func (r *Breakers) drop(caller string) {
	r.times += r.of[caller].Status().Times
	delete(r.of, caller)
}

// Status returns the status of one caller.
func (r *Breakers) Status(caller string) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.of[caller]; one != nil {
		return one.Status()
	}
	return Status{State: Closed}
}

// Worst returns the status of the caller whose pause is longest, or else of the one with most failures.
// Its Times are those of all callers.
func (r *Breakers) Worst() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	worst, times := Status{State: Closed}, r.times
	for _, one := range r.of {
		s := one.Status()
		times += s.Times
		if s.Left > worst.Left || s.Left == worst.Left && s.Failures > worst.Failures {
			worst = s
		}
	}
	worst.Times = times
	return worst
}
