package capacity

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/pool"
)

const (
	// sweepLeast is the least time between two sweeps.
	sweepLeast = 10 * time.Millisecond
	// evictTries is how often evict looks again after somebody borrowed the instance that it
	// had found.
	evictTries = 8
	// waitPoll is the time between two attempts of a caller that waits for room.
	waitPoll = 10 * time.Millisecond
)

// forget ends reclaiming the instances of an owner.
func (r *Room) forget(s *Share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.shares, s)
	if len(r.shares) == 0 {
		r.disarm()
	}
}

// Stop ends closing instances that are idle for too long, and waits for it if it is under way.
func (r *Room) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.disarm()
}

// disarm stops the timer. r.mu is held.
func (r *Room) disarm() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// arm has sweep run after some time at the latest.
func (r *Room) arm(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armLocked(after)
}

// armLocked is arm with r.mu held.
func (r *Room) armLocked(after time.Duration) {
	due := later(r.clock(), after)
	if r.stopped || r.timer != nil && r.due <= due {
		return
	}
	r.disarm()
	r.due, r.timer = due, time.AfterFunc(after, r.sweep)
}

// later adds a duration to a time of the clock, without overflow.
func later(at, after time.Duration) time.Duration { return at + min(after, math.MaxInt64-at) }

// sweep closes the instances that were idle for too long. It runs again when the next one
// can have been.
func (r *Room) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	now, next := r.clock(), time.Duration(math.MaxInt64)
	for s := range r.shares {
		next = min(next, s.trim(now))
	}
	if next < math.MaxInt64 {
		r.armLocked(max(next-now, sweepLeast))
	}
}

// trim closes the instances of the owner that were idle for too long, and returns when the
// next one can have been.
func (s *Share) trim(now time.Duration) (next time.Duration) {
	for {
		at, surplus := s.instances.Oldest()
		switch {
		case !surplus:
			return math.MaxInt64
		case at == math.MaxInt64: // all are in use
			return later(now, s.idle)
		case later(at, s.idle) > now:
			return later(at, s.idle)
		case !s.instances.Reclaim(now - s.idle):
			return now
		}
	}
}

// evict closes the idle instance that was used longest ago: of one owner, or of all if of is
// nil. It reports whether there was one.
func (r *Room) evict(of *Share) bool {
	for range evictTries {
		victim := r.victim(of)
		if victim == nil {
			return false
		}
		if victim.instances.Reclaim(math.MaxInt64) {
			return true
		}
	}
	return false
}

// victim is the owner of the instance that evict closes, nil if there is none.
func (r *Room) victim(of *Share) (victim *Share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := time.Duration(math.MaxInt64)
	for s := range r.shares {
		if of != nil && s != of {
			continue
		}
		if at, surplus := s.instances.Oldest(); surplus && at < first {
			victim, first = s, at
		}
	}
	return victim
}

// Wait calls try. As long as that fails with an error that wraps pool.ErrNoRoom, it calls try
// again whenever room was given back, until the time wait is over, ctx ends, or no instance is
// expected to come back. The error is that of the last try.
func (r *Room) Wait(ctx context.Context, wait time.Duration, try func() error) error {
	seen := r.returned.Load()
	err := try()
	if !errors.Is(err, pool.ErrNoRoom) {
		return err
	}
	r.waiting.Add(1)
	defer func() {
		if r.waiting.Add(-1) == 0 {
			r.forgive()
		}
	}()
	over, tick := time.NewTimer(wait), time.NewTicker(waitPoll)
	defer over.Stop()
	defer tick.Stop()
	for r.demand() {
		select {
		case <-ctx.Done():
			return err
		case <-over.C:
			return err
		case <-tick.C:
		}
		if now := r.returned.Load(); now != seen || r.evict(nil) {
			seen = now
			if err = try(); !errors.Is(err, pool.ErrNoRoom) {
				return err
			}
		}
	}
	return err
}

// demand has the owner with the most instances close the next one that comes back. It reports
// whether any instance is expected to come back.
func (r *Room) demand() (expected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var most *Share
	largest := 0
	for s := range r.shares {
		surplus, busy := s.instances.Payable()
		expected = expected || busy
		if surplus > largest {
			most, largest = s, surplus
		}
	}
	if most != nil {
		most.instances.Owe()
	}
	return expected
}

// forgive withdraws what demand asked for.
func (r *Room) forgive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.shares {
		s.instances.Forgive()
	}
}
