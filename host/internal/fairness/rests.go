package fairness

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxResting bounds the callers of which failures are known.
const maxResting = 1000

// Rests has a [Rest] for each caller, so that what one asks for takes nothing from the others. It is
// safe for concurrent use.
type Rests struct {
	rules    Rules
	now      func() time.Duration
	troubled atomic.Int64 // the length of of

	mu    sync.Mutex
	of    map[string]*Rest // only of callers whose last work failed, or that rest
	times int              // of callers that are no longer there
}

// NewRests returns Rests that all have these rules. now is a clock that only moves forward.
func NewRests(rules Rules, now func() time.Duration) *Rests {
	return &Rests{rules: rules, now: now, of: map[string]*Rest{}}
}

// Troubled reports whether the last work of any caller that was not neutral failed, or a rest is not
// over. If not, Admit admits, and Done has nothing to do for work that is not bad.
func (r *Rests) Troubled() bool { return r.troubled.Load() > 0 }

// Admit reports whether work of a caller may begin, and whether it is a probe. Done must be called for
// all work that was admitted.
func (r *Rests) Admit(caller string) (probe, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.of[caller]; one != nil {
		return one.Admit()
	}
	return false, true
}

// Done records the outcome of admitted work. It reports whether a rest began or ended because of it.
func (r *Rests) Done(caller string, probe bool, how Outcome) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.troubled.Store(int64(len(r.of))) }()
	one := r.of[caller]
	if one == nil {
		if how != Bad {
			return false
		}
		r.makeRoom()
		one = NewRest(r.rules, r.now)
		r.of[caller] = one
	}
	if changed = one.Done(probe, how); !one.Troubled() {
		r.drop(caller)
	}
	return changed
}

// makeRoom forgets a caller if there are as many as there may be, rather one that does not rest.
func (r *Rests) makeRoom() {
	if len(r.of) < maxResting {
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

func (r *Rests) drop(caller string) {
	r.times += r.of[caller].Status().Times
	delete(r.of, caller)
}

// Status returns the status of one caller.
func (r *Rests) Status(caller string) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.of[caller]; one != nil {
		return one.Status()
	}
	return Status{State: Closed}
}

// Worst returns the status of the caller that rests longest, or else of the one with most failures.
// Its Times are those of all callers.
func (r *Rests) Worst() Status {
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
